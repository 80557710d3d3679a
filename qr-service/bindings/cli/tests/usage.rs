//! Usage errors, help, completions and the manual page.

use std::process::Command;

use crate::support::{qr, refused, written};

/// Every flag.
const FLAGS: &str = "--output --format --size --margin --level --scale --width-mm --dark --light \
    --title --boost --symbol-version --mask --mode --eci --gs1 --micro --rmqr --rmqr-height \
    --rmqr-width --shape --finder-shape --logo --logo-size --ink --structured --bytes \
    --keep-newline --completions --man --version";

fn run(args: &[&str]) -> std::process::Output {
    qr(args).output().expect("it runs")
}

#[test]
fn one_line_names_the_flag_and_its_bad_value_in_words_of_the_command_line() {
    for line in include_str!("refusals.tsv").lines().skip(1) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().expect("three columns");
        let (code, args, message) = (next().parse().expect("a code"), next(), next());
        let output = run(&args.split(' ').collect::<Vec<_>>());
        match message.strip_prefix("...") {
            None => assert_eq!(refused(output, code), message, "{args}"),
            Some(part) => {
                assert!(output.status.code() == Some(code) && output.stdout.is_empty(), "{args}");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(said.contains(part), "{args}: {said}");
            }
        }
    }
}

#[test]
fn the_manual_page_describes_every_flag_and_exit_code() {
    let page = String::from_utf8(written(run(&["--man"]))).expect("is text");
    assert!(page.contains(".TH qr-draw 1"), "{page}");
    for flag in FLAGS.split(' ') {
        assert!(page.contains(&flag.replace('-', "\\-")), "{flag}");
    }
    assert!(page.contains("Exit codes"));
}

#[test]
fn help_describes_every_flag() {
    let help = String::from_utf8(written(run(&["--help"]))).expect("is text");
    for flag in FLAGS.split(' ') {
        assert!(help.contains(flag), "{flag}");
    }
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = String::from_utf8(written(run(&["--completions", shell]))).expect("is text");
        for flag in FLAGS.split(' ').map(|flag| flag.trim_start_matches('-')) {
            assert!(script.contains(flag), "{shell} {flag}");
        }
    }
}

#[test]
fn bash_completes_flags_and_their_values() {
    let script = r#"
        source <("$0" --completions bash)
        COMP_WORDS=(qr-draw --le) COMP_CWORD=1 && _qr__draw qr-draw --le qr-draw && echo "${COMPREPLY[@]}"
        COMP_WORDS=(qr-draw --level "") COMP_CWORD=2 && _qr__draw qr-draw "" --level && echo "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["-c", script, env!("CARGO_BIN_EXE_qr-draw")]);
    let said = written(bash.output().expect("bash runs"));
    assert_eq!(String::from_utf8_lossy(&said), "--level\nL M Q H\n");
}
