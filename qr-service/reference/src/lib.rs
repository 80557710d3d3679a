//! Text to PNG as in the article that this project grew from, to compare `qr-core` with: the `qrcode`
//! crate at level L, and `image`'s PNG encoder. Unlike `qr-core`'s, its picture may be larger than
//! 200 x 200 pixels, and it may use Kanji mode.
//!
//! Source: <https://github.com/pretzelhammer/rust-blog/blob/master/posts/rust-in-non-rust-servers.md>

use std::fmt;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, Luma};
use qrcode::{EcLevel, QrCode};

/// Why [`generate`] failed.
#[derive(Debug)]
pub enum GenerateError {
    /// No symbol holds the text.
    Encode(qrcode::types::QrError),
    /// The picture could not be written.
    Write(image::ImageError),
}

/// Writes the PNG of `text` to `out`, replacing its content and reusing its capacity.
///
/// # Errors
/// [`GenerateError::Encode`] if no symbol holds the text, [`GenerateError::Write`] if the PNG encoder
/// fails.
pub fn generate(text: &str, out: &mut Vec<u8>) -> Result<(), GenerateError> {
    out.clear();
    let code =
        QrCode::with_error_correction_level(text, EcLevel::L).map_err(GenerateError::Encode)?;
    let picture = code.render::<Luma<u8>>().min_dimensions(200, 200).build();
    PngEncoder::new_with_quality(out, CompressionType::Default, FilterType::NoFilter)
        .write_image(picture.as_raw(), picture.width(), picture.height(), ExtendedColorType::L8)
        .map_err(GenerateError::Write)
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenerateError::Encode(error) => error.fmt(f),
            GenerateError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GenerateError {}
