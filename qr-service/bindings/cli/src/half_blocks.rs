//! Draws half blocks, in fixed colours on a terminal.

use qr_core::{Ink, Modules, TextStyle, to_half_blocks};

/// White on black, whatever the terminal's theme. Other colours may lack contrast or show the symbol light on dark,
/// which few scanners read.
const LIGHT_INK: &str = "\x1b[38;5;231;48;5;16m";
/// Black on white, for characters that draw the dark modules.
const DARK_INK: &str = "\x1b[38;5;16;48;5;231m";
const RESET: &str = "\x1b[0m";

/// Draws the modules that the style has ink for, and leaves the others as background. With `coloured` it sets both
/// colours; otherwise the reader's background must have the other colour.
pub(crate) fn draw(modules: Modules<'_>, style: &TextStyle, coloured: bool) -> String {
    let text = to_half_blocks(modules, style);
    if !coloured {
        return text;
    }
    let colours = if style.ink == Ink::Light { LIGHT_INK } else { DARK_INK };
    text.lines().map(|line| format!("{colours}{line}{RESET}\n")).collect()
}
