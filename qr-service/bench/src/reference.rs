//! Text to PNG as in the article that this project grew from, for comparison with `qr-core`: the `qrcode`
//! crate at level L, and `image`'s PNG encoder. Unlike `qr-core`'s, its picture may be larger than
//! 200 x 200 pixels, and its symbol may use Kanji mode.
//!
//! Source: <https://github.com/pretzelhammer/rust-blog/blob/master/posts/rust-in-non-rust-servers.md>

use std::error::Error;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, Luma};
use qrcode::{EcLevel, QrCode};

/// Writes the PNG of `text` to `out`, replacing its content and reusing its capacity. Fails if no symbol holds the
/// text, or the PNG encoder fails.
pub fn generate(text: &str, out: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
    out.clear();
    let code = QrCode::with_error_correction_level(text, EcLevel::L)?;
    let picture = code.render::<Luma<u8>>().min_dimensions(200, 200).build();
    PngEncoder::new_with_quality(out, CompressionType::Default, FilterType::NoFilter).write_image(
        picture.as_raw(),
        picture.width(),
        picture.height(),
        ExtendedColorType::L8,
    )?;
    Ok(())
}
