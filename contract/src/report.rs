//! What came of it, for people and for programs.

use std::fmt;

use serde::Serialize;

/// What came of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The case's name.
    pub name: String,
    /// Who answered, by its own word.
    pub served_by: Option<String>,
    /// What was not as the contract has it; nothing where all was.
    pub failures: Vec<String>,
}

/// What came of all cases.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What was checked.
    pub base: String,
    /// In the order of the cases.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// How many cases passed, and how many failed.
    pub fn counts(&self) -> (usize, usize) {
        let failed = self.outcomes.iter().filter(|outcome| !outcome.failures.is_empty()).count();
        (self.outcomes.len() - failed, failed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.failures.is_empty()) {
            let by = outcome.served_by.as_deref().unwrap_or("?");
            writeln!(f, "FAILED {} ({by}): {}", outcome.name, outcome.failures.join("; "))?;
        }
        let (passed, failed) = self.counts();
        write!(f, "{passed} passed, {failed} failed")
    }
}

/// Bytes as they can be printed on a line, not too many of them.
pub(crate) fn shorten(bytes: &[u8]) -> String {
    const MOST: usize = 60;
    let shown = &bytes[..bytes.len().min(MOST)];
    let text = match std::str::from_utf8(shown) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("\"{}\"", shown.escape_ascii()),
    };
    if bytes.len() > MOST { format!("{text}... ({} bytes)", bytes.len()) } else { text }
}
