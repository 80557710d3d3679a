//! Symbol to text: two modules a character, one above the other.

use qr_core::Symbol;

/// White on black whatever the terminal's theme is: a symbol in other colours may be too pale, and
/// one of swapped colours is read by few scanners.
const COLOURS: &str = "\x1b[38;5;231;48;5;16m";
const RESET: &str = "\x1b[0m";

/// Lines of characters whose light modules are drawn and whose dark ones are left as background:
/// right on a dark background, and on any where `coloured`.
pub(crate) fn draw(symbol: &Symbol, margin: usize, coloured: bool) -> String {
    let side = symbol.size() + 2 * margin;
    let is_light = |x: usize, y: usize| {
        // In the margin above or left this is out of the symbol, where nothing is dark.
        !symbol.is_dark(x.wrapping_sub(margin), y.wrapping_sub(margin))
    };
    let mut text = String::new();
    for y in (0..side).step_by(2) {
        if coloured {
            text.push_str(COLOURS);
        }
        for x in 0..side {
            // The side is odd, so the last line's lower half is beyond the picture.
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
