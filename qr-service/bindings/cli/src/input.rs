//! Where the text comes from.

use std::io::Read;

use anyhow::{Context, bail};

/// No symbol holds a longer text: version 40 at level L has 7089 digits, and less of all else.
const MAX_TEXT_BYTES: u64 = 7089;

pub(crate) enum Source {
    Argument(String),
    Stdin { keep_newline: bool },
}

/// The text to encode, which is not empty: an empty one is an unset variable more often than not.
pub(crate) fn read(source: &Source) -> anyhow::Result<String> {
    let text = match source {
        Source::Argument(text) => text.clone(),
        Source::Stdin { keep_newline } => read_stdin(*keep_newline)?,
    };
    if text.is_empty() {
        bail!("the text is empty");
    }
    Ok(text)
}

fn read_stdin(keep_newline: bool) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    // One more for the newline, and one to see that there is more: what never ends is not read on.
    let limit = MAX_TEXT_BYTES + 2;
    std::io::stdin().lock().take(limit).read_to_end(&mut bytes).context("cannot read the text")?;
    if bytes.len() as u64 == limit {
        bail!("standard input is longer than the {MAX_TEXT_BYTES} bytes that a QR code can hold");
    }
    if !keep_newline && bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("standard input is not UTF-8: byte {at} and what follows is no character")
    })
}
