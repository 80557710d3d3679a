//! Sets the terminal's colours around half blocks.

use qr_core::{Ink, Modules, TextStyle, to_half_blocks};

/// White on black, whatever the terminal's theme: other colours may lack contrast, and few scanners
/// read a symbol that is light on dark.
const LIGHT_INK: &str = "\x1b[38;5;231;48;5;16m";
/// Black on white, where the characters draw the dark modules.
const DARK_INK: &str = "\x1b[38;5;16;48;5;231m";
const RESET: &str = "\x1b[0m";

/// Draws the modules that the style has ink for and leaves the others as background, so without `coloured` the text
/// needs a background of the other colour.
pub(crate) fn draw(modules: Modules<'_>, style: &TextStyle, coloured: bool) -> String {
    let text = to_half_blocks(modules, style);
    if !coloured {
        return text;
    }
    let colours = if style.ink == Ink::Light { LIGHT_INK } else { DARK_INK };
    text.lines().map(|line| format!("{colours}{line}{RESET}\n")).collect()
}
