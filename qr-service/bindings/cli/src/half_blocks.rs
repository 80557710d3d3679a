//! Sets the terminal's colours around half blocks.

use qr_core::{Ink, Modules, TextStyle, write_half_blocks};

/// White on black, whatever the terminal's theme: other colours may lack contrast, and few scanners
/// read a symbol that is light on dark.
const COLOURS: &str = "\x1b[38;5;231;48;5;16m";
const RESET: &str = "\x1b[0m";

/// Draws the light modules and leaves the dark ones as background, so without `coloured` the text
/// needs a dark background.
pub(crate) fn draw(modules: Modules<'_>, margin_modules: u32, coloured: bool) -> String {
    let mut text = String::new();
    write_half_blocks(modules, &TextStyle { margin_modules, ink: Ink::Light }, &mut text);
    if coloured {
        text = text.lines().map(|line| format!("{COLOURS}{line}{RESET}\n")).collect();
    }
    text
}
