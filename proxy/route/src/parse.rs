//! Reads TOML files, and reports a mistake in one line.

use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;

/// Reads a file's text. An error is one line that names the line and the field, and says what is expected.
pub fn parse<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    toml::from_str(text).map_err(|error| in_one_line(text, &error))
}

fn in_one_line(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let start = error.span().map(|span| span.start);
    let line = start.map(|at| 1 + text[..at].matches('\n').count());
    // The error of a value does not name the field, so take the name from the beginning of the line.
    let field =
        line.and_then(|line| text.lines().nth(line - 1)).and_then(|line| line.split_once('='));
    let field = field.map_or(String::new(), |(field, _)| format!("{}: ", field.trim()));
    let message = error.message().replace('\n', ": ");
    let field = if message.contains("field `") { String::new() } else { field };
    let line = line.map_or(String::new(), |line| format!("line {line}: "));
    anyhow::anyhow!("{line}{field}{message}")
}

/// The JSON Schema of a file, for editors.
pub fn schema<T: JsonSchema>() -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&schema_for!(T))? + "\n")
}

/// Whether a text can be a header's name (RFC 9110, section 5.6.2).
pub(crate) fn is_header(name: &str) -> bool {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(is_token)
}
