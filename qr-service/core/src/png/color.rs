//! PNG in two colours: a palette of two entries, with their opacity.

use super::checksum::{Adler, Sums};
use super::deflate::{Counts, Limits, LineCoder, Sink, Writer};
use super::huffman::{Codes, Lengths};
use super::search;
use super::shortest::{self, Lines};
use super::{END, LARGE, MIDDLE, SIGNATURE, SMALL, write_chunk};
use crate::color::Color;
use crate::modules::Modules;
use crate::raster::{Layout, Line, Raster, RasterError};

/// The colours of a PNG.
///
/// ```
/// use qr_core::{Color, Palette};
///
/// let palette = Palette { dark: Color::rgb(0, 51, 102), light: Color::TRANSPARENT };
/// assert_eq!(palette.dark.alpha, 255);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The dark modules.
    pub dark: Color,
    /// The light modules and the quiet zone.
    pub light: Color,
}

impl Palette {
    /// Whether it is black on white, which needs no palette.
    fn is_plain(&self) -> bool {
        *self == Palette { dark: Color::BLACK, light: Color::WHITE }
    }

    /// The bits of light pixels: 0, as filter types are, where the palette may say so.
    fn light_byte(&self) -> u8 {
        if self.is_plain() { 0xff } else { 0 }
    }
}

/// Appends the PNG of a symbol of any kind in these colours to `out`: `raster.size_px` pixels wide, the
/// symbol centred, all modules the same whole number of pixels. If the symbol is not square, the margin
/// above and below it is as wide as at its sides. Black on white is written as grey, without a palette.
///
/// ```
/// use qr_core::{Color, Level, Palette, Raster, encode, write_palette_png};
///
/// let symbol = encode("text", Level::M)?;
/// let palette = Palette { dark: Color::rgb(0, 51, 102), light: Color::TRANSPARENT };
/// let mut png = Vec::new();
/// write_palette_png(&symbol, &Raster::of_scale(&symbol, 8, 4), &palette, &mut png)?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RasterError`] if the symbol does not fit; `out` is then unchanged.
pub fn write_palette_png<'a>(
    modules: impl Into<Modules<'a>>,
    raster: &Raster,
    palette: &Palette,
    out: &mut Vec<u8>,
) -> Result<(), RasterError> {
    let modules = modules.into();
    // No symbol is higher than it is wide.
    let layout = raster.layout(modules.width())?;
    // Other buffers than `write_png` has, so that the compiler inlines its functions there as if they
    // were not used here.
    match layout.size_px {
        ..=256 => write_picture::<{ SMALL + 16 }>(modules, &layout, palette, out),
        257..=1024 => write_picture::<{ MIDDLE + 16 }>(modules, &layout, palette, out),
        _ => write_picture::<{ LARGE + 16 }>(modules, &layout, palette, out),
    }
    Ok(())
}

/// Appends the same picture as [`write_palette_png`], in more time and about as few bytes as Zopfli makes.
///
/// ```
/// use qr_core::{Color, Level, Palette, Raster, encode, write_palette_png, write_shortest_png};
///
/// let symbol = encode("text", Level::M)?;
/// let palette = Palette { dark: Color::BLACK, light: Color::WHITE };
/// let raster = Raster::of_scale(&symbol, 1, 4);
/// let (mut usual, mut shortest) = (Vec::new(), Vec::new());
/// write_palette_png(&symbol, &raster, &palette, &mut usual)?;
/// write_shortest_png(&symbol, &raster, &palette, &mut shortest)?;
/// assert!(shortest.len() < usual.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RasterError`] if the symbol does not fit; `out` is then unchanged.
pub fn write_shortest_png<'a>(
    modules: impl Into<Modules<'a>>,
    raster: &Raster,
    palette: &Palette,
    out: &mut Vec<u8>,
) -> Result<(), RasterError> {
    let modules = modules.into();
    let layout = raster.layout(modules.width())?;
    let start = out.len();
    write_palette_png(modules, raster, palette, out)?;
    let mut other = Vec::new();
    write_searched(modules, &layout, palette, &mut other);
    if other.len() < out.len() - start {
        out.truncate(start);
        out.extend_from_slice(&other);
    }
    Ok(())
}

/// Writes the picture with the shortest stream that [`shortest::Search`] finds.
fn write_searched(modules: Modules<'_>, layout: &Layout, palette: &Palette, out: &mut Vec<u8>) {
    let light = palette.light_byte();
    let mut lines = Lines::new(layout.line_len());
    let mut sums = Sums::new(modules.width(), layout, light != 0);
    let mut add = |line: &Line<LARGE>, words: &[u64], count: usize| {
        let [filter, pixels @ ..] = line.bytes() else { return };
        lines.add(*filter, pixels.iter().map(|byte| byte ^ !light), count);
        sums.add_row(words, count);
    };
    let mut line = Line::light(layout);
    add(&line, &[], layout.offset_px);
    for y in 0..modules.height() {
        let words = modules.words(y);
        line.draw(&words, modules.width(), layout);
        add(&line, &words, layout.scale_px);
    }
    add(&Line::light(layout), &[], layout.size_px - layout.offset_px - layout.symbol_px);
    let mut counts = Counts::new();
    describe::<LARGE, _>(modules, layout, &mut counts);
    let stream = shortest::Search::new(lines, layout.scale_px).find(&counts);
    write_file(modules, layout, palette, light == 0, out, |out| {
        let mut writer = Writer::new(&stream.codes, out);
        stream.describe(&mut writer);
        writer.finish();
        sums.finish()
    });
}

fn write_picture<const S: usize>(
    modules: Modules<'_>,
    layout: &Layout,
    palette: &Palette,
    out: &mut Vec<u8>,
) {
    // Where repetitions are not looked for, light pixels are 1 in any case.
    let found = search::find(modules, layout, palette.light_byte());
    let (counts, sum) = match &found {
        Some(found) => (found.elements.counts(), found.sum),
        None => {
            let mut counts = Counts::new();
            let sum = describe::<S, _>(modules, layout, &mut counts);
            (counts, sum)
        }
    };
    let codes = Codes::new(&Lengths::of_counts(&counts.literals, &counts.distances));
    write_file(modules, layout, palette, found.is_some(), out, |out| {
        let mut writer = Writer::new(&codes, out);
        match &found {
            Some(found) => found.elements.write(&mut writer),
            None => _ = describe::<S, _>(modules, layout, &mut writer),
        }
        writer.finish();
        sum
    });
}

/// Writes all but the deflate stream, for which `write` is called; it returns the Adler-32 of the lines. With a
/// palette, light pixels are 0 or 1.
fn write_file(
    modules: Modules<'_>,
    layout: &Layout,
    palette: &Palette,
    is_light_0: bool,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> u32,
) {
    let is_plain = palette.is_plain();
    out.extend_from_slice(&SIGNATURE);
    write_chunk(out, b"IHDR", |out| {
        let margins = layout.size_px - layout.symbol_px;
        let height = modules.height() * layout.scale_px + margins;
        out.extend_from_slice(&(layout.size_px as u32).to_be_bytes());
        out.extend_from_slice(&(height as u32).to_be_bytes());
        // Bit depth 1, grey or palette, deflate, the standard's filters, no interlace.
        out.extend_from_slice(&[1, if is_plain { 0 } else { 3 }, 0, 0, 0]);
    });
    if !is_plain {
        let Palette { dark, light } = *palette;
        write_palette(if is_light_0 { [light, dark] } else { [dark, light] }, out);
    }
    write_chunk(out, b"IDAT", |out| {
        // RFC 1950; see `write_png`.
        out.extend_from_slice(&[0x78, 0x01]);
        let sum = write(out);
        out.extend_from_slice(&sum.to_be_bytes());
    });
    out.extend_from_slice(&END);
}

/// Writes the palette: the colours of pixels that are 0 and of those that are 1.
fn write_palette(colors: [Color; 2], out: &mut Vec<u8>) {
    write_chunk(out, b"PLTE", |out| {
        out.extend(colors.iter().flat_map(|color| [color.red, color.green, color.blue]));
    });
    // Entries at the end that are opaque need not be listed.
    let alphas = colors.map(|color| color.alpha);
    let listed = 2 - alphas.iter().rev().take_while(|alpha| **alpha == 255).count();
    if listed > 0 {
        write_chunk(out, b"tRNS", |out| out.extend_from_slice(&alphas[..listed]));
    }
}

/// Describes the picture to `sink`; returns the Adler-32 of its lines. It differs from that of
/// `write_png` in that the symbol need not be square.
fn describe<const S: usize, K: Sink>(modules: Modules<'_>, layout: &Layout, sink: &mut K) -> u32 {
    let above = layout.offset_px;
    let below = layout.size_px - above - layout.symbol_px;
    let light = Line::<S>::light(layout);
    let mut sum = Adler::<S>::new(light.bytes().len());
    sum.add(light.buffer(), above);
    let mut coder = LineCoder::new(sink, Limits::NONE, light.bytes().len(), above);
    let mut lines = [Line::light(layout), Line::light(layout)];
    for y in 0..modules.height() {
        let [line, before] = &mut lines;
        line.draw(&modules.words(y), modules.width(), layout);
        let bytes_before = if y + above == 0 { &[] } else { before.bytes() };
        coder.put_line(line.bytes(), bytes_before, layout.scale_px - 1);
        sum.add(line.buffer(), layout.scale_px);
        lines.swap(0, 1);
    }
    coder.finish(light.bytes(), lines[1].bytes(), below);
    sum.add(light.buffer(), below);
    sum.finish()
}
