//! The report, as text and as JSON.

use std::fmt;

use serde::Serialize;

/// The outcome of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The case's name.
    pub name: String,
    /// X-Served-By of the answer.
    pub served_by: Option<String>,
    /// What breaks the contract; empty if the case passed.
    pub failures: Vec<String>,
}

/// The outcomes of all cases.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Host and port that were checked.
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

/// Bytes as printable text on one line, cut after 60 bytes.
pub(crate) fn shorten(bytes: &[u8]) -> String {
    const MAX_SHOWN: usize = 60;
    let shown = &bytes[..bytes.len().min(MAX_SHOWN)];
    let text = match std::str::from_utf8(shown) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("\"{}\"", shown.escape_ascii()),
    };
    if bytes.len() > MAX_SHOWN { format!("{text}... ({} bytes)", bytes.len()) } else { text }
}
