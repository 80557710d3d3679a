//! PNG in two colours: a palette of two entries, with their opacity.

use super::deflate::Writer;
use super::huffman::{Codes, Lengths};
use super::search::{self, Stream};
use super::{END, SIGNATURE, write_chunk};
use crate::color::Color;
use crate::modules::Modules;
use crate::raster::{Raster, RasterError};

/// The colours of a PNG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The dark modules.
    pub dark: Color,
    /// The light modules and the quiet zone.
    pub light: Color,
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
    let is_plain = *palette == Palette { dark: Color::BLACK, light: Color::WHITE };
    // Light pixels are 0, as filter types are, if the palette may say so.
    let Stream { elements, sum } = search::find(modules, &layout, if is_plain { 0xff } else { 0 });
    let counts = elements.counts();
    let codes = Codes::new(&Lengths::of_counts(&counts.literals, &counts.distances));
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
        write_palette(palette, out);
    }
    write_chunk(out, b"IDAT", |out| {
        // RFC 1950; see `write_png`.
        out.extend_from_slice(&[0x78, 0x01]);
        let mut writer = Writer::new(&codes, out);
        elements.write(&mut writer);
        writer.finish();
        out.extend_from_slice(&sum.to_be_bytes());
    });
    out.extend_from_slice(&END);
    Ok(())
}

/// Writes the palette: a light pixel is 0, a dark one 1.
fn write_palette(palette: &Palette, out: &mut Vec<u8>) {
    let colors = [palette.light, palette.dark];
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
