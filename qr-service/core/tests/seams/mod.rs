//! Symbols to draw, and a check for the seams that some programs leave between modules: grey within areas of one
//! colour.

use qr_core::{Level, Symbol, encode};

use crate::zxing::Picture;

/// The quiet zone of the pictures, in modules.
pub(crate) const MARGIN: f64 = 4.0;

/// How many pixels beyond an edge a program with exact coverage may colour: it colours only pixels that the edge
/// crosses, with some room for rounding.
pub(crate) const EXACT: f64 = 0.1;

/// Checks that each pixel within modules of one colour, and at least `reach_px` away from modules of the other, has
/// this colour. A module has `scale` pixels.
pub(crate) fn assert_no_seams(symbol: &Symbol, drawn: &Picture, scale: f64, reach_px: f64) {
    let dark_at = |x: f64, y: f64| {
        let (x, y) = (x / scale - MARGIN, y / scale - MARGIN);
        x >= 0.0 && y >= 0.0 && symbol.is_dark(x as usize, y as usize)
    };
    let (near, far) = (-reach_px, 1.0 + reach_px);
    let mut seen = [0, 0];
    for (i, &grey) in drawn.grey.iter().enumerate() {
        let (x, y) = ((i % drawn.width) as f64, (i / drawn.width) as f64);
        let corners = [(near, near), (far, near), (near, far), (far, far)];
        let corners = corners.map(|(dx, dy)| dark_at(x + dx, y + dy));
        if corners.iter().all(|dark| *dark == corners[0]) {
            assert_eq!(grey, if corners[0] { 0 } else { 255 }, "{x} {y} of {}", drawn.width);
            seen[usize::from(corners[0])] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

/// Symbols of many sizes.
pub(crate) fn symbols() -> Vec<(String, Symbol)> {
    [1, 17, 60, 300, 1200, 2953]
        .map(|length| {
            let text: String = ('a'..='z').cycle().take(length).collect();
            let symbol = encode(&text, Level::L).unwrap();
            (text, symbol)
        })
        .into()
}
