//! Entity tags.

use http::HeaderValue;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::engine::Engine;
use crate::hex::write_hex;

/// Makes entity tags from text, version and engine, so a client that has the picture gets its 304
/// without a picture being drawn.
#[derive(Clone, Copy)]
pub(crate) struct Tags {
    seed: u64,
}

impl Tags {
    pub(crate) fn new(engine: Engine) -> Self {
        let maker = format!("{} {engine}", env!("CARGO_PKG_VERSION"));
        Tags { seed: xxh3_64(maker.as_bytes()) }
    }

    /// The strong tag of the picture of `text`: 16 hexadecimal digits, quoted.
    pub(crate) fn of(self, text: &str) -> HeaderValue {
        let hash = xxh3_64_with_seed(text.as_bytes(), self.seed);
        let mut tag = [b'"'; 18];
        write_hex(&hash.to_be_bytes(), &mut tag[1..17]);
        HeaderValue::from_bytes(&tag).unwrap_or(HeaderValue::from_static("\"\""))
    }
}
