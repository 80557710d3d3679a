//! Checks that a server's answers are right.

use std::time::Duration;

use anyhow::{Context, ensure};
use contract::decode;
use stack::http;

use crate::server::Server;
use crate::texts;

/// Checks that `png` is a picture of `text`.
///
/// # Errors
/// If it cannot be decoded, or decodes to another text.
pub fn is_picture_of(png: &[u8], text: &str) -> anyhow::Result<()> {
    let decoded = decode::decode_png(png)?;
    ensure!(decoded.bytes == text.as_bytes(), "a picture of another text");
    Ok(())
}

/// Requests pictures of the first `count` of `texts`, decodes them, and returns their mean bytes.
///
/// # Errors
/// The first answer that is not the right picture.
pub fn decodes(server: &Server, texts: &[String], count: usize) -> anyhow::Result<f64> {
    let client = http::client(Duration::from_secs(30));
    let texts = &texts[..count.min(texts.len())];
    ensure!(!texts.is_empty(), "no texts");
    let mut bytes = 0;
    for text in texts {
        let target = texts::target(server.target, text);
        let answer = http::get(&client, &format!("{}{target}", server.url), &[])?;
        ensure!(answer.status == 200, "{} for a text of {} bytes", answer.status, text.len());
        is_picture_of(&answer.body, text).with_context(|| text.clone())?;
        bytes += answer.body.len();
    }
    Ok(bytes as f64 / texts.len() as f64)
}
