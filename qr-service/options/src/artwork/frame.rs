//! The line around a picture, one module wide.

use super::pixels::rounded;
use crate::options::Frame;
use crate::plan::LINE;

impl Frame {
    /// The radius of the outer corners, in modules.
    pub(super) fn radius(self) -> f64 {
        if self == Frame::Rounded { 2.0 } else { 0.0 }
    }

    /// The share of a pixel that the frame covers, of a picture of this width and height whose modules have `module`
    /// pixels. Above the caption it leaves a square for the symbol.
    pub fn cover(self, (x, y): (usize, usize), size: (usize, usize), module: usize) -> f64 {
        let (x, y, module) = (x as f64 + 0.5, y as f64 + 0.5, module as f64);
        let (half, high) = (size.0 as f64 / 2.0, size.1 as f64 / 2.0);
        let radius = self.radius() * module;
        let outer = rounded((x - half).abs(), (y - high).abs(), (half, high), radius);
        let hole = half - module * f64::from(LINE);
        let inner = rounded((x - half).abs(), (y - half).abs(), (hole, hole), 0.0);
        (0.5 - outer.max(-inner)).clamp(0.0, 1.0)
    }
}
