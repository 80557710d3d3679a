//! Symbol to SVG 1.1: a light square, and one path of the dark modules.

use std::fmt::Write;

use qr_core::{Raster, Symbol};

/// The document; its unit is a module, and it is shown at `raster.size_px` pixels a side.
pub(crate) fn draw(symbol: &Symbol, raster: &Raster) -> String {
    let Raster { size_px, margin_modules } = *raster;
    let side = symbol.size() + 2 * margin_modules as usize;
    // crispEdges: where a module is no whole number of pixels, smoothing would leave seams.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size_px}\" height=\"{size_px}\" \
         viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path d=\"{}\"/></svg>\n",
        dark_runs(symbol, margin_modules as usize)
    )
}

/// A rectangle for each run of dark modules in a row.
fn dark_runs(symbol: &Symbol, margin: usize) -> String {
    let mut path = String::new();
    for y in 0..symbol.size() {
        let mut x = 0;
        while x < symbol.size() {
            let length = (x..symbol.size()).take_while(|&x| symbol.is_dark(x, y)).count();
            if length > 0 {
                let (left, top) = (x + margin, y + margin);
                write!(path, "M{left} {top}h{length}v1H{left}z").expect("a string takes all");
            }
            x += length + 1;
        }
    }
    path
}
