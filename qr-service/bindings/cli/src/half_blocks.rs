//! Sets the terminal's colours around half blocks.

use qr_core::{Ink, Symbol, TextStyle, write_half_blocks};

/// White on black, whatever the terminal's theme: other colours may lack contrast, and few scanners
/// read a symbol that is light on dark.
const COLOURS: &str = "\x1b[38;5;231;48;5;16m";
const RESET: &str = "\x1b[0m";

/// Draws the light modules and leaves the dark ones as background, so without `coloured` the text
/// needs a dark background.
pub(crate) fn draw(symbol: &Symbol, margin_modules: u32, coloured: bool) -> String {
    let mut text = String::new();
    write_half_blocks(symbol, &TextStyle { margin_modules, ink: Ink::Light }, &mut text);
    if coloured {
        text = text.lines().map(|line| format!("{COLOURS}{line}{RESET}\n")).collect();
    }
    text
}
