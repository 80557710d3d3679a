//! The texts of the requests: distinct, and of the kinds that people use.

use fastrand::Rng;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// How many texts a run uses in turn.
pub const COUNT: usize = 8192;

/// The report's description of [`mix`].
pub const MIX: &str = "half links of 53 bytes, a fifth short (3 to 20 bytes), a fifth of 100 to 512 \
                       bytes, a tenth UTF-8 of 20 to 200 bytes; 8192 distinct texts";

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const SCRIPTS: &str = "äöüßéèêñçøåžščřабвгдежзиклмн日本語中文字한국어שלוםمرحبا😀🚀✨";

/// Escapes a query as clients do, which leave these characters as they are.
const RAW: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/').remove(b':');

fn pick(rng: &mut Rng, from: &str, count: usize) -> String {
    let letters: Vec<char> = from.chars().collect();
    (0..count).map(|_| letters[rng.usize(..letters.len())]).collect()
}

/// A link of 53 bytes, as in the article.
fn link(rng: &mut Rng) -> String {
    format!("https://example.com/articles/{}", pick(rng, LETTERS, 24))
}

/// A link for the servers that are asked for one picture only.
pub const LINK: &str = "https://example.com/campaign/2026/autumn/0123456789";

/// The texts that [`MIX`] describes, the same in every run.
pub fn mix() -> Vec<String> {
    let mut rng = Rng::with_seed(2);
    let text = |i: usize, rng: &mut Rng| match i % 10 {
        0..5 => link(rng),
        5..7 => {
            let len = rng.usize(3..=20);
            pick(rng, LETTERS, len)
        }
        7..9 => {
            let len = rng.usize(100..=512);
            format!("https://example.com/?q={}", pick(rng, LETTERS, len - 23))
        }
        _ => {
            let len = rng.usize(20..=200);
            let mut text = pick(rng, SCRIPTS, len);
            while text.len() > len {
                text.pop();
            }
            text
        }
    };
    (0..COUNT).map(|i| text(i, &mut rng)).collect()
}

/// The target of `/qrcode`, up to the text.
pub const QRCODE: &str = "/qrcode?text=";

/// The request target for a text; `before` is what precedes it, such as [`QRCODE`].
pub fn target(before: &str, text: &str) -> String {
    format!("{before}{}", utf8_percent_encode(text, RAW))
}

/// The request targets for texts.
pub fn targets(before: &str, texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| target(before, text)).collect()
}
