//! Reads the text to encode.

use std::io::Read;

use anyhow::{Context, bail};
use qr_core::MAX_TEXT_BYTES;

pub(crate) enum Source {
    Argument(String),
    Stdin { keep_newline: bool },
}

/// Reads the text. Refuses an empty one: it usually comes from an unset variable.
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
    // Two more than a symbol holds: one for the newline, one that shows the input to be too long.
    let limit = MAX_TEXT_BYTES + 2;
    let mut limited = std::io::stdin().lock().take(limit as u64);
    limited.read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() == limit {
        bail!("standard input is longer than the {MAX_TEXT_BYTES} bytes that a QR code can hold");
    }
    if !keep_newline && bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("standard input is not UTF-8: invalid byte at offset {at}")
    })
}
