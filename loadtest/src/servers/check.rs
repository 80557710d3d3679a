//! Checks that a server's answers are right.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use carve::local::http;
use contract::decode;

use crate::servers::rows::{Answers, Row};
use crate::servers::server::{BODY, Server};
use crate::texts;

/// How many of the first texts are decoded before and after the load; a hundred have the whole mix.
pub const CHECKED: usize = 100;

/// Checks that `png` is a picture of `text`. Fails if it cannot be decoded, or decodes to another text.
pub fn is_picture_of(png: &[u8], text: &str) -> anyhow::Result<()> {
    let decoded = decode::decode_png(png)?;
    ensure!(decoded.bytes == text.as_bytes(), "a picture of another text");
    Ok(())
}

/// Checks what a row's server answers; returns the mean bytes of a body. Pictures of [`CHECKED`] of the texts are
/// decoded. Fails with the first answer that is not right.
pub fn check(server: &Server, row: &Row, texts: &[String]) -> anyhow::Result<f64> {
    let client = http::client(Duration::from_secs(30));
    let ask = |text: &str| {
        let target = texts::target(row.target, text);
        let answer = http::get(&client, &format!("{}{target}", server.url), &[])?;
        ensure!(answer.status == 200, "{} for a text of {} bytes", answer.status, text.len());
        Ok(answer)
    };
    if row.answers != Answers::Pictures {
        // Twice over one connection.
        for _ in 0..2 {
            is_same(&ask("")?, row.answers)?;
        }
        return Ok(BODY.len() as f64);
    }
    let texts = &texts[..CHECKED.min(texts.len())];
    let mut bytes = 0;
    for text in texts {
        let answer = ask(text)?;
        is_picture_of(&answer.body, text).with_context(|| text.clone())?;
        bytes += answer.body.len();
    }
    Ok(bytes as f64 / texts.len() as f64)
}

/// Checks that a row's answer is the same as the others', so that none is faster because it sends less.
fn is_same(answer: &http::HttpReply, answers: Answers) -> anyhow::Result<()> {
    const SAME: [(&str, &str); 2] = [("content-type", "image/png"), ("content-length", "420")];
    for (name, value) in SAME {
        ensure!(answer.header(name) == value, "{name} is {:?}, not {value}", answer.header(name));
    }
    let date = answer.header("date");
    ensure!(date.len() == 29 && date.ends_with(" GMT"), "the date is {date:?}");
    ensure!(answer.body == BODY, "another body, of {} bytes", answer.body.len());
    if answers == Answers::Same && answer.headers.len() > SAME.len() + 1 {
        bail!("more headers than the other rows: {:?}", answer.headers);
    }
    Ok(())
}
