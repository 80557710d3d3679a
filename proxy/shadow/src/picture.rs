//! What an answer shows, read by a decoder that belongs to neither side.

use bytes::Bytes;
use contract::decode::{Decoded, Pixels, decode_pixels};
use http::StatusCode;

/// Largest width and height that are decoded. Pictures have 200 pixels; a small file can claim
/// billions, and the decoder's time grows with every pixel.
const MAX_SIDE_PX: u32 = 512;

/// The parts of an answer that are compared.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// The decoded body; `None` if the contract has no picture in this answer.
    pub(crate) picture: Option<Picture>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    /// Width and height; `None` if the body is not a complete PNG.
    pub(crate) size_px: Option<(usize, usize)>,
    /// The only symbol, or the reason why none could be read.
    pub(crate) symbol: Result<Decoded, String>,
}

impl Picture {
    pub(crate) fn from_png(png: &[u8]) -> Self {
        match Pixels::from_png_within(png, MAX_SIDE_PX) {
            Ok(pixels) => Picture {
                size_px: Some((pixels.width, pixels.height)),
                symbol: decode_pixels(&pixels).map_err(|error| format!("{error:#}")),
            },
            Err(error) => Picture::unreadable(format!("{error:#}")),
        }
    }

    pub(crate) fn unreadable(why: String) -> Self {
        Picture { size_px: None, symbol: Err(why) }
    }
}
