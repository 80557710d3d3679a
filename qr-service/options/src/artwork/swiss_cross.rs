//! The cross in the middle of a QR-bill's symbol. In the style guide of SIX it is a drawing of 7 mm with a white edge;
//! this picture is the black square of 6 mm within it.

use qr_core::Color;

use super::{Area, LogoPixels};

/// Half of a bar's width, and half of its length. A bar's width is 7/36 of the square, the length of an arm 7/6 of that
/// width.
const WIDE: f64 = 7.0 / 72.0;
const LONG: f64 = 35.0 / 108.0;
const LEAST: f64 = 0.5 - LONG;
const MOST: f64 = 0.5 + LONG;
const BEFORE: f64 = 0.5 - WIDE;
const AFTER: f64 = 0.5 + WIDE;

const AREAS: [Area; 2] = [
    (true, &[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]),
    (
        false,
        &[
            (BEFORE, LEAST),
            (AFTER, LEAST),
            (AFTER, BEFORE),
            (MOST, BEFORE),
            (MOST, AFTER),
            (AFTER, AFTER),
            (AFTER, MOST),
            (BEFORE, MOST),
            (BEFORE, AFTER),
            (LEAST, AFTER),
            (LEAST, BEFORE),
            (BEFORE, BEFORE),
        ],
    ),
];

/// The Swiss cross as a logo.
pub(super) struct SwissCross;

impl LogoPixels for SwissCross {
    fn size(&self) -> (u32, u32) {
        (1, 1)
    }

    fn reduced(&self, _: u32, _: u32) -> Box<dyn LogoPixels> {
        Box::new(SwissCross)
    }

    fn color_at(&self, u: f32, v: f32) -> Option<Color> {
        let far = |at: f32| (f64::from(at) - 0.5).abs();
        let is_bar = |along: f32, across: f32| far(along) < LONG && far(across) < WIDE;
        Some(if is_bar(u, v) || is_bar(v, u) { Color::WHITE } else { Color::BLACK })
    }

    fn png(&self) -> Vec<u8> {
        Vec::new()
    }

    fn areas(&self) -> Option<&'static [Area]> {
        Some(&AREAS)
    }
}
