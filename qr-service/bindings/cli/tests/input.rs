//! Tests that the program encodes its argument, or standard input byte for byte.

use crate::support;
use crate::support::{qr, qr_reading, refused, text_of_png, written};

fn read_back(input: &[u8], args: &[&str]) -> String {
    text_of_png(&written(qr_reading(input, args)))
}

#[test]
fn one_newline_at_the_end_of_standard_input_is_dropped() {
    assert_eq!(read_back(b"text\n", &["-"]), "text");
    assert_eq!(read_back(b"text\n\n", &["-"]), "text\n");
    assert_eq!(read_back(b"text", &["-"]), "text");
}

#[test]
fn other_input_is_encoded_unchanged() {
    assert_eq!(read_back(b"text\n", &["-", "--keep-newline"]), "text\n");
    assert_eq!(read_back(b" \n text \r\n", &["-"]), " \n text \r");
    assert_eq!(read_back(b"a\0b", &["-"]), "a\0b");
    assert_eq!(read_back("\u{feff}é".as_bytes(), &["-"]), "\u{feff}é");
}

#[test]
fn without_a_text_standard_input_is_read() {
    assert_eq!(read_back(b"text\n", &[]), "text");
    assert_eq!(read_back(b"text\n", &["--keep-newline", "--level", "H"]), "text\n");
    assert_eq!(refused(qr(&[]).output().expect("it runs"), 1), "the text is empty");
}

#[test]
fn a_text_may_begin_with_a_dash() {
    let text = |args: &[&str]| text_of_png(&written(qr(args).output().expect("it runs")));
    assert_eq!(text(&["--", "--level"]), "--level");
    assert_eq!(text(&["--level", "H", "--", "-x"]), "-x");
    assert_eq!(read_back(b"-", &["-"]), "-");
}

#[test]
fn input_that_is_not_utf8_is_refused() {
    let said = refused(qr_reading(b"abc\xff", &["-"]), 1);
    assert_eq!(
        said,
        "standard input is not UTF-8: invalid byte at offset 3; --bytes encodes any bytes"
    );
    // A truncated character, a surrogate, an overlong form.
    for bad in [&b"\xc3"[..], b"\xed\xa0\x80", b"\xc0\xaf"] {
        assert!(
            refused(qr_reading(bad, &["-"]), 1).contains("not UTF-8: invalid byte at offset 0"),
            "{bad:?}"
        );
    }
}

#[test]
fn bytes_are_encoded_as_they_are() {
    for args in [&["--bytes"][..], &["-", "--bytes"]] {
        let png = written(qr_reading(b"\xff\0\n", args));
        let pixels = contract::decode::Pixels::from_png(&png).expect("a picture");
        assert_eq!(support::decode(&pixels).bytes, b"\xff\0\n");
    }
    assert_eq!(refused(qr_reading(b"", &["--bytes"]), 1), "standard input is empty");
}

#[test]
fn an_argument_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let argument = std::ffi::OsStr::from_bytes(b"abc\xff");
    let output = qr(&[]).arg(argument).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("invalid UTF-8"));
}

#[test]
fn endless_input_is_refused() {
    let mut command = qr(&["-"]);
    command.stdin(std::fs::File::open("/dev/zero").expect("it opens"));
    let said = refused(command.output().expect("it runs"), 1);
    assert_eq!(said, "standard input is longer than the 7089 bytes that a QR code can hold");
}

#[test]
fn a_text_that_no_symbol_holds_is_refused() {
    for (level, most) in [("L", 2953), ("M", 2331), ("Q", 1663), ("H", 1273)] {
        let args = ["-", "--size", "185", "--level", level];
        written(qr_reading("a".repeat(most).as_bytes(), &args));
        let said = refused(qr_reading("a".repeat(most + 1).as_bytes(), &args), 1);
        let needed = format!("TEXT: it takes {} bits, but the symbol holds ", 20 + 8 * (most + 1));
        assert!(said.starts_with(&needed), "{level}: {said}");
    }
}

#[test]
fn an_empty_text_is_refused() {
    assert_eq!(refused(qr(&[""]).output().expect("it runs"), 1), "the text is empty");
    assert_eq!(refused(qr_reading(b"", &["-"]), 1), "the text is empty");
    assert_eq!(refused(qr_reading(b"\n", &["-"]), 1), "the text is empty");
}

#[test]
fn unreadable_input_is_reported() {
    let mut command = qr(&["-"]);
    command.stdin(std::fs::File::open("/").expect("it opens"));
    let said = refused(command.output().expect("it runs"), 1);
    assert!(said.starts_with("cannot read standard input: "), "{said}");
}
