//! PNGs have the bytes of `qr-core`; `symbols.rs` has the other formats.

use qr_core::{
    Color, Level, Palette, Raster, encode, generate, write_palette_png, write_smallest_png,
};

use crate::support::{qr, written};

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
