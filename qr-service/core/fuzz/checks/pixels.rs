//! Checks that the `png` crate, which verifies all checksums, reads the symbol's modules from a picture: so the
//! deflate stream, the Huffman codes and the filters are right for any symbol.
//!
//! The first three bytes of the input choose level, scale and margin; the rest is the text.

use std::io::Cursor;

use qr_core::{Level, Raster, encode, write_png};

/// Panics unless the picture has the symbol's modules.
pub(crate) fn check(input: &[u8]) {
    let [level, scale, margin, text @ ..] = input else { return };
    let text = String::from_utf8_lossy(text);
    let Ok(symbol) = encode(&text, Level::ALL[usize::from(level % 4)]) else { return };
    let margin_modules = u32::from(margin % 8);
    let modules = symbol.size() as u32 + 2 * margin_modules;
    let size_px = match scale % 8 {
        0 if modules <= 200 => 200, // the service's size
        scale => modules * (1 + u32::from(scale % 4)) + u32::from(*margin) % modules.min(64),
    };
    let mut file = Vec::new();
    let raster = Raster::new(size_px).margin_modules(margin_modules);
    write_png(&symbol, &raster, &mut file).expect("the symbol fits");

    let mut reader = png::Decoder::new(Cursor::new(&file)).read_info().expect("a PNG");
    let bytes_per_row = size_px.div_ceil(8) as usize;
    let mut pixels = vec![0; bytes_per_row * size_px as usize];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    assert_eq!((info.width, info.height, info.line_size), (size_px, size_px, bytes_per_row));
    assert_eq!(info.bit_depth, png::BitDepth::One);
    reader.finish().expect("a whole file");

    // Whole pixels, the symbol in the middle, an odd pixel right and below.
    let scale = (size_px / modules) as usize;
    let start = (size_px as usize - scale * symbol.size()) / 2;
    let white = vec![0xff; bytes_per_row];
    let mut expected = vec![white.clone(); size_px as usize];
    for y in 0..symbol.size() {
        let mut row = white.clone();
        for x in (0..symbol.size()).filter(|x| symbol.is_dark(*x, y)) {
            for pixel in start + x * scale..start + (x + 1) * scale {
                row[pixel / 8] &= !(0x80 >> (pixel % 8));
            }
        }
        expected[start + y * scale..start + (y + 1) * scale].fill(row);
    }
    for (y, (row, expected)) in pixels.chunks(bytes_per_row).zip(&expected).enumerate() {
        let padding = 0xff_u8.checked_shr(size_px % 8).filter(|_| size_px % 8 > 0).unwrap_or(0);
        let (last, rest) = row.split_last().expect("a row has bytes");
        assert_eq!(
            (rest, last | padding),
            (&expected[..rest.len()], expected[rest.len()]),
            "row {y}"
        );
    }
}
