//! Portable bitmaps (netpbm's PBM, binary form).

use std::io::Write;

use crate::error::Error;
use crate::modules::Modules;
use crate::raster::{Line, Raster};

/// Room for a line of the largest picture.
const ROOM: usize = Raster::MAX_SIZE_PX as usize / 8 + 16;

/// Appends a PBM to `out`, with the same pixels as [`write_png`](crate::write_png).
#[doc = example!(symbol:
    let mut pbm = Vec::new();
    write_pbm(&symbol, &Raster::of_scale(&symbol, 2, 4), &mut pbm)?;
    assert!(pbm.starts_with(b"P4\n58 58\n"));
)]
///
/// # Errors
/// [`Error::SizeTooSmall`] or [`Error::SizeTooLarge`]; `out` is then unchanged.
pub fn write_pbm<'a>(
    modules: impl Into<Modules<'a>>,
    raster: &Raster,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let modules = modules.into();
    let layout = raster.layout(modules.width())?;
    let height_px = layout.height_px(modules.height());
    // Writing to a vector cannot fail.
    let _ = write!(out, "P4\n{} {height_px}\n", layout.size_px);
    out.reserve((layout.line_len() - 1) * height_px);
    let mut put = |line: &Line<ROOM>, times: usize| {
        // Without PNG's filter type. Dark is 1 in PBM.
        let pixels = &line.bytes()[1..];
        (0..times).for_each(|_| out.extend(pixels.iter().map(|byte| !byte)));
    };
    let mut line = Line::light(&layout);
    put(&line, layout.offset_px);
    for y in 0..modules.height() {
        line.draw(&modules.words(y), modules.width(), &layout);
        put(&line, layout.scale_px);
    }
    put(&Line::light(&layout), layout.size_px - layout.offset_px - layout.symbol_px);
    Ok(())
}
