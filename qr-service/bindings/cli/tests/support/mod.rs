//! Runs the program, and turns pictures of every format into pixels.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use contract::decode::{Decoded, Pixels, decode_pixels};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Width and height of a module of half blocks, in pixels.
const SCALE_PX: usize = 4;

pub(crate) fn qr(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qr-draw"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn qr_reading(input: &[u8], args: &[&str]) -> Output {
    let mut command = qr(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Fails if the program exits before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Checks that it succeeded with an empty standard error; returns its standard output.
#[track_caller]
pub(crate) fn written(output: Output) -> Vec<u8> {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    output.stdout
}

/// Checks that it failed with this exit code and wrote nothing; returns its one-line message.
#[track_caller]
pub(crate) fn refused(output: Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said.strip_prefix("qr-draw: ").expect("begins with the program's name").trim_end().to_owned()
}

#[track_caller]
pub(crate) fn decode(pixels: &Pixels) -> Decoded {
    decode_pixels(pixels).unwrap()
}

#[track_caller]
pub(crate) fn text_of_png(png: &[u8]) -> String {
    String::from_utf8(decode(&Pixels::from_png(png).unwrap()).bytes).unwrap()
}

/// Reads a symbol with zxing-cpp, since rqrr reads neither every shape nor structured append.
pub(crate) fn read(pixels: &Pixels) -> zxingcpp::Barcode {
    let Pixels { width, height, grey } = pixels;
    let (width, height) = (*width as u32, *height as u32);
    let view =
        zxingcpp::ImageView::from_slice(grey, width, height, zxingcpp::ImageFormat::Lum).unwrap();
    zxingcpp::read().formats([zxingcpp::BarcodeFormat::QRCode]).from(view).unwrap().remove(0)
}

#[track_caller]
pub(crate) fn pixels_of_svg(svg: &[u8]) -> Pixels {
    let tree = Tree::from_data(svg, &Options::default()).unwrap();
    let size = tree.size().to_int_size();
    let mut drawn = Pixmap::new(size.width(), size.height()).unwrap();
    resvg::render(&tree, Transform::identity(), &mut drawn.as_mut());
    let grey = drawn.pixels().iter().map(|pixel| {
        assert_eq!(pixel.alpha(), 255, "the picture must be opaque");
        pixel.red()
    });
    let grey = grey.collect();
    Pixels { width: size.width() as usize, height: size.height() as usize, grey }
}

/// Turns characters into pixels as a terminal shows them, light on dark.
#[track_caller]
pub(crate) fn pixels_of_half_blocks(text: &str) -> Pixels {
    let width = text.lines().next().unwrap().chars().count();
    let mut modules = Vec::new();
    for line in text.lines() {
        assert_eq!(line.chars().count(), width, "all lines have the same length");
        let halves = line.chars().map(|c| match c {
            '█' => (255, 255),
            '▀' => (255, 0),
            '▄' => (0, 255),
            ' ' => (0, 0),
            other => panic!("{other:?} is not a half block"),
        });
        let (upper, lower): (Vec<u8>, Vec<u8>) = halves.unzip();
        modules.extend([upper, lower]);
    }
    let enlarge = |row: &Vec<u8>| {
        let row: Vec<u8> =
            row.iter().flat_map(|&grey| std::iter::repeat_n(grey, SCALE_PX)).collect();
        row.repeat(SCALE_PX)
    };
    let grey = modules.iter().flat_map(enlarge).collect();
    Pixels { width: width * SCALE_PX, height: modules.len() * SCALE_PX, grey }
}
