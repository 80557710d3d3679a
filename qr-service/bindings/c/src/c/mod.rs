//! `qr-core` behind a C interface. cbindgen generates `qr.h` from this file, doc comments included.

mod draw;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_char};
use std::panic::{UnwindSafe, catch_unwind};
use std::{ptr, slice};

use draw::draw_options;
use qr_core::{MAX_TEXT_BYTES, Raster};

use crate::picture::{Status, draw};

/// A buffer of this many bytes holds every picture of 200 px whose text has up to 512 bytes, at any
/// level and margin.
// A symbol of 512 bytes has at most 117 modules a side (version 25, level H), so at most 117 lines
// of the picture differ. Such a line takes 26 literals of at most 15 bits each, and one match of 48
// bits for the equal lines that follow, which makes 6,500 bytes in all. The code lengths and the chunks
// add a few hundred. Usual pictures have 300 to 1,500 bytes.
pub const QR_MAX_SERVICE_PNG: usize = 8192;

/// Error correction level: the share of the symbol's codewords that can be restored.
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

/// The options of a picture. No field of this version has a default: set all of them, or pass null for the options.
/// Later versions may have more fields, whose default is 0; `struct_size` tells the library which fields there are.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// sizeof(struct qr_options).
    // As wide as the other fields, so that there is no padding, whose bytes are undefined.
    pub struct_size: u32,
    /// Width and height in pixels, up to 16384. Spare pixels widen the margin.
    pub size_px: u32,
    /// Least width of the quiet zone in modules; the standard requires 4.
    pub margin_modules: u32,
    /// A value of enum qr_level.
    // An integer, because an enum with an unknown value is undefined behaviour in Rust.
    pub level: i32,
}

/// Writes the PNG of a text's QR code to `out` and its length to `*out_len`.
///
/// `text` is `text_len` bytes of UTF-8. It needs no terminator and may contain NUL. An empty text
/// has a picture too; its pointer may be null.
/// `options` may be null, for 200 px, margin 4 and level L.
/// `out` is a buffer of `out_capacity` bytes. It may be null if `out_capacity` is 0.
/// `out_len` must not be null.
///
/// Returns a value of enum qr_status. With QR_STATUS_BUFFER_TOO_SMALL, `*out_len` is the capacity
/// needed; with every other error it is 0. An error leaves `out` unchanged. The bytes of `out` after
/// the picture are never changed.
///
/// # Safety
/// Every pointer that is not null must be valid for the number of bytes given above, `options` for its `struct_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(
    text: *const u8,
    text_len: usize,
    options: *const Options,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
) -> i32 {
    let draw = || {
        // SAFETY: the caller guarantees what `begin` requires.
        let text =
            unsafe { begin((text, text_len), MAX_TEXT_BYTES, (out, out_capacity), out_len) }?;
        // SAFETY: it is null, or the caller guarantees `struct_size` bytes.
        let (raster, level) = match unsafe { read_options(options) }? {
            None => (Raster::SERVICE, 0),
            Some(Options { size_px, margin_modules, level, .. }) => {
                (Raster::new(size_px).margin_modules(margin_modules), level)
            }
        };
        stop_panics(move || draw(text, raster, level.try_into().unwrap_or(usize::MAX)))
    };
    match draw() {
        // SAFETY: the caller guarantees what `give` requires.
        Ok(png) => unsafe { give(&png, Status::Ok, out, out_capacity, out_len) },
        Err(status) => status as i32,
    }
}

/// Sets `*out_len` to 0, and returns the caller's input.
///
/// # Errors
/// [`Status::NullPointer`], or [`Status::TextTooLong`] for an input of more than `most` bytes.
///
/// # Safety
/// Every pointer that is not null must be valid, `input` for `length` bytes and `out` for `capacity`.
unsafe fn begin<'a>(
    (input, length): (*const u8, usize),
    most: usize,
    (out, capacity): (*mut u8, usize),
    out_len: *mut usize,
) -> Result<&'a [u8], Status> {
    if out_len.is_null() {
        return Err(Status::NullPointer);
    }
    // SAFETY: it is not null, and the caller lets this function write to it.
    unsafe { out_len.write(0) };
    if (input.is_null() && length > 0) || (out.is_null() && capacity > 0) {
        return Err(Status::NullPointer);
    }
    // Checked before the slice is made: one of more than `isize::MAX` bytes, for example from a
    // length of -1, is undefined behaviour.
    match length {
        0 => Ok(&[]),
        // SAFETY: it is not null, and the caller guarantees `length` bytes.
        _ if length <= most => Ok(unsafe { slice::from_raw_parts(input, length) }),
        _ => Err(Status::TextTooLong),
    }
}

/// Reads the caller's options, whose struct may be that of a later header. `None` if `options` is null.
///
/// # Errors
/// [`Status::UnknownOptions`] if the size is wrong, or a field that this version does not know is not 0.
///
/// # Safety
/// `options` is null, or points to `struct_size` bytes that begin with the field `struct_size`.
unsafe fn read_options(options: *const Options) -> Result<Option<Options>, Status> {
    if options.is_null() {
        return Ok(None);
    }
    let known = size_of::<Options>();
    // SAFETY: it is not null, and begins with its size.
    let size = unsafe { (&raw const (*options).struct_size).read() } as usize;
    if !(known..=MAX_OPTIONS).contains(&size) {
        return Err(Status::UnknownOptions);
    }
    // SAFETY: the caller guarantees `size` bytes.
    let bytes = unsafe { slice::from_raw_parts(options.cast::<u8>(), size) };
    if bytes[known..].iter().any(|byte| *byte != 0) {
        return Err(Status::UnknownOptions);
    }
    // SAFETY: it is not null, and has all fields.
    Ok(Some(unsafe { options.read() }))
}

/// A struct of options is never larger than this, so a larger size must be a mistake.
const MAX_OPTIONS: usize = 4096;

/// The longest query, in bytes. Every text of the largest symbol fits, percent-encoded.
const MAX_QUERY: usize = 1 << 20;

/// Writes the picture that a query describes to `out`, its length to `*out_len`, and its media type to
/// `*media_type`.
///
/// `query` is `query_len` bytes of UTF-8: the options of qr-service's `/v1/qr`, percent-encoded as in a URL,
/// for example `text=hello&format=svg&dark=036`. The picture has the same bytes as the service's.
/// `out`, `out_capacity` and `out_len` are as in qr_png.
/// `media_type` may be null. Otherwise it gets a string that stays valid for ever and must not be
/// freed, such as "image/svg+xml".
///
/// Returns a value of enum qr_status. With QR_STATUS_FAULTS, `out` has the faults as a JSON array of
/// objects with "parameter", "code" and "detail", and if known "minimum", "maximum", "allowed" and
/// "suggestion". With QR_STATUS_BUFFER_TOO_SMALL, `*out_len` is the capacity needed, for the picture or the
/// faults. With every other error it is 0 and `out` is unchanged.
///
/// # Safety
/// Every pointer that is not null must be valid for the number of bytes given above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_draw(
    query: *const u8,
    query_len: usize,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
    media_type: *mut *const c_char,
) -> i32 {
    let draw = || {
        // SAFETY: the caller guarantees what `begin` requires.
        let query = unsafe { begin((query, query_len), MAX_QUERY, (out, out_capacity), out_len) }?;
        stop_panics(move || draw_options(query))
    };
    let (made, of_type, status) = match draw() {
        Ok(made) => made,
        Err(status) => return status as i32,
    };
    if !media_type.is_null() {
        // SAFETY: it is not null, and the caller lets this function write to it.
        unsafe { media_type.write(of_type.as_ptr()) };
    }
    // SAFETY: the caller guarantees what `give` requires.
    unsafe { give(&made, status, out, out_capacity, out_len) }
}

/// Copies the result to the caller's buffer and returns `status`, or [`Status::BufferTooSmall`].
///
/// # Safety
/// `out` has `out_capacity` bytes, or is null if `out_capacity` is 0; `out_len` is valid.
unsafe fn give(
    made: &[u8],
    status: Status,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the caller guarantees it.
    unsafe { out_len.write(made.len()) };
    if made.len() > out_capacity {
        return Status::BufferTooSmall as i32;
    }
    // SAFETY: the result is never empty, so `out_capacity` is above 0 and `out` is not null. This library
    // owns the result, so the two do not overlap.
    unsafe { ptr::copy_nonoverlapping(made.as_ptr(), out, made.len()) };
    status as i32
}

/// Describes a status in English. The string is never null, stays valid for ever and must not be
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn qr_error_message(status: i32) -> *const c_char {
    draw::message(status).as_ptr()
}

/// Returns the library's version, such as "0.1.0". The string is never null, stays valid for ever
/// and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn qr_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    match CStr::from_bytes_with_nul(VERSION.as_bytes()) {
        Ok(version) => version.as_ptr(),
        Err(_) => c"".as_ptr(),
    }
}

/// Turns a panic into a status. A panic that left an `extern "C"` function would abort the process.
fn stop_panics<T>(run: impl FnOnce() -> Result<T, Status> + UnwindSafe) -> Result<T, Status> {
    catch_unwind(run).unwrap_or(Err(Status::Panic))
}
