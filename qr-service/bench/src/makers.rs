//! The functions to compare: text to PNG, or text to symbol.

use fast_qr::qr::QRBuilder;
use qr_core::{Level, Raster};
use qrcodegen::{QrCode, QrCodeEcc};

use crate::{libqrencode, reference};

/// A function to measure.
pub struct Maker {
    /// Its name in tables and files.
    pub name: &'static str,
    /// Writes the picture of a text to the buffer. Returns its size, or `None` if the function only encodes.
    pub make: fn(&str, &mut Vec<u8>) -> Option<usize>,
}

/// Every function, qr-core's first. Includes libqrencode's only if the machine has it.
pub fn makers() -> Vec<Maker> {
    let mut makers = vec![
        Maker { name: "qr-core", make: qr_core_png },
        Maker { name: "article", make: article },
        Maker { name: "fast_qr+png", make: fast_qr_png },
        Maker { name: "qrcodegen+png", make: qrcodegen_png },
    ];
    if libqrencode::PNG.is_some() {
        makers.push(Maker { name: "libqrencode+libpng", make: libqrencode_and_libpng });
    }
    makers.extend([
        Maker { name: "qr-core-encode", make: qr_core_encode },
        Maker { name: "fast_qr-encode", make: fast_qr_encode },
    ]);
    makers
}

fn qr_core_png(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    qr_core::generate(text, Level::L, &Raster::SERVICE, out).expect("texts of the bench fit");
    Some(out.len())
}

fn article(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    reference::generate(text, out).expect("texts of the bench fit");
    Some(out.len())
}

fn qr_core_encode(text: &str, _: &mut Vec<u8>) -> Option<usize> {
    let symbol = qr_core::encode(text, Level::L).expect("texts of the bench fit");
    std::hint::black_box(&symbol);
    None
}

/// The symbol of a text by fast_qr, at level L.
pub fn fast_qr_of(text: &str) -> fast_qr::QRCode {
    QRBuilder::new(text).ecl(fast_qr::ECL::L).build().expect("texts of the bench fit")
}

fn fast_qr_encode(text: &str, _: &mut Vec<u8>) -> Option<usize> {
    std::hint::black_box(&fast_qr_of(text));
    None
}

fn fast_qr_png(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    let code = fast_qr_of(text);
    png_of(code.size, |x, y| code.data[y * code.size + x].value(), out)
}

fn libqrencode_and_libpng(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    libqrencode::PNG?(text, out);
    Some(out.len())
}

fn qrcodegen_png(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    let segments = qrcodegen::QrSegment::make_segments(text);
    let (low, high) = (qrcodegen::Version::MIN, qrcodegen::Version::MAX);
    let code = QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, low, high, None, false)
        .expect("texts of the bench fit");
    png_of(code.size() as usize, |x, y| code.get_module(x as i32, y as i32), out)
}

/// The service's picture by the `png` crate with its fastest compression: 200 x 200.
fn png_of(size: usize, is_dark: impl Fn(usize, usize) -> bool, out: &mut Vec<u8>) -> Option<usize> {
    write_png(size, is_dark, 200, out, |encoder| {
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_compression(png::Compression::Fast);
    });
    Some(out.len())
}

/// Replaces `out` by a PNG of `side_px` pixels a side and a symbol of `size` modules a side, by the `png` crate: 1 bit,
/// whole pixels per module, each row of modules drawn once and copied. `configure` sets colours and compression.
pub fn write_png(
    size: usize,
    is_dark: impl Fn(usize, usize) -> bool,
    side_px: u32,
    out: &mut Vec<u8>,
    configure: impl FnOnce(&mut png::Encoder<'_, &mut Vec<u8>>),
) {
    let side = side_px as usize;
    let scale = side / (size + 8);
    let (offset, line_bytes) = ((side - size * scale) / 2, side / 8);
    let mut pixels = vec![0xff_u8; line_bytes * side];
    for y in 0..size {
        let top = offset + y * scale;
        let line = &mut pixels[top * line_bytes..(top + 1) * line_bytes];
        for x in (0..size).filter(|&x| is_dark(x, y)) {
            for at in offset + x * scale..offset + (x + 1) * scale {
                line[at / 8] &= !(0x80 >> (at % 8));
            }
        }
        for copy in 1..scale {
            let from = top * line_bytes..(top + 1) * line_bytes;
            pixels.copy_within(from, (top + copy) * line_bytes);
        }
    }
    out.clear();
    let mut encoder = png::Encoder::new(out, side_px, side_px);
    encoder.set_depth(png::BitDepth::One);
    configure(&mut encoder);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .expect("writing to memory");
}
