//! Other PNG decoders accept every picture and see the same pixels.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use contract::decode::Pixels;
use proptest::test_runner::{Config, TestRng, TestRunner};
use qr_core::{Level, Raster, encode, write_png};
use tempfile::TempDir;

/// Pictures of every version in the service's size, and pictures of other sizes.
struct Pictures {
    _folder: TempDir,
    files: Vec<PathBuf>,
    /// Their pixels as read by the `png` crate, which verifies checksums.
    pixels: Vec<u8>,
}

fn pictures() -> Pictures {
    let folder = TempDir::new().unwrap();
    let (mut files, mut pixels) = (Vec::new(), Vec::new());
    let mut add_file = |png: Vec<u8>, of: &str| {
        let file = folder.path().join(format!("{}.png", files.len()));
        std::fs::write(&file, &png).unwrap();
        files.push(file);
        pixels.extend(Pixels::from_png(&png).unwrap_or_else(|e| panic!("{of} {e:#}")).grey);
    };
    let mut add = |text: &str, raster: &Raster| {
        let mut png = Vec::new();
        write_png(&encode(text, Level::L).unwrap(), raster, &mut png).unwrap();
        add_file(png, &format!("{raster:?} {}", text.len()));
    };
    for length in (1..=1000).step_by(13) {
        let text = random_text(length);
        add(&text, &Raster::new(200));
    }
    for (length, size_px, margin_modules) in [
        (1, 21, 0),
        (1, 29, 4),
        (20, 33, 0),
        (100, 1000, 0),
        (700, 333, 1),
        (2953, 177, 0),
        (5, 1024, 50),
    ] {
        add(&random_text(length), &Raster::new(size_px).margin_modules(margin_modules));
    }
    #[cfg(feature = "zopfli")]
    for (length, scale_px, margin_modules) in [(1, 9, 4), (20, 27, 4), (60, 16, 0), (300, 20, 1)] {
        // Written with repetitions, as grey.
        use qr_core::{Color, Palette, write_palette_png, write_smallest_png};
        let symbol = encode(&random_text(length), Level::L).unwrap();
        let raster = Raster::of_scale(&symbol, scale_px, margin_modules);
        let raster = Raster::new(raster.size_px + 3).margin_modules(margin_modules);
        let palette = Palette::new(Color::BLACK, Color::WHITE);
        let mut png = Vec::new();
        write_palette_png(&symbol, &raster, &palette, &mut png).unwrap();
        add_file(png, &format!("{raster:?} {length}"));
        let mut png = Vec::new();
        write_smallest_png(&symbol, &raster, &palette, &mut png).unwrap();
        add_file(png, &format!("{raster:?} {length}, the smallest"));
    }
    Pictures { _folder: folder, files, pixels }
}

fn random_text(length: usize) -> String {
    // The same texts in every run, so that a failure can be reproduced.
    let rng = TestRng::deterministic_rng(Config::default().rng_algorithm);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let letters = proptest::collection::vec(proptest::char::range('!', '~'), length);
    let tree = proptest::strategy::Strategy::new_tree(&letters, &mut runner).unwrap();
    proptest::strategy::ValueTree::current(&tree).into_iter().collect()
}

fn decoder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decoders").join(name)
}

fn legacy_node() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../legacy-node")
}

fn sees_the_same_pixels(mut command: Command) {
    let pictures = pictures();
    let output = command.args(&pictures.files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == pictures.pixels, "other pixels");
}

#[test]
fn pngcheck_finds_nothing_wrong() {
    let pictures = pictures();
    let output = Command::new("pngcheck").arg("-v").args(&pictures.files).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let fine = said.matches("No errors detected").count();
    assert_eq!(fine, pictures.files.len(), "{said}");
    assert!(!said.to_lowercase().contains("warning"), "{said}");
}

#[test]
fn pillow_sees_the_same_pixels() {
    let mut command = Command::new("/usr/bin/python3");
    command.arg(decoder("pillow.py"));
    sees_the_same_pixels(command);
}

#[test]
fn chromium_sees_the_same_pixels() {
    let mut command = Command::new("node");
    command.arg(decoder("chromium.mjs")).arg(legacy_node());
    sees_the_same_pixels(command);
}
