//! `qr-core` behind a C interface. The comments here are those of `qr.h`, made from this file.

mod draw;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_char};
use std::panic::{UnwindSafe, catch_unwind};
use std::{ptr, slice};

use draw::{MAX_TEXT_BYTES, draw};

/// Bytes enough for every picture of 200 px a side whose text has up to 512 bytes, at any level and
/// margin: a buffer of this size never meets QR_STATUS_BUFFER_TOO_SMALL there.
// A symbol of 512 bytes has at most 117 modules a side (version 25, level H), so that many lines
// differ. One is 26 bytes of at most 15 bits each, and a match of 48 bits for the lines like it:
// 6,500 bytes, and a few hundred for the code's own lengths and the chunks. Usual pictures have
// 300 to 1,500.
pub const QR_MAX_SERVICE_PNG: usize = 8192;

/// What qr_png returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The picture is in the buffer.
    Ok = 0,
    /// A pointer is null that must not be.
    NullPointer = 1,
    /// The text is not UTF-8.
    NotUtf8 = 2,
    /// The text does not fit a QR code at this level.
    TextTooLong = 3,
    /// Modules would be smaller than a pixel: a larger size_px is needed, or a smaller margin.
    SizeTooSmall = 4,
    /// size_px is above 16384.
    SizeTooLarge = 5,
    /// The level is none of enum qr_level.
    UnknownLevel = 6,
    /// The picture does not fit the buffer; *out_len says how many bytes it has.
    BufferTooSmall = 7,
    /// A mistake of this library; it was stopped from going further.
    Panic = 8,
}

/// Error correction: the share of the symbol that can be restored.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// About 7 %.
    L = 0,
    /// About 15 %.
    M = 1,
    /// About 25 %.
    Q = 2,
    /// About 30 %.
    H = 3,
}

/// How the picture looks. There are no defaults for single fields: set all, or give no options.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Pixels a side, up to 16384. Spare pixels widen the margin.
    pub size_px: u32,
    /// Least width of the light margin in modules; the standard asks for 4.
    pub margin_modules: u32,
    /// One of enum qr_level.
    // Not the enum: a value that it does not have would be undefined behaviour here.
    pub level: i32,
}

/// Writes the PNG of a text's QR code to `out`, and its length to `*out_len`.
///
/// `text` is `text_len` bytes of UTF-8, which may have NUL among them; no terminator is needed. The
/// empty text has a picture too, and its pointer may be null.
/// `options` may be null: 200 px, margin 4, level L.
/// `out` is `out_capacity` bytes of the caller's, and may be null where that is 0.
/// `out_len` must not be null.
///
/// Returns QR_STATUS_OK or another value of enum qr_status. With QR_STATUS_BUFFER_TOO_SMALL,
/// `*out_len` is the capacity needed; with others it is 0. `out` is written to with QR_STATUS_OK
/// alone, and only as far as the picture goes.
///
/// # Safety
/// Pointers that are not null must be valid for as many bytes as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(
    text: *const u8,
    text_len: usize,
    options: *const Options,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
) -> i32 {
    if out_len.is_null() {
        return Status::NullPointer as i32;
    }
    // SAFETY: not null, and the caller's to write to.
    unsafe { out_len.write(0) };
    if (text.is_null() && text_len > 0) || (out.is_null() && out_capacity > 0) {
        return Status::NullPointer as i32;
    }
    // Before a slice is made of it: a length of -1 by mistake must not be.
    if text_len > MAX_TEXT_BYTES {
        return Status::TextTooLong as i32;
    }
    let text = match text_len {
        0 => &[],
        // SAFETY: not null, and the caller says that so many bytes are there.
        _ => unsafe { slice::from_raw_parts(text, text_len) },
    };
    // SAFETY: null, or the caller's options.
    let options = unsafe { options.as_ref() }.copied();
    let png = match stop_panics(move || draw(text, options)) {
        Ok(png) => png,
        Err(status) => return status as i32,
    };
    // SAFETY: as above.
    unsafe { out_len.write(png.len()) };
    if png.len() > out_capacity {
        return Status::BufferTooSmall as i32;
    }
    // SAFETY: no picture is empty, so `out` has a capacity and is not null; the vector is ours, so
    // the two don't overlap.
    unsafe { ptr::copy_nonoverlapping(png.as_ptr(), out, png.len()) };
    Status::Ok as i32
}

/// What a return value means, in English: never null, valid for ever, not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn qr_error_message(status: i32) -> *const c_char {
    draw::message(status).as_ptr()
}

/// This library's version, such as "0.1.0": never null, valid for ever, not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn qr_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    match CStr::from_bytes_with_nul(VERSION.as_bytes()) {
        Ok(version) => version.as_ptr(),
        Err(_) => c"".as_ptr(),
    }
}

/// A panic must not leave the library: it would end the process that calls.
fn stop_panics<T>(run: impl FnOnce() -> Result<T, Status> + UnwindSafe) -> Result<T, Status> {
    catch_unwind(run).unwrap_or(Err(Status::Panic))
}
