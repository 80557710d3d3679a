//! Symbol to PNG (RFC 2083): one bit of grey per pixel, dark 0, light 1, no filter.

mod checksum;
#[cfg(feature = "png-color")]
mod color;
mod deflate;
mod huffman;
mod prepared;
#[cfg(feature = "png-color")]
mod repeats;
mod service;

#[cfg(feature = "zopfli")]
pub use color::write_smallest_png;
#[cfg(feature = "png-color")]
pub use color::{Palette, write_palette_png};
use deflate::{Counts, Elements, Limits, LineCoder, Sink, Writer};
use huffman::{Codes, Lengths};
use prepared::PREPARED;

use crate::error::Error;
use crate::raster::{Layout, Line, Raster};
use crate::symbol::{ROW_WORDS, Symbol};

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The service's picture before its deflate stream: signature, header, and the beginning of the next chunk, whose length
/// is not known yet.
const SERVICE_START: [u8; 43] = *b"\x89PNG\r\n\x1a\n\
    \0\0\0\x0dIHDR\0\0\0\xc8\0\0\0\xc8\x01\0\0\0\0\x85\x23\x93\x33\
    \0\0\0\0IDAT\x78\x01";
/// The last chunk, always the same.
const END: [u8; 12] = *b"\0\0\0\0IEND\xae\x42\x60\x82";

/// Appends the PNG of `symbol` to `out`: `raster.size_px` pixels a side, the symbol centred, all
/// modules the same whole number of pixels.
#[doc = example!(
    let mut png = Vec::new();
    write_png(&encode("text", Level::M)?, &Raster::SERVICE, &mut png)?;
    assert!(png.starts_with(b"\x89PNG"));
)]
///
/// # Errors
/// [`Error::SizeTooSmall`] or [`Error::SizeTooLarge`]; `out` is then unchanged.
pub fn write_png(symbol: &Symbol, raster: &Raster, out: &mut Vec<u8>) -> Result<(), Error> {
    let layout = raster.layout(symbol.size())?;
    let prepared =
        (*raster == Raster::SERVICE).then(|| PREPARED.get(usize::from(symbol.version) - 1));
    match prepared.flatten() {
        Some(prepared) => prepared.write(symbol, out),
        // Most pictures are small, and clearing a buffer for the largest takes time.
        None if layout.size_px <= 256 => write_with_own_codes::<SMALL>(symbol, &layout, out),
        None if layout.size_px <= 1024 => write_with_own_codes::<MIDDLE>(symbol, &layout, out),
        None => write_with_own_codes::<LARGE>(symbol, &layout, out),
    }
    Ok(())
}

/// Returns what [`write_png`] appends.
#[doc = example!(
    let png = to_png(&encode("text", Level::M)?, &Raster::new(300))?;
    assert!(png.starts_with(b"\x89PNG"));
)]
///
/// # Errors
/// Those of [`write_png`].
pub fn to_png(symbol: &Symbol, raster: &Raster) -> Result<Vec<u8>, Error> {
    let mut png = Vec::new();
    write_png(symbol, raster, &mut png).map(|()| png)
}

/// Bytes of a buffer for a line of 256 pixels.
const SMALL: usize = 256 / 8 + 16;
/// Bytes of a buffer for a line of 1024 pixels.
const MIDDLE: usize = 1024 / 8 + 16;
/// Bytes of a buffer for a line of the largest picture.
const LARGE: usize = Raster::MAX_SIZE_PX as usize / 8 + 16;

/// Writes the picture with Huffman codes from its own statistics.
fn write_with_own_codes<const S: usize>(symbol: &Symbol, layout: &Layout, out: &mut Vec<u8>) {
    let mut elements = Elements::new();
    let sum = describe::<S, _>(symbol, layout, Limits::NONE, &mut elements);
    let Counts { literals, distances } = &elements.counts;
    write_picture(
        layout,
        &elements,
        &Codes::new(&Lengths::of_counts(literals, distances)),
        sum,
        out,
    );
}

/// Writes the header of a picture of this size.
fn write_header(size_px: u32, out: &mut Vec<u8>) {
    write_chunk(out, b"IHDR", |out| {
        out.extend_from_slice(&size_px.to_be_bytes());
        out.extend_from_slice(&size_px.to_be_bytes());
        // Bit depth 1, greyscale, deflate, the standard's filters, no interlace.
        out.extend_from_slice(&[1, 0, 0, 0, 0]);
    });
}

/// Writes the picture of these elements with these codes; `sum` is the Adler-32 of its lines.
fn write_picture(layout: &Layout, elements: &Elements, codes: &Codes, sum: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&SIGNATURE);
    write_header(layout.size_px as u32, out);
    write_chunk(out, b"IDAT", |out| {
        // RFC 1950: deflate, a window of 32 KiB, and check bits that make 0x7801 divisible by 31.
        out.extend_from_slice(&[0x78, 0x01]);
        let mut writer = Writer::new(codes, out);
        elements.describe(&mut writer);
        writer.finish();
        out.extend_from_slice(&sum.to_be_bytes());
    });
    out.extend_from_slice(&END);
}

/// Appends a chunk: its length, its type, the content from `write`, its checksum.
fn write_chunk(out: &mut Vec<u8>, kind: &[u8; 4], write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(kind);
    write(out);
    let len = (out.len() - start - 8) as u32;
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
    let crc = crc32fast::hash(&out[start + 4..]);
    out.extend_from_slice(&crc.to_be_bytes());
}

/// Describes the picture to `sink`; returns the Adler-32 of its lines.
fn describe<const S: usize, K: Sink>(
    symbol: &Symbol,
    layout: &Layout,
    limits: Limits,
    sink: &mut K,
) -> u32 {
    let (modules, size) = (symbol.modules(), symbol.size());
    let above = layout.offset_px;
    let below = layout.size_px - above - layout.symbol_px;
    let light = Line::<S>::light(layout);
    let mut sum = checksum::Adler::<S>::new(light.bytes().len());
    sum.add_light(above);
    let mut coder = LineCoder::new(sink, limits, light.bytes().len(), above);
    let (mut line, mut before) = (light, [0; ROW_WORDS]);
    for y in 0..size {
        let row = modules.words(y);
        line.draw(&row, size, layout);
        let equal = if y + above == 0 { (0, 0) } else { layout.equal_bytes(&row, &before) };
        coder.put_changed(line.bytes(), equal, layout.scale_px - 1);
        sum.add(line.buffer(), layout.scale_px);
        before = row;
    }
    let light = Line::<S>::light(layout);
    coder.finish(light.bytes(), line.bytes(), below);
    sum.add_light(below);
    sum.finish()
}

#[cfg(test)]
mod tests;
