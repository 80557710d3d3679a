//! Draws a symbol as SVG 1.1: a light square, and one path of the dark modules.

use std::fmt::Write;

use qr_core::{Raster, Symbol};

/// Draws the document: its unit is one module, and `raster.size_px` is its width and height.
pub(crate) fn draw(symbol: &Symbol, raster: &Raster) -> String {
    let Raster { size_px, margin_modules, .. } = *raster;
    let side = symbol.size() + 2 * margin_modules as usize;
    // crispEdges: without it, smoothing leaves seams between modules of fractional pixels.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size_px}\" height=\"{size_px}\" \
         viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path d=\"{}\"/></svg>\n",
        dark_runs(symbol, margin_modules as usize)
    )
}

/// Writes one rectangle for each run of dark modules in a row.
fn dark_runs(symbol: &Symbol, margin: usize) -> String {
    let mut path = String::new();
    for y in 0..symbol.size() {
        let mut x = 0;
        while x < symbol.size() {
            let length = (x..symbol.size()).take_while(|&x| symbol.is_dark(x, y)).count();
            if length > 0 {
                let (left, top) = (x + margin, y + margin);
                write!(path, "M{left} {top}h{length}v1H{left}z").expect("a string takes it");
            }
            x += length + 1;
        }
    }
    path
}
