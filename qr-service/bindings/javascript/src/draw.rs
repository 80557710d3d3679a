//! Pictures with every option.

use qr_options::{Drawn, draw_json, draw_query};

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// All in one line. Like the faults themselves it does not repeat the text.
    pub message: String,
    /// An array in JSON.
    pub json: String,
}

/// Draws what a query asks for, or the text of a JSON object.
///
/// # Errors
/// Every fault of the options, or why there is no such picture.
pub fn draw(options: &str, is_query: bool) -> Result<Drawn, Faults> {
    let drawn = if is_query { draw_query(options) } else { draw_json(options) };
    drawn.map_err(|faults| {
        let lines = faults.iter().map(ToString::to_string);
        // Strings and numbers always serialise.
        let json = serde_json::to_string(&faults).unwrap_or_default();
        Faults { message: lines.collect::<Vec<_>>().join("; "), json }
    })
}
