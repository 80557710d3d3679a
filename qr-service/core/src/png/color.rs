//! PNG in two colours: a palette of two entries, with their opacity.

#[cfg(feature = "zopfli")]
use std::num::NonZeroU64;

use super::checksum::Adler;
use super::deflate::{Counts, Elements, Limits, LineCoder, Sink, Writer};
use super::huffman::{Codes, Lengths};
use super::repeats::{self, Repeats};
use super::{END, LARGE, MIDDLE, SIGNATURE, SMALL, write_chunk};
use crate::color::Color;
use crate::error::Error;
use crate::modules::Modules;
use crate::raster::{Layout, Line, Raster};

/// The colours of a PNG.
#[doc = example!(
    let palette = Palette::new(Color::rgb(0, 51, 102), Color::TRANSPARENT);
    assert_eq!(palette.dark.alpha, 255);
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Palette {
    /// The dark modules.
    pub dark: Color,
    /// The light modules and the quiet zone.
    pub light: Color,
}

impl Palette {
    /// A palette of these colours.
    #[doc = example!(assert_eq!(Palette::new(Color::BLACK, Color::WHITE).light, Color::WHITE))]
    pub const fn new(dark: Color, light: Color) -> Self {
        Palette { dark, light }
    }

    /// Whether the picture is black on white, which PNG can store without a palette.
    fn is_black_on_white(&self) -> bool {
        *self == Palette { dark: Color::BLACK, light: Color::WHITE }
    }
}

/// Appends the PNG of a symbol of any kind in these colours to `out`: `raster.size_px` pixels wide, the
/// symbol centred, all modules the same whole number of pixels. If the symbol is not square, the margin
/// above and below it is as wide as at its sides. Black on white is written as grey, without a palette.
#[doc = example!(symbol:
    let palette = Palette::new(Color::rgb(0, 51, 102), Color::TRANSPARENT);
    let mut png = Vec::new();
    write_palette_png(&symbol, &Raster::of_scale(&symbol, 8, 4), &palette, &mut png)?;
    assert!(png.starts_with(b"\x89PNG"));
)]
///
/// # Errors
/// [`Error::SizeTooSmall`] or [`Error::SizeTooLarge`]; `out` is then unchanged.
pub fn write_palette_png<'a>(
    modules: impl Into<Modules<'a>>,
    raster: &Raster,
    palette: &Palette,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let modules = modules.into();
    // No symbol is higher than it is wide.
    let layout = raster.layout(modules.width())?;
    // Buffers of other sizes than in `write_png`, so that the compiler inlines the functions there as if
    // nothing here called them.
    match layout.size_px {
        ..=256 => write_picture::<{ SMALL + 16 }>(modules, &layout, palette, out),
        257..=1024 => write_picture::<{ MIDDLE + 16 }>(modules, &layout, palette, out),
        _ => write_picture::<{ LARGE + 16 }>(modules, &layout, palette, out),
    }
    Ok(())
}

/// The most bytes of pixels that Zopfli gets: for larger pictures it would take seconds.
#[cfg(feature = "zopfli")]
const MAX_ZOPFLI_BYTES: usize = 40 * 1024;
/// Takes a third of the time of Zopfli's default, for nearly as few bytes.
#[cfg(feature = "zopfli")]
const ITERATIONS: NonZeroU64 = NonZeroU64::new(5).unwrap();

/// Appends the same picture as [`write_palette_png`], compressed by Zopfli if that makes it smaller. This takes up to
/// 0.3 s. A picture of more than about 570 pixels a side gets the bytes of [`write_palette_png`].
///
/// ```
/// use qr_core::{Color, Level, Palette, Raster, encode, write_palette_png, write_smallest_png};
///
/// let symbol = encode("text", Level::M)?;
/// let palette = Palette::new(Color::BLACK, Color::WHITE);
/// let raster = Raster::of_scale(&symbol, 1, 4);
/// let (mut usual, mut smallest) = (Vec::new(), Vec::new());
/// write_palette_png(&symbol, &raster, &palette, &mut usual)?;
/// write_smallest_png(&symbol, &raster, &palette, &mut smallest)?;
/// assert!(smallest.len() < usual.len());
/// # Ok::<(), qr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::SizeTooSmall`] or [`Error::SizeTooLarge`]; `out` is then unchanged.
#[cfg(feature = "zopfli")]
pub fn write_smallest_png<'a>(
    modules: impl Into<Modules<'a>>,
    raster: &Raster,
    palette: &Palette,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let modules = modules.into();
    let layout = raster.layout(modules.width())?;
    let start = out.len();
    write_palette_png(modules, raster, palette, out)?;
    if layout.line_len() * layout.height_px(modules.height()) > MAX_ZOPFLI_BYTES {
        return Ok(());
    }
    let mut lines = Inflated(Vec::new());
    let sum = describe::<LARGE, _>(modules, &layout, &mut lines);
    let (mut packed, mut smallest) = (Vec::new(), Vec::new());
    let options = zopfli::Options { iteration_count: ITERATIONS, ..Default::default() };
    let format = zopfli::Format::Deflate;
    // Writing to memory does not fail.
    if zopfli::compress(options, format, lines.0.as_slice(), &mut packed).is_ok() {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(&packed);
        write_file(modules, &layout, palette, sum, &mut smallest, write);
        if smallest.len() < out.len() - start {
            out.truncate(start);
            out.append(&mut smallest);
        }
    }
    Ok(())
}

/// Expands the elements of a stream to the bytes that they stand for.
#[cfg(feature = "zopfli")]
struct Inflated(Vec<u8>);

#[cfg(feature = "zopfli")]
impl Sink for Inflated {
    fn literal(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn repeat(&mut self, len: usize, distance: usize) {
        (0..len).for_each(|_| self.0.push(self.0[self.0.len() - distance]));
    }
}

fn write_picture<const S: usize>(
    modules: Modules<'_>,
    layout: &Layout,
    palette: &Palette,
    out: &mut Vec<u8>,
) {
    if repeats::are_worth_it(layout) {
        let mut repeats = Repeats::new(layout, modules.height());
        let sum = describe::<S, _>(modules, layout, &mut repeats);
        let write = |writer: &mut Writer<'_>| repeats.describe(writer);
        return write_elements(modules, layout, palette, &repeats.counts, sum, write, out);
    }
    let mut elements = Elements::new();
    let sum = describe::<S, _>(modules, layout, &mut elements);
    let write = |writer: &mut Writer<'_>| elements.describe(writer);
    write_elements(modules, layout, palette, &elements.counts, sum, write, out);
}

/// Writes the picture from the elements that `write` describes, with Huffman codes from their counts.
fn write_elements(
    modules: Modules<'_>,
    layout: &Layout,
    palette: &Palette,
    counts: &Counts,
    sum: u32,
    write: impl FnOnce(&mut Writer<'_>),
    out: &mut Vec<u8>,
) {
    let codes = Codes::new(&Lengths::of_counts(&counts.literals, &counts.distances));
    write_file(modules, layout, palette, sum, out, |out| {
        let mut writer = Writer::new(&codes, out);
        write(&mut writer);
        writer.finish();
    });
}

/// Writes all but the deflate stream, which `write` appends; `sum` is the Adler-32 of the lines.
fn write_file(
    modules: Modules<'_>,
    layout: &Layout,
    palette: &Palette,
    sum: u32,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let is_grey = palette.is_black_on_white();
    out.extend_from_slice(&SIGNATURE);
    write_chunk(out, b"IHDR", |out| {
        out.extend_from_slice(&(layout.size_px as u32).to_be_bytes());
        out.extend_from_slice(&(layout.height_px(modules.height()) as u32).to_be_bytes());
        // Bit depth 1, grey or palette, deflate, the standard's filters, no interlace.
        out.extend_from_slice(&[1, if is_grey { 0 } else { 3 }, 0, 0, 0]);
    });
    if !is_grey {
        write_palette(palette, out);
    }
    write_chunk(out, b"IDAT", |out| {
        // RFC 1950; see `write_png`.
        out.extend_from_slice(&[0x78, 0x01]);
        write(out);
        out.extend_from_slice(&sum.to_be_bytes());
    });
    out.extend_from_slice(&END);
}

/// Writes the palette: dark pixels are 0, light ones 1.
fn write_palette(Palette { dark, light }: &Palette, out: &mut Vec<u8>) {
    let colors = [*dark, *light];
    write_chunk(out, b"PLTE", |out| {
        out.extend(colors.iter().flat_map(|color| [color.red, color.green, color.blue]));
    });
    // `tRNS` may leave out opaque entries at the end.
    let alphas = colors.map(|color| color.alpha);
    let listed = 2 - alphas.iter().rev().take_while(|alpha| **alpha == 255).count();
    if listed > 0 {
        write_chunk(out, b"tRNS", |out| out.extend_from_slice(&alphas[..listed]));
    }
}

/// Describes the picture to `sink`; returns the Adler-32 of its lines. Unlike the function of `write_png`
/// it accepts symbols that are not square.
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
