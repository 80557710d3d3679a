//! Reads the text or bytes to encode.

use std::io::Read;

use anyhow::{Context, bail};
use qr_core::MAX_TEXT_BYTES;
use qr_options::plan::Content;

pub(crate) enum Source {
    Argument(String),
    Stdin {
        keep_newline: bool,
    },
    /// The bytes of standard input, which may be anything.
    Bytes,
}

/// Reads the text or bytes to encode, for at most `most_symbols` symbols. Fails if the input cannot be read, is too
/// long or not UTF-8, or is empty, which usually means an unset variable.
pub(crate) fn read(source: &Source, most_symbols: usize) -> anyhow::Result<Content> {
    let input = match source {
        Source::Argument(text) => Content::Text(text.clone()),
        Source::Stdin { keep_newline } => Content::Text(read_text(*keep_newline, most_symbols)?),
        Source::Bytes => Content::Bytes(read_stdin(most_symbols)?),
    };
    match &input {
        Content::Text(text) if text.is_empty() => bail!("the text is empty"),
        Content::Bytes(bytes) if bytes.is_empty() => bail!("standard input is empty"),
        _ => Ok(input),
    }
}

fn read_stdin(most_symbols: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = most_symbols * MAX_TEXT_BYTES;
    // Two more bytes than the symbols hold: one for the newline, and one that shows that the input is too long.
    let limit = most + 2;
    let mut limited = std::io::stdin().lock().take(limit as u64);
    limited.read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() == limit {
        let symbols = match most_symbols {
            1 => "a QR code".to_owned(),
            count => format!("{count} QR codes"),
        };
        bail!("standard input is longer than the {most} bytes that {symbols} can hold");
    }
    Ok(bytes)
}

fn read_text(keep_newline: bool, most_symbols: usize) -> anyhow::Result<String> {
    let mut bytes = read_stdin(most_symbols)?;
    if !keep_newline && bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!(
            "standard input is not UTF-8: invalid byte at offset {at}; --bytes encodes any bytes"
        )
    })
}
