//! What both interfaces share: the statuses, and the picture of a text.

use qr_core::{Error, Level, Raster, encode, write_png};

/// The result of qr_png and qr_draw.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The picture is in the buffer.
    Ok = 0,
    /// A required pointer is null.
    NullPointer = 1,
    /// The text is not UTF-8.
    NotUtf8 = 2,
    /// The text does not fit a QR code at this level.
    TextTooLong = 3,
    /// Modules would be smaller than a pixel: use a larger size_px or a smaller margin.
    SizeTooSmall = 4,
    /// size_px is above 16384.
    SizeTooLarge = 5,
    /// The level is not in enum qr_level.
    UnknownLevel = 6,
    /// The picture does not fit the buffer; *out_len is the number of bytes it needs.
    BufferTooSmall = 7,
    /// The library panicked, which is a bug. The program may continue.
    Panic = 8,
    /// The options are wrong, or the picture cannot be made. The buffer has the faults.
    Faults = 9,
    /// The library does not know these options: struct_size is wrong, or a field that was added later is not 0.
    UnknownOptions = 10,
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::TooLong { .. } => Status::TextTooLong,
            Error::SizeTooSmall { .. } => Status::SizeTooSmall,
            _ => Status::SizeTooLarge,
        }
    }
}

/// Room for most pictures of 200 px, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 1024;

/// The picture of a text. `level` is 0 for L, 1 for M, 2 for Q, 3 for H.
pub(crate) fn draw(text: &[u8], raster: Raster, level: usize) -> Result<Vec<u8>, Status> {
    let text = str::from_utf8(text).map_err(|_| Status::NotUtf8)?;
    let level = *Level::ALL.get(level).ok_or(Status::UnknownLevel)?;
    let mut png = Vec::with_capacity(USUAL_BYTES);
    // Not `qr_core::generate`: it holds the buffers of both steps on the stack at once, which takes more
    // than the 96 KB that the README promises.
    let symbol = encode(text, level)?;
    write_png(&symbol, &raster, &mut png)?;
    Ok(png)
}
