//! Reads the request target: the key, and the number of receivers.

use sha2::{Digest, Sha256};

/// Longest key.
pub const MAX_KEY_BYTES: usize = 1024;
/// Most receivers of one sender.
pub const MAX_RECEIVERS: u8 = 250;
const PREFIX: &str = "/p/";

/// The key of a path: the path as sent, percent-encoded, but without dot segments (RFC 3986, section 5.2.4; `%2e` is a
/// dot) and with one leading slash. `None` if it is not below `/p/`.
pub fn key(path: &str) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.trim_start_matches('/').split('/').peekable();
    while let Some(segment) = segments.next() {
        let dots = dots(segment);
        if dots == Some(2) {
            kept.pop();
        }
        if dots.is_none() {
            kept.push(segment);
        } else if segments.peek().is_none() {
            kept.push("");
        }
    }
    let key = format!("/{}", kept.join("/"));
    (key.len() > PREFIX.len() && key.starts_with(PREFIX)).then_some(key)
}

/// 1 or 2 if the segment is `.` or `..`, with dots plain or percent-encoded.
fn dots(segment: &str) -> Option<usize> {
    if segment.len() > 6 {
        return None;
    }
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    matches!(plain.as_str(), "." | "..").then_some(plain.len())
}

/// The number of receivers in a query: the first `n`, digits only; 1 if there is none. `None` if it is not a number, or
/// more than [`MAX_RECEIVERS`]. The caller must reject 0.
pub fn count(query: &str) -> Option<u8> {
    let Some(pair) = query.split('&').find(|pair| *pair == "n" || pair.starts_with("n=")) else {
        return Some(1);
    };
    let digits = pair.get(2..).unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|&count| count <= MAX_RECEIVERS)
}

/// The first 16 hexadecimal digits of a key's SHA-256.
pub fn digest(key: &str) -> String {
    hex::encode(&Sha256::digest(key.as_bytes())[..8])
}

#[cfg(test)]
mod tests;
