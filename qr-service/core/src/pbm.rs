//! Portable bitmaps (netpbm's PBM, binary form).

use std::io::Write;

use crate::modules::Modules;
use crate::raster::{Raster, RasterError};

/// Appends a PBM to `out`: `scale_px` pixels a module, a quiet zone of `margin_modules`.
///
/// ```
/// use qr_core::{Level, encode, write_pbm};
///
/// let symbol = encode("text", Level::M)?;
/// let mut pbm = Vec::new();
/// write_pbm(&symbol, 2, 4, &mut pbm)?;
/// assert!(pbm.starts_with(b"P4\n58 58\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RasterError::TooSmall`] if the scale is 0, [`RasterError::TooLarge`] if the picture has more
/// than [`Raster::MAX_SIZE_PX`] a side; `out` is then unchanged.
pub fn write_pbm<'a>(
    modules: impl Into<Modules<'a>>,
    scale_px: u32,
    margin_modules: u32,
    out: &mut Vec<u8>,
) -> Result<(), RasterError> {
    let modules = modules.into();
    let side = |modules: usize| modules as u64 + 2 * u64::from(margin_modules);
    let (width, height) = (side(modules.width()), side(modules.height()));
    if scale_px == 0 {
        let least_px = u32::try_from(width.max(height)).unwrap_or(u32::MAX);
        return Err(RasterError::TooSmall { least_px });
    }
    let side_px = width.max(height).saturating_mul(u64::from(scale_px));
    if side_px > u64::from(Raster::MAX_SIZE_PX) {
        let size_px = u32::try_from(side_px).unwrap_or(u32::MAX);
        return Err(RasterError::TooLarge { size_px, most_px: Raster::MAX_SIZE_PX });
    }
    let (scale, margin) = (scale_px as usize, margin_modules as usize);
    let (width_px, height_px) = (width as usize * scale, height as usize * scale);
    // Writing to a vector cannot fail.
    let _ = write!(out, "P4\n{width_px} {height_px}\n");
    let mut line = vec![0_u8; width_px.div_ceil(8)];
    out.reserve(line.len() * height_px);
    let blank =
        |out: &mut Vec<u8>| out.resize(out.len() + width_px.div_ceil(8) * margin * scale, 0);
    blank(out);
    for row in modules.rows() {
        line.fill(0);
        for (x, _) in row.enumerate().filter(|(_, dark)| *dark) {
            let left = (x + margin) * scale;
            (left..left + scale).for_each(|px| line[px / 8] |= 0x80 >> (px % 8));
        }
        (0..scale).for_each(|_| out.extend_from_slice(&line));
    }
    blank(out);
    Ok(())
}
