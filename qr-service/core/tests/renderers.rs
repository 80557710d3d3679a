//! Renders vector formats at three scales with the programs that people view them with: zxing-cpp reads each picture,
//! and no area of one colour has grey inside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(feature = "formats")]

mod seams;
mod zxing;

use std::path::{Path, PathBuf};
use std::process::Command;

use qr_core::{Print, Svg, Symbol, write_eps, write_pdf, write_svg};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use seams::{EXACT, MARGIN, assert_no_seams, symbols};
use tempfile::TempDir;
use zxing::{Picture, read_picture};

/// Pixels per module: 3, scaled by 1, 1.5 and 3.7. These put the modules' edges on the edges of pixels, in their
/// middles, and anywhere.
const SCALES: [f64; 3] = [3.0, 4.5, 11.1];

/// Returns the picture's side for a scale, rounded to whole pixels, and the scale that results.
fn side_at(symbol: &Symbol, scale: f64) -> (u32, f64) {
    let modules = symbol.size() as f64 + 2.0 * MARGIN;
    let side = (modules * scale).round();
    (side as u32, side / modules)
}

/// Renders each symbol at each scale with `render`, which takes the picture's side in pixels, and checks the pictures.
fn check(reach_px: f64, mut render: impl FnMut(&Symbol, u32) -> Picture) {
    for (text, symbol) in symbols() {
        for scale in SCALES {
            let (side, scale) = side_at(&symbol, scale);
            let drawn = render(&symbol, side);
            assert_eq!((drawn.width, drawn.height), (side as usize, side as usize));
            assert_eq!(read_picture(&drawn).bytes(), text.as_bytes(), "{scale}");
            assert_no_seams(&symbol, &drawn, scale, reach_px);
        }
    }
}

fn svg_of(symbol: &Symbol, width_px: Option<u32>) -> String {
    let mut svg = String::new();
    write_svg(symbol, &Svg::default().size_px(width_px), &mut svg);
    svg
}

/// Renders a document on white; its own width is scaled to `side`.
fn resvg(svg: &str, side: u32) -> Picture {
    let tree = Tree::from_str(svg, &Options::default()).unwrap();
    let scale = side as f32 / tree.size().width();
    let mut drawn = Pixmap::new(side, side).unwrap();
    drawn.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut drawn.as_mut());
    let grey = drawn.pixels().iter().map(|pixel| pixel.green()).collect();
    Picture { width: side as usize, height: side as usize, grey }
}

#[test]
fn resvg_shows_an_svg_without_seams() {
    check(EXACT, |symbol, side| resvg(&svg_of(symbol, None), side));
    check(EXACT, |symbol, side| resvg(&svg_of(symbol, Some(side)), side));
}

/// At so few pixels per module the symbol is unreadable, but there must be no seams.
#[test]
fn resvg_shows_an_svg_without_seams_at_hardly_a_pixel_a_module() {
    for (_, symbol) in symbols() {
        for scale in [1.0, 1.5, 3.7] {
            let (side, scale) = side_at(&symbol, scale);
            assert_no_seams(&symbol, &resvg(&svg_of(&symbol, None), side), scale, -0.001);
        }
    }
}

/// Chromium starts once for all pictures.
#[test]
fn chromium_shows_an_svg_without_seams() {
    let folder = TempDir::new().unwrap();
    let (mut files, mut sides) = (Vec::new(), Vec::new());
    check_all(|symbol, side| {
        let file = folder.path().join(format!("{}.svg", files.len()));
        std::fs::write(&file, svg_of(symbol, Some(side))).unwrap();
        files.push(file);
        sides.push(side as usize);
    });
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decoders/chromium.mjs");
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../legacy-node");
    let pixels = run(Command::new("node").arg(tests).arg(modules).args(&files));
    let (mut rest, mut sides) = (pixels.as_slice(), sides.into_iter());
    check(EXACT, |_, _| {
        let side = sides.next().unwrap();
        let (grey, after) = rest.split_at(side * side);
        rest = after;
        Picture { width: side, height: side, grey: grey.to_vec() }
    });
    assert!(rest.is_empty());
}

/// Calls a function with the same arguments, and in the same order, as [`check`] does.
fn check_all(mut each: impl FnMut(&Symbol, u32)) {
    for (_, symbol) in symbols() {
        for scale in SCALES {
            each(&symbol, side_at(&symbol, scale).0);
        }
    }
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Returns a page one inch wide, so that dots per inch equal the side in pixels.
fn an_inch() -> Print<'static> {
    Print::default().width_mm(25.4)
}

/// Reads a portable graymap with 8 bits.
fn of_pgm(pgm: &[u8]) -> Picture {
    let (most, none) = (b"\n255\n", "not a graymap");
    let end = pgm.windows(most.len()).position(|it| it == most).expect(none) + most.len();
    let (head, grey) = pgm.split_at(end);
    // Ghostscript adds a comment.
    let mut lines = std::str::from_utf8(head).unwrap().lines().filter(|it| !it.starts_with('#'));
    assert_eq!(lines.next(), Some("P5"));
    let (width, height) = lines.next().and_then(|size| size.trim().split_once(' ')).expect(none);
    let (width, height) = (width.parse().unwrap(), height.parse().unwrap());
    assert_eq!(grey.len(), width * height);
    Picture { width, height, grey: grey.to_vec() }
}

fn file(folder: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn poppler_shows_a_pdf_without_seams() {
    let folder = TempDir::new().unwrap();
    check(EXACT, |symbol, side| {
        let mut pdf = Vec::new();
        write_pdf(symbol, &an_inch(), &mut pdf).unwrap();
        let path = file(&folder, "a.pdf", &pdf);
        let mut command = Command::new("pdftoppm");
        of_pgm(&run(command.args(["-gray", "-r", &side.to_string()]).arg(path)))
    });
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn ghostscript_shows_an_eps_and_a_pdf_without_seams() {
        let folder = TempDir::new().unwrap();
        let render = |path: &Path, crop: &str, side: u32| {
            let mut command = Command::new("gs");
            command.args(["-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=pgmraw", crop]);
            // Shows black ink as pure black, not as a press prints it.
            command.arg("-dUseFastColor=true");
            command.args(["-dGraphicsAlphaBits=4", &format!("-r{side}"), "-sOutputFile=-"]);
            of_pgm(&run(command.arg(path)))
        };
        check(EXACT, |symbol, side| {
            let mut eps = String::new();
            write_eps(symbol, &an_inch(), &mut eps).unwrap();
            render(&file(&folder, "a.eps", eps.as_bytes()), "-dEPSCrop", side)
        });
        check(EXACT, |symbol, side| {
            let mut pdf = Vec::new();
            write_pdf(symbol, &an_inch(), &mut pdf).unwrap();
            render(&file(&folder, "a.pdf", &pdf), "-dUseMediaBox", side)
        });
    }
}
