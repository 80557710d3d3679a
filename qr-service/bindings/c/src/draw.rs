//! What the interface does, without a pointer.

use std::ffi::CStr;

use qr_core::{EncodeError, Raster, RasterError, encode, write_png};

use crate::{Level, Options, Status};

/// What a QR symbol holds at most, digits at level L (ISO/IEC 18004, table 7).
pub(crate) const MAX_TEXT_BYTES: usize = 7089;

/// Room for most pictures of the usual size, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 1024;

pub(crate) fn draw(text: &[u8], options: Option<Options>) -> Result<Vec<u8>, Status> {
    let text = str::from_utf8(text).map_err(|_| Status::NotUtf8)?;
    let (raster, level) = match options {
        None => (Raster::SERVICE, qr_core::Level::L),
        Some(Options { size_px, margin_modules, level }) => {
            (Raster { size_px, margin_modules }, read_level(level)?)
        }
    };
    let symbol = encode(text, level).map_err(|EncodeError::TooLong| Status::TextTooLong)?;
    let mut png = Vec::with_capacity(USUAL_BYTES);
    write_png(&symbol, &raster, &mut png).map_err(|error| match error {
        RasterError::TooSmall { .. } => Status::SizeTooSmall,
        RasterError::TooLarge => Status::SizeTooLarge,
    })?;
    Ok(png)
}

fn read_level(level: i32) -> Result<qr_core::Level, Status> {
    const L: i32 = Level::L as i32;
    const M: i32 = Level::M as i32;
    const Q: i32 = Level::Q as i32;
    const H: i32 = Level::H as i32;
    match level {
        L => Ok(qr_core::Level::L),
        M => Ok(qr_core::Level::M),
        Q => Ok(qr_core::Level::Q),
        H => Ok(qr_core::Level::H),
        _ => Err(Status::UnknownLevel),
    }
}

/// By status, from 0.
const MESSAGES: [&CStr; 9] = [
    c"no error",
    c"a pointer is null that must not be",
    c"the text is not UTF-8",
    c"the text does not fit a QR code at this level",
    c"modules would be smaller than a pixel: make the picture larger, or its margin smaller",
    c"a picture has at most 16384 pixels a side",
    c"the level is none of L, M, Q and H",
    c"the picture does not fit the buffer",
    c"the library panicked, which it never should",
];

pub(crate) fn message(status: i32) -> &'static CStr {
    let at = usize::try_from(status).unwrap_or(usize::MAX);
    MESSAGES.get(at).copied().unwrap_or(c"not a status of this library")
}
