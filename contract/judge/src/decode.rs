//! Decodes pictures with crates that belong to neither side: `png` for the pixels, `rqrr` for the
//! symbol.

use std::io::Cursor;

use anyhow::{Context, anyhow, bail, ensure};
use rqrr::{BitGrid, Grid, PreparedImage, SimpleGrid};

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

    /// The modules of the symbol, if the picture shows one alone, whole and upright. Their number is
    /// counted along the timing pattern (ISO/IEC 18004, 6.3.5).
    fn modules(&self) -> Option<SimpleGrid> {
        let dark = |x: usize, y: usize| self.grey[y * self.width + x] < 128;
        let rows = || (0..self.height).filter(|&y| (0..self.width).any(|x| dark(x, y)));
        let columns = || (0..self.width).filter(|&x| (0..self.height).any(|y| dark(x, y)));
        let (top, left) = (rows().next()?, columns().next()?);
        let (height, width) = (rows().next_back()? + 1 - top, columns().next_back()? + 1 - left);

        let finder = (0..width).take_while(|&x| dark(left + x, top)).count();
        let timing = top + finder * 13 / 14; // the middle of the last of a finder's seven rows
        if timing >= self.height {
            return None;
        }
        let changes =
            (1..width).filter(|x| dark(left + x, timing) != dark(left + x - 1, timing)).count();
        let size = changes + 13; // two finders of seven, and a change at each module between
        let middle = |module: usize, length: usize| (2 * module + 1) * length / (2 * size);
        ((21..=177).contains(&size) && size % 4 == 1).then(|| {
            SimpleGrid::from_func(size, |x, y| {
                dark(left + middle(x, width), top + middle(y, height))
            })
        })
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
    // Enlarging helps the decoder if modules are uneven and only about two pixels wide. In a few large
    // symbols it takes data for an alignment pattern at any size; it can read the modules of those.
    let enlarged = |factor: &usize| detect_and_decode(&pixels.enlarged(*factor)).ok();
    detect_and_decode(pixels).or_else(|error| {
        [2, 3, 5]
            .iter()
            .find_map(enlarged)
            .or_else(|| decode_grid(&Grid::new(pixels.modules()?)).ok())
            .ok_or(error)
    })
}

fn detect_and_decode(pixels: &Pixels) -> anyhow::Result<Decoded> {
    let mut image = PreparedImage::prepare_from_greyscale(pixels.width, pixels.height, |x, y| {
        pixels.grey[y * pixels.width + x]
    });
    let mut last = anyhow!("shows no QR symbol");
    for grid in &image.detect_grids() {
        match decode_grid(grid) {
            Ok(decoded) => return Ok(decoded),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn decode_grid<G: BitGrid>(grid: &Grid<G>) -> anyhow::Result<Decoded> {
    let mut bytes = Vec::new();
    let meta = grid.decode_to(&mut bytes).map_err(|error| anyhow!("cannot be read: {error}"))?;
    let level = match meta.ecc_level {
        // The format information numbers the levels in this order.
        0 => 'M',
        1 => 'L',
        2 => 'H',
        3 => 'Q',
        other => bail!("level {other}"),
    };
    Ok(Decoded { bytes, version: u8::try_from(meta.version.0)?, level })
}
