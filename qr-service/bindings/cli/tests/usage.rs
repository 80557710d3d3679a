//! Usage errors, help, completions and the manual page.

mod support;

use std::process::Command;

use support::{qr, refused, written};

/// Every flag.
const FLAGS: [&str; 31] = [
    "--output",
    "--format",
    "--size",
    "--margin",
    "--level",
    "--scale",
    "--width-mm",
    "--dark",
    "--light",
    "--title",
    "--boost",
    "--symbol-version",
    "--mask",
    "--mode",
    "--eci",
    "--gs1",
    "--micro",
    "--rmqr",
    "--rmqr-height",
    "--rmqr-width",
    "--shape",
    "--finder-shape",
    "--logo",
    "--logo-size",
    "--ink",
    "--structured",
    "--bytes",
    "--keep-newline",
    "--completions",
    "--man",
    "--version",
];

fn run(args: &[&str]) -> std::process::Output {
    qr(args).output().expect("it runs")
}

#[test]
fn one_line_names_the_flag_and_its_bad_value() {
    for (args, expected) in [
        (&["a", "--size", "0"][..], "--size <PIXELS>: invalid value \"0\": 0 is not in 1..=16384"),
        (&["a", "--size=-1"], "--size <PIXELS>: invalid value \"-1\": -1 is not in 1..=16384"),
        (
            &["a", "--size", "big"],
            "--size <PIXELS>: invalid value \"big\": invalid digit found in string",
        ),
        (
            &["a", "--margin", "1001"],
            "--margin <MODULES>: invalid value \"1001\": 1001 is not in 0..=1000",
        ),
        (&["a", "--level", "X"], "--level <LEVEL>: invalid value \"X\": use L or M or Q or H"),
        (
            &["a", "--format", "gif"],
            "--format <FORMAT>: invalid value \"gif\": use png or svg or utf8 or ascii or pbm or pdf or eps or zpl or epl",
        ),
        (
            &["a", "-o", "a.jpg"],
            "--output a.jpg: end it in .png, .svg, .txt, .pbm, .pdf, .eps, .zpl or .epl, or give --format",
        ),
        (&["a", "-f", "utf8", "-s", "9"], "--size: utf8 has no pixels; give --format png or svg"),
        (
            &["a", "-f", "pbm", "-s", "9"],
            "--size: pbm has no size in pixels; give --format png or svg",
        ),
        (
            &["a", "-f", "pdf", "--scale", "9"],
            "--scale: pdf has no pixels; give --format png, svg, pbm, zpl or epl",
        ),
        (
            &["a", "--width-mm", "9"],
            "--width-mm: png has no millimetres; give --format pdf, eps, zpl or epl",
        ),
        (
            &["a", "-f", "eps", "--dark", "f00"],
            "--dark: eps has no colours; give --format png or svg",
        ),
        (
            &["a", "-f", "ascii", "--light", "f00"],
            "--light: ascii has no colours; give --format png or svg",
        ),
        (&["a", "--title", "t"], "--title: png has no title; give --format svg"),
        (
            &["a", "--dark", "red"],
            "--dark <COLOUR>: invalid value \"red\": use 3, 4, 6 or 8 hexadecimal digits, three decimals up to 255 with dashes, or transparent",
        ),
        (
            &["a", "--symbol-version", "9-5"],
            "--symbol-version <VERSIONS>: invalid value \"9-5\": use a version from 1 to 40, or a range such as 5-10",
        ),
        (
            &["a", "-f", "pdf", "--width-mm", "0.5"],
            "--width-mm <MM>: invalid value \"0.5\": 0.5 is not in 1..=5080",
        ),
        (&["a", "--mask", "8"], "--mask <MASK>: invalid value \"8\": 8 is not in 0..=7"),
    ] {
        assert_eq!(refused(run(args), 2), expected, "{args:?}");
    }
}

#[test]
fn other_usage_errors_are_named_and_exit_with_2() {
    for (args, named) in [
        (&["a", "b"][..], "'b'"),
        (&["a", "--size", "9", "--scale", "9"], "'--scale <PIXELS>'"),
        (&["a", "--micro", "--boost"], "'--boost'"),
        (&["a", "--rmqr", "--mask", "1"], "'--mask"),
        (&["a", "--bytes"], "--bytes: encodes standard input"),
        (&["-", "--bytes", "--keep-newline"], "'--keep-newline'"),
        (&["a", "--sise", "9"], "'--sise'"),
        (&["a", "--size"], "'--size <PIXELS>'"),
        (&["a", "--man"], "'--man'"),
        (&["a", "--completions", "bash"], "'--completions <SHELL>'"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(named), "{args:?}: {said}");
    }
}

#[test]
fn the_error_for_a_small_size_gives_the_least_size() {
    assert_eq!(
        refused(run(&["a", "--size", "28"]), 1),
        "--size 28 is too small: the symbol and its margin need at least 29 px a side"
    );
    written(run(&["a", "--size", "29"]));
}

#[test]
fn the_manual_page_describes_every_flag_and_exit_code() {
    let page = String::from_utf8(written(run(&["--man"]))).expect("is text");
    assert!(page.contains(".TH qr-draw 1"), "{page}");
    for flag in FLAGS {
        assert!(page.contains(&flag.replace('-', "\\-")), "{flag}");
    }
    assert!(page.contains("Exit codes"));
}

#[test]
fn help_describes_every_flag() {
    let help = String::from_utf8(written(run(&["--help"]))).expect("is text");
    for flag in FLAGS {
        assert!(help.contains(flag), "{flag}");
    }
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = String::from_utf8(written(run(&["--completions", shell]))).expect("is text");
        for flag in FLAGS.iter().map(|flag| flag.trim_start_matches('-')) {
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
