//! A route's limit of bodies, if the rest of the app accepts longer ones.
//!
//! nginx compares a body's length with the location's limit before it looks at the method, but a POST to the path of a
//! route that only reads belongs to the app. So the location has the app's limit, a map finds lengths beyond the
//! route's limit, and a body without a length meets the limit of the named location that reads it.

use crate::carve_file::App;
use crate::file::Route;
use crate::units::Size;

pub(super) fn is_needed(app: &App, route: &Route) -> bool {
    app.max_body == Size(0) || app.max_body.0 > route.max_body().0
}

pub(super) fn map(route: &Route) -> String {
    let longer = larger_than(route.max_body().0);
    format!(
        "map $content_length ${}_too_long {{\n    default 0;\n    \"~^0*(?:{longer})$\" 1;\n}}\n",
        route.variable()
    )
}

/// A regular expression for all decimal numbers above `number`.
fn larger_than(number: u64) -> String {
    let digits = number.to_string();
    let longer = format!("[1-9]\\d{{{},}}", digits.len());
    let above = digits.char_indices().filter(|&(_, digit)| digit < '9').map(|(at, digit)| {
        let next = char::from_digit(digit.to_digit(10).unwrap_or(8) + 1, 10).unwrap_or('9');
        format!("{}[{next}-9]\\d{{{}}}", &digits[..at], digits.len() - at - 1)
    });
    above.chain([longer]).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests;
