//! Decodes pictures with crates that belong to neither side: `png` for the pixels, `rqrr` for the
//! symbol.

use std::io::Cursor;

use anyhow::{Context, bail, ensure};

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
    /// The pixels of a PNG. Colours become grey, and transparent pixels become white.
    ///
    /// # Errors
    /// If it is not a PNG, or a broken one. Checksums are verified.
    pub fn from_png(png: &[u8]) -> anyhow::Result<Self> {
        Self::from_png_within(png, u32::MAX)
    }

    /// As [`Pixels::from_png`], for untrusted files: allocates nothing for a picture that is wider or
    /// higher than `max_px`.
    ///
    /// # Errors
    /// Also if the picture is larger than that.
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

    /// The picture with each pixel repeated `factor` times in both directions.
    fn enlarged(&self, factor: usize) -> Pixels {
        let row = |y: usize| {
            let row = &self.grey[y * self.width..(y + 1) * self.width];
            row.iter().flat_map(|&grey| std::iter::repeat_n(grey, factor)).collect::<Vec<u8>>()
        };
        let grey = (0..self.height).flat_map(|y| row(y).repeat(factor)).collect();
        Pixels { width: self.width * factor, height: self.height * factor, grey }
    }
}

/// Decodes the symbol in a PNG.
///
/// # Errors
/// If the PNG is broken, or has no symbol that can be read.
pub fn decode_png(png: &[u8]) -> anyhow::Result<Decoded> {
    decode_pixels(&Pixels::from_png(png)?)
}

/// Decodes the symbol in a picture; the first of several that can be read.
///
/// # Errors
/// If the picture has no symbol that can be read.
pub fn decode_pixels(pixels: &Pixels) -> anyhow::Result<Decoded> {
    // Enlarging helps the decoder if modules are uneven and only about two pixels wide.
    decode_as_is(pixels).or_else(|error| {
        [2, 3, 5]
            .iter()
            .find_map(|&factor| decode_as_is(&pixels.enlarged(factor)).ok())
            .ok_or(error)
    })
}

fn decode_as_is(pixels: &Pixels) -> anyhow::Result<Decoded> {
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(pixels.width, pixels.height, |x, y| {
            pixels.grey[y * pixels.width + x]
        });
    let grids = image.detect_grids();
    ensure!(!grids.is_empty(), "shows no QR symbol");
    let mut bytes = Vec::new();
    let mut last = None;
    for grid in &grids {
        bytes.clear();
        match grid.decode_to(&mut bytes) {
            Ok(meta) => {
                let level = match meta.ecc_level {
                    // The format information numbers the levels in this order.
                    0 => 'M',
                    1 => 'L',
                    2 => 'H',
                    3 => 'Q',
                    other => bail!("level {other}"),
                };
                return Ok(Decoded { bytes, version: u8::try_from(meta.version.0)?, level });
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(
        || anyhow::anyhow!("shows no QR symbol"),
        |e| anyhow::anyhow!("cannot be read: {e}"),
    ))
}
