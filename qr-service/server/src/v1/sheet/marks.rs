//! Marks that help to cut a sheet and to set up a printer.

use super::{Layout, POINTS};
use crate::v1::document::{FONT, put};

/// Length of a crop mark, in millimetres.
const CROP_MM: f64 = 2.0;
/// Font size of a ruler's numbers, in points.
const NUMBER_PT: f64 = 6.0;

/// Appends a thin line between two points.
fn line(content: &mut Vec<u8>, from: (f64, f64), to: (f64, f64)) {
    let ((x, y), (to_x, to_y)) = (from, to);
    put(content, format_args!("{x:.4} {y:.4} m {to_x:.4} {to_y:.4} l\n"));
}

impl Layout {
    /// Appends crop marks, which extend the edges of a label beyond its corners.
    pub(super) fn put_crop_marks(&self, (left, top): (f64, f64), content: &mut Vec<u8>) {
        let length = CROP_MM * POINTS;
        let (right, bottom) = (left + self.label.0, top - self.label.1);
        put(content, format_args!("0.25 w\n"));
        for (x, dx) in [(left, -length), (right, length)] {
            for (y, dy) in [(top, length), (bottom, -length)] {
                line(content, (x, y), (x + dx, y));
                line(content, (x, y), (x, y + dy));
            }
        }
        put(content, format_args!("S\n"));
    }

    /// The content of a test sheet: the frame of each label, and two rulers in millimetres from the left and the upper
    /// edge of the page.
    pub(crate) fn test_page(&self) -> Vec<u8> {
        let mut content = Vec::new();
        self.adjust(&mut content);
        put(&mut content, format_args!("0.25 w\n"));
        for index in 0..self.per_page() {
            let (left, top) = self.corner(index);
            let (width, height) = self.label;
            put(&mut content, format_args!("{left:.4} {top:.4} {width:.4} -{height:.4} re\n"));
        }
        let (middle, across) = (self.page.0 / 2.0, self.page.1 / 2.0);
        let (mut numbers, mut millimetre) = (Vec::new(), 0_u32);
        while f64::from(millimetre) * POINTS <= self.page.0.max(self.page.1) {
            let (at, from_top) =
                (f64::from(millimetre) * POINTS, self.page.1 - f64::from(millimetre) * POINTS);
            let tick = POINTS * if millimetre.is_multiple_of(10) { 4.0 } else { 2.0 };
            line(&mut content, (at, across), (at, across + tick));
            line(&mut content, (middle, from_top), (middle + tick, from_top));
            if millimetre.is_multiple_of(10) {
                for (x, y) in [(at, across + tick), (middle + tick, from_top)] {
                    put(
                        &mut numbers,
                        format_args!(
                            "BT /{FONT} {NUMBER_PT} Tf {x:.4} {y:.4} Td ({millimetre}) Tj ET\n"
                        ),
                    );
                }
            }
            millimetre += 1;
        }
        put(&mut content, format_args!("S\n"));
        content.extend_from_slice(&numbers);
        content.extend_from_slice(b"Q\n");
        content
    }
}
