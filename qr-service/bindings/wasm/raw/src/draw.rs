//! What the interface does, without a pointer.

use qr_core::{EncodeError, Level, Raster, RasterError, encode, write_png};

/// Why there is no picture: what `generate` returns. The numbers are those of `qr.h`, below 0.
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
    /// More than 16384 pixels a side.
    SizeTooLarge = -5,
    /// The level is none of 0 to 3.
    UnknownLevel = -6,
    /// The picture does not fit the buffer, which has less than `max_png_bytes`.
    BufferTooSmall = -7,
}

/// What a QR symbol holds at most, digits at level L (ISO/IEC 18004, table 7).
pub(crate) const MAX_TEXT_BYTES: usize = 7089;

/// Room for most pictures of the usual size, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 2048;

pub(crate) fn draw(
    text: &[u8],
    size_px: u32,
    margin_modules: u32,
    level: u32,
) -> Result<Vec<u8>, Failure> {
    let text = str::from_utf8(text).map_err(|_| Failure::NotUtf8)?;
    let level = match level {
        0 => Level::L,
        1 => Level::M,
        2 => Level::Q,
        3 => Level::H,
        _ => return Err(Failure::UnknownLevel),
    };
    let symbol = encode(text, level).map_err(|EncodeError::TooLong| Failure::TextTooLong)?;
    let raster = Raster { size_px, margin_modules };
    let mut png = Vec::with_capacity(USUAL_BYTES);
    write_png(&symbol, &raster, &mut png).map_err(|error| match error {
        RasterError::TooSmall { .. } => Failure::SizeTooSmall,
        RasterError::TooLarge => Failure::SizeTooLarge,
    })?;
    Ok(png)
}
