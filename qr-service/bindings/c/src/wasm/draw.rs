//! The function `generate`, in terms of slices instead of pointers.

use qr_core::{Error, Level, Raster};

/// Why there is no picture, as `generate` returns it: the numbers of `qr.h`, negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Failure {
    /// A pointer is null.
    NullPointer = -1,
    /// The text is not UTF-8.
    NotUtf8 = -2,
    /// The text does not fit a QR code at this level.
    TextTooLong = -3,
    /// Modules would be smaller than a pixel.
    SizeTooSmall = -4,
    /// `size_px` is above 16384.
    SizeTooLarge = -5,
    /// The level is not 0, 1, 2 or 3.
    UnknownLevel = -6,
    /// The picture does not fit the buffer, which is smaller than `max_png_bytes`.
    BufferTooSmall = -7,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::TooLong { .. } => Failure::TextTooLong,
            Error::SizeTooSmall { .. } => Failure::SizeTooSmall,
            _ => Failure::SizeTooLarge,
        }
    }
}

/// Room for most pictures of 200 px, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 2048;

pub(crate) fn draw(text: &[u8], raster: Raster, level: u32) -> Result<Vec<u8>, Failure> {
    let text = str::from_utf8(text).map_err(|_| Failure::NotUtf8)?;
    let level = *Level::ALL.get(level as usize).ok_or(Failure::UnknownLevel)?;
    let mut png = Vec::with_capacity(USUAL_BYTES);
    qr_core::generate(text, level, &raster, &mut png)?;
    Ok(png)
}
