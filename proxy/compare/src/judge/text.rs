//! The judge `text`: UTF-8 text, HTML included, with line ends and trailing whitespace normalised.
//!
//! Before comparing:
//!
//! 1. CR LF and a single CR become LF.
//! 2. Each match of a pattern of `ignore` becomes one character, U+FFFC. So both texts must have a match there.
//! 3. Spaces and tabs before an LF, and before the end of the text, are removed.
//! 4. Line ends at the end of the text are removed.
//!
//! Byte order marks, other Unicode whitespace and letter case are compared as they are. Lines are compared one by one,
//! so if only one side has a certain line, all lines after it differ.

use std::borrow::Cow;

use anyhow::{anyhow, ensure};
use regex::{NoExpand, Regex};

use crate::judge::difference::{DifferenceList, Kind, shortened};
use route::TextSettings;

pub(crate) const KINDS: [Kind; 2] = [Kind::Undecodable, Kind::Text];

/// Replaces an ignored match.
const IGNORED: &str = "\u{fffc}";

/// The patterns of text that is not compared.
#[derive(Debug)]
pub(crate) struct Rules {
    ignore: Vec<Regex>,
}

impl Rules {
    pub(crate) fn new(settings: &TextSettings) -> anyhow::Result<Self> {
        let pattern = |text: &String| {
            let regex = Regex::new(text).map_err(|error| {
                // Keeps only the last line: the lines before it draw the place, which does not fit on one line.
                let error = error.to_string();
                let problem =
                    error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                anyhow!("ignore has `{text}`: {problem}")
            })?;
            ensure!(!regex.is_match(""), "ignore has `{text}`, which matches an empty text");
            Ok(regex)
        };
        Ok(Rules { ignore: settings.ignore.iter().map(pattern).collect::<anyhow::Result<_>>()? })
    }

    pub(crate) fn compare(&self, old: &[u8], new: &[u8], found: &mut DifferenceList) {
        let Some((old, new)) = found.both(self.read(old), self.read(new)) else { return };
        for line in 0..old.len().max(new.len()) {
            if old.get(line) == new.get(line) {
                continue;
            }
            found.add(&Kind::Text, "", || {
                let shown = |lines: &[String]| match lines.get(line) {
                    Some(line) => format!("`{}`", shortened(line)),
                    None => "absent".to_owned(),
                };
                let place = format!("line {}", line + 1);
                let detail = format!("{place}: old {}, new {}", shown(&old), shown(&new));
                (place, detail)
            });
        }
    }

    /// The normalised lines of `body`.
    fn read(&self, body: &[u8]) -> Result<Vec<String>, String> {
        let text = std::str::from_utf8(body)
            .map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
        let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
        for pattern in &self.ignore {
            if let Cow::Owned(replaced) = pattern.replace_all(&text, NoExpand(IGNORED)) {
                text = replaced;
            }
        }
        let line = |line: &str| line.trim_end_matches([' ', '\t']).to_owned();
        let mut lines: Vec<String> = text.split('\n').map(line).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok(lines)
    }
}
