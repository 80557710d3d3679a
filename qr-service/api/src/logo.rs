//! The file of a logo that a client sends, decoded within bounds.

use image::{DynamicImage, RgbaImage};

use crate::fault::{Code, Fault};
use crate::upload;

/// The most pixels of a logo. Decoded they take 4 MB, and no more than there are workers are decoded at
/// once.
const MAX_PIXELS: u64 = 1_000_000;
/// The longest file of a logo.
pub(crate) const MAX_BYTES: usize = 262_144;

/// Decodes a file.
///
/// # Errors
/// If it is too long, no picture, or has too many pixels.
pub(crate) fn decode(file: &[u8]) -> Result<RgbaImage, Fault> {
    if file.len() > MAX_BYTES {
        let detail = format!("it has {} bytes", file.len());
        return Err(Fault::new("logo", Code::OutOfRange, detail).at_most(MAX_BYTES as u32));
    }
    let image = upload::open(file, MAX_PIXELS).map(DynamicImage::into_rgba8);
    image.map_err(|detail| Fault::new("logo", Code::Malformed, detail))
}
