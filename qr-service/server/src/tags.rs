//! Entity tags.

use http::HeaderValue;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::engine::Engine;
use crate::hex::write_hex;

/// Makes entity tags from the text, the engine and the version of its output, so a client that has the
/// picture gets its 304 without a picture being drawn. A corrected picture has a new version, so nobody
/// keeps the wrong one; a release that draws the same keeps its tags.
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
        let mut tag = [b'"'; 18];
        tag[1..17].copy_from_slice(&self.digits_of(text));
        HeaderValue::from_bytes(&tag).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// The digits of [`Tags::of`].
    pub(crate) fn digits_of(self, text: &str) -> [u8; 16] {
        let hash = xxh3_64_with_seed(text.as_bytes(), self.seed);
        let mut digits = [0; 16];
        write_hex(&hash.to_be_bytes(), &mut digits);
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches of every client hold tags, so they change with [`qr_core::OUTPUT_VERSION`] and no sooner.
    #[test]
    fn tags_of_an_output_version_stay() {
        assert_eq!(qr_core::OUTPUT_VERSION, 1, "add the tag of the new version here");
        assert_eq!(Tags::new(Engine::Default).of("a"), "\"42caf20920714142\"");
    }
}
