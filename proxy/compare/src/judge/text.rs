//! The judge `text`: UTF-8 text, with line ends and trailing whitespace normalised.
//!
//! Before comparing:
//!
//! 1. CR LF and a single CR become LF.
//! 2. Spaces and tabs before an LF, and before the end of the text, are removed.
//! 3. Line ends at the end of the text are removed.
//!
//! Nothing else is: neither a byte order mark, nor other Unicode whitespace, nor letter case.

use super::shorten::shortened;
use super::verdict::{Kind, Verdict};

pub(crate) const KINDS: [Kind; 2] = [Kind::Undecodable, Kind::Text];

pub(crate) fn compare(old: &[u8], new: &[u8]) -> Verdict {
    let (old, new) = match (read(old, "old"), read(new, "new")) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(detail), _) | (_, Err(detail)) => {
            return Verdict::different(Kind::Undecodable, detail);
        }
    };
    let lines = old.len().max(new.len());
    match (0..lines).find(|&line| old.get(line) != new.get(line)) {
        None => Verdict::Same,
        Some(line) => {
            let shown = |lines: &[String]| match lines.get(line) {
                Some(line) => format!("`{}`", shortened(line)),
                None => "absent".to_owned(),
            };
            let detail = format!("line {}: old {}, new {}", line + 1, shown(&old), shown(&new));
            Verdict::different(Kind::Text, detail)
        }
    }
}

/// The normalised lines of `body`.
fn read(body: &[u8], side: &str) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(body)
        .map_err(|error| format!("{side} is not UTF-8 at byte {}", error.valid_up_to()))?;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = |line: &str| line.trim_end_matches([' ', '\t']).to_owned();
    let mut lines: Vec<String> = text.split('\n').map(line).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    Ok(lines)
}
