//! PNG of shapes and logos, written row by row: the largest picture would take 67 MB as a whole.

use std::io::Write;

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};
use qr_core::Color;

use super::pixels::STEPS;
use super::{Artwork, Pixels};

/// Writes a PNG of `size_px` pixels a side, the symbol centred, with a palette of 16 colours, or in true colour with
/// opacity if there is a logo or another colour.
///
/// # Errors
/// Those of the encoder. Writing to a vector adds none.
pub(crate) fn write_png(
    art: &Artwork<'_>,
    size_px: usize,
    margin: usize,
) -> Result<Vec<u8>, EncodingError> {
    let scale = (size_px / (art.size() + 2 * margin)).max(1);
    let pixels = Pixels::new(art, scale);
    let before = (size_px - pixels.side()) / 2;
    let mut file = Vec::with_capacity(4096);
    let mut encoder = Encoder::new(&mut file, size_px as u32, size_px as u32);
    encoder.set_compression(Compression::Balanced);
    let has_colors = art.logo.is_some() || art.gradient.is_some() || art.has_own_color();
    if has_colors {
        encoder.set_color(ColorType::Rgba);
    } else {
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::Four);
        let rgb = |color: &Color| [color.red, color.green, color.blue];
        encoder.set_palette(pixels.palette.iter().flat_map(rgb).collect::<Vec<u8>>());
        let alphas: Vec<u8> = pixels.palette.iter().map(|color| color.alpha).collect();
        if alphas.iter().any(|alpha| *alpha < 255) {
            encoder.set_trns(alphas);
        }
    }
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let mut rows = Rows::new(&pixels, size_px, before);
    for y in 0..size_px {
        let row = if has_colors { rows.colors(y) } else { rows.steps(y) };
        stream.write_all(row)?;
    }
    stream.finish()?;
    drop(writer);
    Ok(file)
}

/// Rows of the whole picture, in the layout of the file.
struct Rows<'a> {
    pixels: &'a Pixels<'a>,
    /// Light pixels on the left and above.
    before: usize,
    steps: Vec<u8>,
    colors: Vec<Color>,
    bytes: Vec<u8>,
}

impl<'a> Rows<'a> {
    fn new(pixels: &'a Pixels<'a>, size_px: usize, before: usize) -> Self {
        let light = pixels.palette[0];
        Rows {
            pixels,
            before,
            steps: vec![0; size_px],
            colors: vec![light; size_px],
            bytes: Vec::with_capacity(4 * size_px),
        }
    }

    /// The row of the symbol in the picture's row `y`; `None` in the quiet zone.
    fn row_of(&self, y: usize) -> Option<usize> {
        y.checked_sub(self.before).filter(|row| *row < self.pixels.side())
    }

    /// Writes the steps of row `y`. Returns the row of the symbol.
    fn write_steps(&mut self, y: usize) -> Option<usize> {
        let (before, side) = (self.before, self.pixels.side());
        let row = self.row_of(y);
        self.steps.fill(0);
        if let Some(row) = row {
            self.pixels.write_steps(row, &mut self.steps[before..before + side]);
        }
        let Some(frame) = self.pixels.art.look.frame else { return row };
        let wide = self.steps.len();
        // A caption is below, and never as high as the picture is wide.
        let high = if self.pixels.art.has_caption { 2 * wide } else { wide };
        for (x, step) in self.steps.iter_mut().enumerate() {
            let cover = frame.cover((x, y), (wide, high), self.pixels.scale);
            *step = (*step).max((cover * f64::from(STEPS)).round() as u8);
        }
        row
    }

    /// Row `y` with two pixels per byte.
    fn steps(&mut self, y: usize) -> &[u8] {
        self.write_steps(y);
        self.bytes.clear();
        let pair = |pair: &[u8]| pair[0] << 4 | pair.get(1).copied().unwrap_or(0);
        self.bytes.extend(self.steps.chunks(2).map(pair));
        &self.bytes
    }

    /// Row `y` with four bytes per pixel.
    fn colors(&mut self, y: usize) -> &[u8] {
        let row = self.write_steps(y);
        for (color, step) in self.colors.iter_mut().zip(&self.steps) {
            *color = self.pixels.palette[usize::from(*step)];
        }
        if let Some(row) = row {
            let range = self.before..self.before + self.pixels.side();
            let steps = &mut self.steps[range.clone()];
            self.pixels.write_colors(row, steps, &mut self.colors[range]);
        }
        self.bytes.clear();
        let rgba = |color: &Color| [color.red, color.green, color.blue, color.alpha];
        self.bytes.extend(self.colors.iter().flat_map(rgba));
        &self.bytes
    }
}
