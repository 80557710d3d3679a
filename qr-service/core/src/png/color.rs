//! PNG in two colours: a palette of two entries, with their opacity.

use super::deflate::{Counts, Limits, Writer};
use super::huffman::{Codes, Lengths};
use super::{END, LARGE, SIGNATURE, SMALL, describe, write_chunk, write_png};
use crate::color::Color;
use crate::raster::{Layout, Raster, RasterError};
use crate::symbol::Symbol;

/// The colours of a PNG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The dark modules.
    pub dark: Color,
    /// The light modules and the quiet zone.
    pub light: Color,
}

/// Appends the PNG of `symbol` in these colours to `out`: `raster.size_px` pixels a side, the symbol
/// centred, all modules the same whole number of pixels. Black on white gives the bytes of
/// [`write_png`].
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
pub fn write_palette_png(
    symbol: &Symbol,
    raster: &Raster,
    palette: &Palette,
    out: &mut Vec<u8>,
) -> Result<(), RasterError> {
    if *palette == (Palette { dark: Color::BLACK, light: Color::WHITE }) {
        return write_png(symbol, raster, out);
    }
    let layout = raster.layout(symbol.size())?;
    // Other buffers than `write_png` has, so that the compiler inlines its functions there as if they
    // were not used here.
    match layout.size_px {
        ..=256 => write_picture::<{ SMALL + 16 }>(symbol, &layout, palette, out),
        _ => write_picture::<{ LARGE + 16 }>(symbol, &layout, palette, out),
    }
    Ok(())
}

fn write_picture<const S: usize>(
    symbol: &Symbol,
    layout: &Layout,
    palette: &Palette,
    out: &mut Vec<u8>,
) {
    let Palette { dark, light } = palette;
    let mut counts = Counts::new();
    let sum = describe::<S, _>(symbol, layout, Limits::NONE, &mut counts);
    let codes = Codes::new(&Lengths::of_counts(&counts.literals, &counts.distances));
    out.extend_from_slice(&SIGNATURE);
    write_chunk(out, b"IHDR", |out| {
        let size = (layout.size_px as u32).to_be_bytes();
        out.extend_from_slice(&size);
        out.extend_from_slice(&size);
        // Bit depth 1, palette, deflate, the standard's filters, no interlace.
        out.extend_from_slice(&[1, 3, 0, 0, 0]);
    });
    // A dark pixel is 0, a light one 1.
    write_chunk(out, b"PLTE", |out| {
        out.extend([dark, light].iter().flat_map(|color| [color.red, color.green, color.blue]));
    });
    // Entries at the end that are opaque need not be listed.
    let alphas = [dark.alpha, light.alpha];
    let listed = 2 - alphas.iter().rev().take_while(|alpha| **alpha == 255).count();
    if listed > 0 {
        write_chunk(out, b"tRNS", |out| out.extend_from_slice(&alphas[..listed]));
    }
    write_chunk(out, b"IDAT", |out| {
        out.extend_from_slice(&[0x78, 0x01]);
        let mut writer = Writer::new(&codes, out);
        describe::<S, _>(symbol, layout, Limits::NONE, &mut writer);
        writer.finish();
        out.extend_from_slice(&sum.to_be_bytes());
    });
    out.extend_from_slice(&END);
}
