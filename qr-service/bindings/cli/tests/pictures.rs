//! Pictures of every format, level, size and margin decode to the text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use contract::decode::Pixels;
use qr_core::{
    Color, Level, Palette, Raster, encode, generate, write_palette_png, write_smallest_png,
};
use support::{decode, pixels_of_half_blocks, pixels_of_svg, qr, qr_reading, written};

const TEXTS: [&str; 5] = [
    "https://example.com/some/path?with=a&query=string#and-more",
    "0123456789",
    "UPPER CASE $5.00",
    "grüße, 世界 \u{1f980}\nand a second line",
    "a",
];

fn draw(text: &str, args: &[&str]) -> Vec<u8> {
    written(qr(args).args(["--", text]).output().unwrap())
}

fn pixels(format: &str, text: &str, args: &[&str]) -> Pixels {
    let drawn = draw(text, &[&["--format", format], args].concat());
    match format {
        "png" => Pixels::from_png(&drawn).unwrap(),
        "svg" => pixels_of_svg(&drawn),
        _ => pixels_of_half_blocks(&String::from_utf8(drawn).unwrap()),
    }
}

#[test]
fn every_format_shows_the_text_at_the_level_asked_for() {
    for text in TEXTS {
        for level in Level::ALL.map(|level| level.to_string()) {
            for format in ["png", "svg", "utf8"] {
                let decoded = decode(&pixels(format, text, &["--level", &level]));
                assert_eq!(decoded.bytes, text.as_bytes(), "{format} {level}");
                assert_eq!(decoded.level.to_string(), level, "{format} {text:?}");
            }
        }
    }
}

#[test]
fn without_flags_it_writes_the_png_that_the_service_answers() {
    for text in TEXTS {
        let mut expected = Vec::new();
        generate(text, Level::L, &Raster::SERVICE, &mut expected).unwrap();
        assert!(draw(text, &[]) == expected, "{text:?}");
    }
}

#[test]
fn a_png_has_the_bytes_of_qr_core() {
    let palette = Palette::new(Color::BLACK, Color::WHITE);
    let raster = Raster::new(555).margin_modules(2);
    let symbol = encode(TEXTS[3], Level::Q).unwrap();
    let (mut usual, mut smallest) = (Vec::new(), Vec::new());
    write_palette_png(&symbol, &raster, &palette, &mut usual).unwrap();
    write_smallest_png(&symbol, &raster, &palette, &mut smallest).unwrap();
    let args = ["--size", "555", "--margin", "2", "--level", "q"];
    assert!(draw(TEXTS[3], &args) == usual);
    assert!(draw(TEXTS[3], &[&args[..], &["--compression", "smallest"]].concat()) == smallest);
    assert!(smallest.len() < usual.len());
}

#[test]
fn a_picture_has_the_pixels_asked_for() {
    for format in ["png", "svg"] {
        for size in [100, 333, 2000] {
            let drawn = pixels(format, TEXTS[0], &["--size", &size.to_string()]);
            assert_eq!((drawn.width, drawn.height), (size, size), "{format}");
            assert_eq!(decode(&drawn).bytes, TEXTS[0].as_bytes(), "{format} {size}");
        }
    }
}

#[test]
fn the_margin_is_as_wide_as_asked_for() {
    // Version 1 has 21 modules, so a module has a whole number of pixels at these sizes.
    for (margin, size) in [(0, 84), (1, 92), (4, 116), (10, 164)] {
        for format in ["png", "svg", "utf8"] {
            let margin_arg = margin.to_string();
            let size_arg = size.to_string();
            let mut args = vec!["--margin", &margin_arg];
            if format != "utf8" {
                args.extend(["--size", &size_arg]);
            }
            let drawn = pixels(format, "a", &args);
            assert_eq!(drawn.width, size, "{format} {margin}");
            let first = drawn.grey.iter().position(|&grey| grey == 0).unwrap();
            assert_eq!((first % size, first / size), (4 * margin, 4 * margin), "{format}");
        }
    }
}

#[test]
fn the_longest_texts_are_drawn() {
    for (letter, length) in [("7", 7089), ("A", 4296), ("a", 2953)] {
        let text = letter.repeat(length);
        for (format, args) in
            [("png", &["--size", "400"][..]), ("svg", &["-s", "400"]), ("utf8", &[])]
        {
            let args = [&["-", "--format", format], args].concat();
            let drawn = written(qr_reading(text.as_bytes(), &args));
            let drawn = match format {
                "png" => Pixels::from_png(&drawn).unwrap(),
                "svg" => pixels_of_svg(&drawn),
                _ => pixels_of_half_blocks(&String::from_utf8(drawn).unwrap()),
            };
            assert_eq!(decode(&drawn).bytes, text.as_bytes(), "{format} {length}");
        }
    }
}
