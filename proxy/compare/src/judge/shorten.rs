//! Shortens parts of answers for details.

/// The longest part of an answer in a detail, in characters.
const MAX_CHARS: usize = 60;

/// `text` on one line, cut after 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    cut(text, MAX_CHARS)
}

/// `text` with control characters escaped, so that it stays on one line, cut after `max_chars`.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    let mut shown = String::new();
    for (count, char) in text.chars().enumerate() {
        if count == max_chars {
            shown.push('…');
            break;
        }
        if char.is_control() {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    shown
}
