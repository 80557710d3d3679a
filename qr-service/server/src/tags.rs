//! Entity tags.

use http::HeaderValue;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::engine::Engine;

/// Makes entity tags from the text, the engine and the version of its output, so the service answers a client
/// that has the picture with 304 without drawing it. A corrected picture gets a new version, so no client
/// keeps the wrong one; a release that draws the same pictures keeps their tags.
#[derive(Clone, Copy)]
pub(crate) struct Tags {
    seed: u64,
}

impl Tags {
    pub(crate) fn new(engine: Engine) -> Self {
        let maker = format!("{} {engine}", engine.output_version());
        Tags { seed: xxh3_64(maker.as_bytes()) }
    }

    /// The strong tag of the picture of `text`: 16 hexadecimal digits, quoted.
    pub(crate) fn of(self, text: &str) -> HeaderValue {
        let hash = xxh3_64_with_seed(text.as_bytes(), self.seed);
        let mut tag = [b'"'; 18];
        // Fails only if there is no room for the digits.
        let _ = hex::encode_to_slice(hash.to_be_bytes(), &mut tag[1..17]);
        HeaderValue::from_bytes(&tag).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

#[cfg(test)]
mod tests;
