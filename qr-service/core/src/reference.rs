//! The function of the article that this project grew from, to the letter, as the point of
//! comparison: the `qrcode` crate at level L, at least 200 x 200 pixels, `image`'s PNG encoder.
//!
//! Source: <https://github.com/pretzelhammer/rust-blog/blob/master/posts/rust-in-non-rust-servers.md>

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, Luma};
use qrcode::{EcLevel, QrCode};

use crate::engine::GenerateError;

pub(crate) fn generate(text: &str, out: &mut Vec<u8>) -> Result<(), GenerateError> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L)
        .map_err(|_| GenerateError::TooLong)?;
    let picture = code.render::<Luma<u8>>().min_dimensions(200, 200).build();
    PngEncoder::new_with_quality(out, CompressionType::Default, FilterType::NoFilter)
        .write_image(picture.as_raw(), picture.width(), picture.height(), ExtendedColorType::L8)
        .map_err(|_| GenerateError::Picture)
}
