//! The flags that choose the symbol, and the formats that `qr-core` writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use contract::decode::Pixels;
use qr_core::{
    Encoder, Ink, Level, MicroEncoder, Modes, Print, Svg, TextStyle, encode, write_ascii,
    write_eps, write_pbm, write_pdf, write_svg,
};
use support::{decode, pixels_of_svg, qr, refused, written};

const TEXT: &str = "https://example.com/";

fn draw(args: &[&str]) -> Vec<u8> {
    written(qr(&[TEXT]).args(args).output().unwrap())
}

fn error(text: &str, args: &[&str]) -> String {
    refused(qr(&[text]).args(args).output().unwrap(), 1)
}

#[test]
fn the_symbol_has_the_version_level_and_modules_asked_for() {
    let of = |args: &[&str]| {
        let decoded = decode(&Pixels::from_png(&draw(args)).unwrap());
        assert_eq!(decoded.bytes, TEXT.as_bytes(), "{args:?}");
        (decoded.version, decoded.level)
    };
    assert_eq!(of(&[]), (2, 'L'));
    assert_eq!(of(&["--boost"]), (2, 'Q'));
    assert_eq!(of(&["--symbol-version", "7"]), (7, 'L'));
    assert_eq!(of(&["--symbol-version", "1-9", "--level", "H"]), (3, 'H'));
    assert_eq!(of(&["--mask", "3", "--mode", "byte"]), (2, 'L'));
    let ascii = |args: &[&str]| draw(&[args, &["--format", "ascii"]].concat());
    let symbol = Encoder::new(Level::L).mask(3).encode(TEXT).unwrap();
    let mut expected = String::new();
    write_ascii(&symbol, &TextStyle { ink: Ink::Dark, ..TextStyle::default() }, &mut expected);
    assert_eq!(ascii(&["--mask", "3"]), expected.as_bytes());
    assert_ne!(ascii(&["--mask", "3", "--eci", "26"]), expected.as_bytes());
    assert_ne!(ascii(&["--mask", "3", "--gs1"]), expected.as_bytes());
}

#[test]
fn kanji_takes_fewer_bits() {
    let side = |args: &[&str]| {
        let text =
            written(qr(&["漢字漢字漢字漢字漢字", "-f", "ascii"]).args(args).output().unwrap());
        String::from_utf8(text).unwrap().lines().count()
    };
    let kanji = Encoder::new(Level::L).modes(Modes::Kanji).encode("漢字漢字漢字漢字漢字").unwrap();
    assert_eq!(side(&["--mode", "kanji"]), kanji.size() + 8);
    assert_eq!(side(&["--mode", "auto-kanji"]), kanji.size() + 8);
    assert!(side(&[]) > kanji.size() + 8);
}

#[test]
fn errors_name_the_flag_or_the_numbers() {
    assert_eq!(
        error(TEXT, &["--symbol-version", "1"]),
        "the text's 20 bytes are too many for level L: the message needs 172 bits and has 152; \
         version 2 is the smallest that holds it"
    );
    assert_eq!(
        error("12a", &["--mode", "numeric"]),
        "--mode numeric: modes Numeric cannot encode the character at byte 2"
    );
    assert_eq!(error("é", &["--eci", "3"]), "--eci 3: the text is UTF-8, which is 26");
    assert_eq!(
        error("a", &["--scale", "1000"]),
        "--scale 1000 is too large: a picture has at most 16384 px a side"
    );
}

#[test]
fn formats_have_the_bytes_of_qr_core() {
    let symbol = encode(TEXT, Level::L).unwrap();
    let print = Print { margin_modules: 2, width_mm: 33.5 };
    let args = |format| draw(&["-f", format, "-m", "2", "--width-mm", "33.5"]);
    let (mut pdf, mut eps, mut pbm) = (Vec::new(), String::new(), Vec::new());
    write_pdf(&symbol, &print, &mut pdf).unwrap();
    write_eps(&symbol, &print, &mut eps).unwrap();
    assert!(args("pdf") == pdf && args("eps") == eps.as_bytes());
    write_pbm(&symbol, 4, 1, &mut pbm).unwrap();
    assert!(draw(&["-f", "pbm", "-m", "1"]) == pbm);
    pbm.clear();
    write_pbm(&symbol, 7, 4, &mut pbm).unwrap();
    assert!(draw(&["-f", "pbm", "--scale", "7"]) == pbm);
}

#[test]
fn a_scale_gives_every_module_its_pixels() {
    for (format, read) in [
        ("png", (|bytes| Pixels::from_png(bytes).unwrap()) as fn(&[u8]) -> Pixels),
        ("svg", pixels_of_svg),
    ] {
        let drawn = read(&draw(&["-f", format, "--scale", "5", "--margin", "3"]));
        assert_eq!((drawn.width, drawn.height), (5 * (25 + 6), 5 * (25 + 6)), "{format}");
        assert_eq!(decode(&drawn).bytes, TEXT.as_bytes(), "{format}");
    }
}

#[test]
fn a_picture_has_the_colours_and_the_title_asked_for() {
    let svg = draw(&["-f", "svg", "--dark", "#036", "--light", "ffe", "--title", "A & B"]);
    let symbol = encode(TEXT, Level::L).unwrap();
    let mut expected = String::new();
    let (dark, light) = ("003366".parse().unwrap(), "#ffffee".parse().unwrap());
    let options = Svg { width_px: Some(200), dark, light, title: Some("A & B"), ..Svg::default() };
    write_svg(&symbol, &options, &mut expected);
    assert_eq!(String::from_utf8(svg).unwrap(), expected);
    let png = draw(&["--dark", "036", "--light", "0000"]);
    // A palette, and opacity for both of its entries.
    let has = |what: &[u8]| png.windows(what.len()).any(|bytes| bytes == what);
    assert!(has(b"PLTE\x00\x33\x66\x00\x00\x00") && has(b"tRNS\xff\x00"));
}

#[test]
fn a_micro_qr_is_drawn_in_every_format() {
    let drawn = |args: &[&str]| written(qr(&["12345", "--micro"]).args(args).output().unwrap());
    let encoder = MicroEncoder::new(Some(Level::L));
    let symbol = encoder.encode("12345").unwrap();
    let style = TextStyle { margin_modules: 2, ink: Ink::Dark };
    let mut expected = String::new();
    write_ascii(symbol.modules(), &style, &mut expected);
    assert_eq!(drawn(&["-f", "ascii"]), expected.as_bytes());
    expected.clear();
    let smallest = MicroEncoder::new(None).encode("12345").unwrap();
    write_ascii(smallest.modules(), &style, &mut expected);
    assert_eq!(drawn(&["-f", "ascii", "--symbol-version", "1"]), expected.as_bytes());
    for format in ["svg", "png", "pbm"] {
        let pixels = drawn(&["-f", format, "--scale", "4"]);
        assert!(!pixels.is_empty(), "{format}");
    }
    let png = Pixels::from_png(&drawn(&["--scale", "4"])).unwrap();
    let svg = pixels_of_svg(&drawn(&["--scale", "4", "-f", "svg"]));
    assert_eq!((png.width, png.height), (4 * 17, 4 * 17));
    assert!(png.grey == svg.grey, "both show the same pixels");
    assert_eq!(
        error("abcdefghijklmnop", &["--micro"]),
        "the text's 16 bytes are too many for level L: the message needs 136 bits and has 128; \
         no version holds it at this level"
    );
    assert_eq!(
        error("1", &["--micro", "--symbol-version", "5"]),
        "--symbol-version: versions 5 to 5 are not a range within 1 to 4"
    );
    assert_eq!(error("1", &["--micro", "--mask", "4"]), "--mask: mask 4 is not within 0 to 3");
}
