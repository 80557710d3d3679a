//! The picture is written to files (complete or not at all), pipes and terminals.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{
    decode, pixels_of_half_blocks, pixels_of_svg, qr, refused, text_of_png, written,
};

fn write_to(file: &Path, args: &[&str]) {
    let output = qr(args).arg("--output").arg(file).output().unwrap();
    assert!(written(output).is_empty());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_extension_chooses_the_format() {
    let folder = TempDir::new().unwrap();
    for name in ["a.png", "a.PNG", "a", "a.tar.png"] {
        let file = folder.path().join(name);
        write_to(&file, &["text"]);
        assert_eq!(text_of_png(&fs::read(file).unwrap()), "text", "{name}");
    }
    let (svg, txt) = (folder.path().join("a.svg"), folder.path().join("a.txt"));
    write_to(&svg, &["text"]);
    assert_eq!(decode(&pixels_of_svg(&fs::read(&svg).unwrap())).bytes, b"text");
    write_to(&txt, &["text"]);
    let drawn = fs::read_to_string(&txt).unwrap();
    assert_eq!(decode(&pixels_of_half_blocks(&drawn)).bytes, b"text");
    write_to(&txt, &["text", "--format", "png"]);
    assert_eq!(text_of_png(&fs::read(txt).unwrap()), "text", "--format overrides the extension");
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_nothing_is_left_beside_it() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.png");
    write_to(&file, &["before"]);
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    write_to(&file, &["after"]);
    assert_eq!(text_of_png(&fs::read(&file).unwrap()), "after");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(folder.path()), ["a.png"]);
}

#[test]
fn a_link_stays_and_its_target_is_replaced() {
    let folder = TempDir::new().unwrap();
    let (file, link) = (folder.path().join("real.png"), folder.path().join("link.png"));
    fs::write(&file, "old").unwrap();
    symlink("real.png", &link).unwrap();
    write_to(&link, &["text"]);
    assert!(link.is_symlink());
    assert_eq!(text_of_png(&fs::read(&file).unwrap()), "text");
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let folder = TempDir::new().unwrap();
    let link = folder.path().join("device.png");
    symlink("/dev/null", &link).unwrap();
    write_to(&link, &["text"]);
    assert!(link.is_symlink());
}

#[test]
fn an_error_names_the_file_that_cannot_be_written() {
    let folder = TempDir::new().unwrap();
    for target in ["/nowhere/at/all.png", "/dev/full", folder.path().to_str().unwrap()] {
        let said = refused(qr(&["text", "-f", "png", "-o", target]).output().unwrap(), 1);
        assert!(said.starts_with(&format!("cannot write {target}: ")), "{said}");
    }
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.png");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    if OpenOptions::new().write(true).open(&file).is_ok() {
        return; // root may write to any file
    }
    refused(qr(&["text", "-o", file.to_str().unwrap()]).output().unwrap(), 1);
    assert_eq!(fs::read(&file).unwrap(), b"old");
}

#[test]
fn a_failed_write_keeps_the_old_file_and_leaves_nothing_beside_it() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.png");
    fs::write(&file, "old").unwrap();
    // The shell limits files to 0 bytes and ignores SIGXFSZ, so that writing fails with an error.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" text -o \"$1\""])
        .args([Path::new(env!("CARGO_BIN_EXE_qr-draw")), &file])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = refused(output, 1);
    assert!(said.starts_with("cannot write"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["a.png"]);
}

#[test]
fn a_full_standard_output_is_reported() {
    let mut command = qr(&["text"]);
    command.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
    command.stderr(Stdio::piped());
    let said = refused(command.output().unwrap(), 1);
    assert!(said.starts_with("cannot write standard output: "), "{said}");
}

#[test]
fn on_a_closed_pipe_it_exits_with_1_and_no_message() {
    let mut command = qr(&["-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    // The program starts to draw only now, when the pipe is already closed.
    child.stdin.take().unwrap().write_all(b"text").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty());
}

/// Runs `qr-draw` on a terminal and returns its output.
fn on_terminal(args: &[&str]) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = qr(args);
    command.stdout(terminal);
    let mut child = command.spawn().unwrap();
    drop(command); // it keeps the terminal open
    let mut sent = Vec::new();
    // When the last holder closes the terminal, this side reads an error instead of the end of file.
    let _ = File::from(controller).read_to_end(&mut sent);
    assert!(child.wait().unwrap().success());
    String::from_utf8(sent).unwrap()
}

#[test]
fn a_terminal_gets_half_blocks_in_white_on_black() {
    let sent = on_terminal(&["https://example.com/"]);
    let lines: Vec<&str> = sent.lines().collect();
    let inner = |line: &&str| {
        let line = line.strip_prefix("\x1b[38;5;231;48;5;16m").unwrap();
        line.strip_suffix("\x1b[0m").unwrap().to_owned()
    };
    let drawn: Vec<String> = lines.iter().map(inner).collect();
    assert_eq!(decode(&pixels_of_half_blocks(&drawn.join("\n"))).bytes, b"https://example.com/");
}

#[test]
fn a_terminal_gets_the_format_asked_for() {
    assert!(on_terminal(&["text", "--format", "svg"]).starts_with("<svg "));
}
