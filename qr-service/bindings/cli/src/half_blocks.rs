//! Draws a symbol as text: one character shows two modules, one above the other.

use qr_core::Symbol;

/// White on black, whatever the terminal's theme: other colours may lack contrast, and few scanners
/// read a symbol that is light on dark.
const COLOURS: &str = "\x1b[38;5;231;48;5;16m";
const RESET: &str = "\x1b[0m";

/// Draws the light modules and leaves the dark ones as background, so without `coloured` the text
/// needs a dark background.
pub(crate) fn draw(symbol: &Symbol, margin: usize, coloured: bool) -> String {
    let side = symbol.size() + 2 * margin;
    let is_light = |x: usize, y: usize| {
        // Above or left of the symbol this wraps to a huge coordinate, which is not dark either.
        !symbol.is_dark(x.wrapping_sub(margin), y.wrapping_sub(margin))
    };
    let mut text = String::new();
    for y in (0..side).step_by(2) {
        if coloured {
            text.push_str(COLOURS);
        }
        for x in 0..side {
            // `side` is odd, so the lower half of the last line lies outside of the picture.
            text.push(match (is_light(x, y), y + 1 < side && is_light(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        if coloured {
            text.push_str(RESET);
        }
        text.push('\n');
    }
    text
}
