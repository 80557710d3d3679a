//! Decodes pictures: `png` for the pixels, and for the symbol `qr-core`, which is fast, else `rxing`, else `rqrr`.
//! [`decode_pixels_by_others`] leaves out `qr-core`, which the new side draws with.
//!
//! All return the raw bytes of the symbol's segments: Kanji mode as Shift JIS, and without applying an ECI. None
//! guesses a character set, so an equal text is an equal sequence of bytes.

mod by_core;
mod by_rqrr;
mod by_rxing;

use std::io::Cursor;

use anyhow::{Context, ensure};

pub use by_core::decode_pixels_by_core;
pub use by_rqrr::decode_pixels_by_rqrr;
pub use by_rxing::decode_pixels_by_rxing;

/// The content of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The bytes of the text.
    pub bytes: Vec<u8>,
    /// Version, 1 to 40.
    pub version: u8,
    /// Error correction level: `L`, `M`, `Q` or `H`.
    pub level: char,
}

/// Grey pixels, from 0 (black) to 255 (white).
#[derive(Clone, Debug)]
pub struct Pixels {
    /// Pixels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Row by row.
    pub grey: Vec<u8>,
}

impl Pixels {
    /// The pixels of a PNG. Colours become grey, and transparent pixels become white. Verifies checksums. Fails if
    /// `png` is not a PNG or is broken.
    pub fn from_png(png: &[u8]) -> anyhow::Result<Self> {
        Self::from_png_within(png, u32::MAX)
    }

    /// Like [`Pixels::from_png`], for untrusted files: also fails, before it allocates, if the picture is wider or
    /// higher than `max_px`.
    pub fn from_png_within(png: &[u8], max_px: u32) -> anyhow::Result<Self> {
        let mut decoder = png::Decoder::new(Cursor::new(png));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        decoder.ignore_checksums(false);
        let mut reader = decoder.read_info().context("not a PNG")?;
        let (width, height) = reader.info().size();
        ensure!(
            width.max(height) <= max_px,
            "{width} x {height} px, larger than {max_px} x {max_px}"
        );
        let size = reader.output_buffer_size().context("the picture is too large")?;
        let mut buffer = vec![0; size];
        let frame = reader.next_frame(&mut buffer).context("a broken PNG")?;
        reader.finish().context("a broken PNG")?;
        let grey_of = |pixel: &[u8]| match *pixel {
            [grey] | [grey, 255] => grey,
            [r, g, b] | [r, g, b, 255] if r == g && g == b => r,
            [r, g, b] | [r, g, b, 255] => ((u16::from(r) + u16::from(g) + u16::from(b)) / 3) as u8,
            _ => 255,
        };
        let samples = frame.color_type.samples();
        let grey = buffer[..frame.buffer_size()].chunks_exact(samples).map(grey_of).collect();
        Ok(Pixels { width: frame.width as usize, height: frame.height as usize, grey })
    }
}

/// Decodes the symbol in a PNG.
pub fn decode_png(png: &[u8]) -> anyhow::Result<Decoded> {
    decode_pixels(&Pixels::from_png(png)?)
}

/// Decodes the symbol in a picture; the first of several that can be read. Fails with rqrr's error if no symbol can be
/// read.
pub fn decode_pixels(pixels: &Pixels) -> anyhow::Result<Decoded> {
    decode_pixels_by_core(pixels).map_or_else(|| decode_pixels_by_others(pixels), Ok)
}

/// Like [`decode_pixels`], with readers that share no code with either side.
///
/// rxing comes first because it reads a picture of 200 pixels in a hundredth of rqrr's time.
pub fn decode_pixels_by_others(pixels: &Pixels) -> anyhow::Result<Decoded> {
    decode_pixels_by_rxing(pixels).map_or_else(|| decode_pixels_by_rqrr(pixels), Ok)
}
