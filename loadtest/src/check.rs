//! Whether what a server answers is right.

use anyhow::{Context, ensure};
use contract::decode;

use crate::server::Server;
use crate::texts;

/// Asks for the first `count` of `texts` and decodes the pictures; gives the mean bytes of
/// one.
///
/// # Errors
/// The first answer that is no picture of what was asked for.
pub fn decodes(server: &Server, texts: &[String], count: usize) -> anyhow::Result<f64> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let (mut pictures, mut bytes) = (0, 0);
    for text in texts.iter().take(count) {
        let mut answer = agent.get(format!("{}{}", server.url, texts::target(text))).call()?;
        let status = answer.status();
        ensure!(status == 200, "{status} for a text of {} bytes", text.len());
        let body = answer.body_mut().read_to_vec()?;
        let decoded = decode::decode_png(&body)
            .with_context(|| format!("the picture of a text of {} bytes", text.len()))?;
        ensure!(decoded.bytes == text.as_bytes(), "a picture of another text than {text:?}");
        pictures += 1;
        bytes += body.len();
    }
    ensure!(pictures > 0, "no texts");
    Ok(bytes as f64 / f64::from(pictures))
}
