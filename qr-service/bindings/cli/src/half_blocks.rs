//! Half blocks in fixed colours, for a terminal.

use qr_options::options::InkedModules;

/// White on black, whatever the terminal's theme. Other colours may lack contrast or show the symbol light on dark,
/// which few scanners read.
const LIGHT_INK: &str = "\x1b[38;5;231;48;5;16m";
/// Black on white, for characters that draw the dark modules.
const DARK_INK: &str = "\x1b[38;5;16;48;5;231m";
const RESET: &str = "\x1b[0m";

/// Sets both colours of each line, by the modules that are drawn as characters.
pub(crate) fn coloured(text: &str, ink: InkedModules) -> String {
    let colours = if ink == InkedModules::Light { LIGHT_INK } else { DARK_INK };
    text.lines().map(|line| format!("{colours}{line}{RESET}\n")).collect()
}
