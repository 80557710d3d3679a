//! What a picture shows, by a decoder that belongs to neither implementation.

use bytes::Bytes;
use contract::decode::{Decoded, Pixels, decode_pixels};
use http::StatusCode;

/// Most pixels a side that are decoded. Pictures have 200; a small file can claim billions, and
/// looking for a symbol takes time with every pixel.
pub const MAX_SIDE_PX: u32 = 512;

/// What an implementation answered, as far as it is compared.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its status.
    pub status: StatusCode,
    /// All of its body.
    pub body: Bytes,
    /// What the body shows, where it is to be a picture.
    pub picture: Option<Picture>,
}

/// A picture, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width and height in pixels; `None` where it is not even a whole PNG.
    pub size_px: Option<(usize, usize)>,
    /// Its one symbol, or why none could be read.
    pub symbol: Result<Decoded, String>,
}

impl Picture {
    /// Reads a PNG.
    pub fn read(png: &[u8]) -> Self {
        match Pixels::from_png_within(png, MAX_SIDE_PX) {
            Ok(pixels) => Picture {
                size_px: Some((pixels.width, pixels.height)),
                symbol: decode_pixels(&pixels).map_err(|error| format!("{error:#}")),
            },
            Err(error) => Picture::unreadable(format!("{error:#}")),
        }
    }

    /// A picture that could not be read at all.
    pub fn unreadable(why: String) -> Self {
        Picture { size_px: None, symbol: Err(why) }
    }
}
