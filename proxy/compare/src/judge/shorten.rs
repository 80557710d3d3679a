//! Shortens parts of answers for details.

/// The longest part of an answer in a detail, in characters.
const MAX_CHARS: usize = 60;

/// `text` on one line, cut after 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    cut(text, MAX_CHARS)
}

/// `text` with control characters escaped, so that it stays on one line, cut after `max_chars`.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    let mut chars = text.chars();
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let start: String = chars.by_ref().take(max_chars).map(shown).collect();
    if chars.next().is_some() { start + "…" } else { start }
}
