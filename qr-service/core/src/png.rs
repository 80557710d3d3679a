//! Symbol to PNG, RFC 2083: greyscale of one bit, dark 0, light 1.

use crate::raster::{Raster, RasterError};
use crate::symbol::Symbol;

/// Appends the PNG of `symbol` to `out`: `raster.size_px` pixels a side, modules of one whole
/// number of pixels, centred.
///
/// # Errors
/// [`RasterError`] where the symbol does not fit; `out` is then as it was.
pub fn write_png(symbol: &Symbol, raster: &Raster, out: &mut Vec<u8>) -> Result<(), RasterError> {
    let layout = raster.layout(symbol.size())?;
    let stride = layout.size_px.div_ceil(8);
    let mut pixels = vec![0xff_u8; stride * layout.size_px];
    for (y, line) in pixels.chunks_mut(stride).enumerate().skip(layout.offset_px) {
        for x in layout.offset_px..layout.size_px {
            let module = |at: usize| (at - layout.offset_px) / layout.scale_px;
            if symbol.is_dark(module(x), module(y)) {
                line[x / 8] &= !(0x80 >> (x % 8));
            }
        }
    }
    let mut encoder = png::Encoder::new(&mut *out, raster.size_px, raster.size_px);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_filter(png::Filter::NoFilter);
    // Writing to a Vec cannot fail, and the buffer has the size that the header says.
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .expect("a PNG in memory");
    Ok(())
}
