//! `qr-core` as a Wasm module for hosts of any language: four functions on numbers, no imports.
//!
//! A host allocates buffers for a text and a picture once ([`alloc`], [`max_png_bytes`]), then calls
//! [`generate`] any number of times. `README.md` is the reference.

mod bound;
#[cfg(test)]
mod tests;

use std::alloc::Layout;
use std::{ptr, slice};

use qr_core::{MAX_TEXT_BYTES, Raster};

use crate::picture::{Status, draw};

/// Allocates `len` bytes. Returns null if `len` is 0 or no memory is left.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    match layout(len) {
        // SAFETY: `layout` returns only sizes above 0.
        Some(layout) => unsafe { std::alloc::alloc(layout) },
        None => ptr::null_mut(),
    }
}

/// Frees memory from [`alloc`]. Does nothing for null.
///
/// # Safety
/// `at` must come from `alloc(len)` and must not have been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dealloc(at: *mut u8, len: usize) {
    if let (false, Some(layout)) = (at.is_null(), layout(len)) {
        // SAFETY: the caller guarantees that `alloc` returned it for this length.
        unsafe { std::alloc::dealloc(at, layout) };
    }
}

fn layout(len: usize) -> Option<Layout> {
    if len == 0 { None } else { Layout::array::<u8>(len).ok() }
}

/// Returns a number of bytes that no picture of `size_px` pixels a side exceeds, whatever its text,
/// margin and level. Returns 0 if there is no picture of this size.
#[unsafe(no_mangle)]
pub extern "C" fn max_png_bytes(size_px: u32) -> usize {
    bound::max_png_bytes(size_px)
}

/// Writes the PNG of a text's QR code to `out` and returns its length. Returns a negative number if it
/// fails (see the README), and leaves `out` unchanged.
///
/// `text` is `text_len` bytes of UTF-8. The picture has `size_px` pixels a side and a margin of at
/// least `margin_modules` modules; `level` is 0 for L, 1 for M, 2 for Q, 3 for H.
///
/// # Safety
/// `text` must have `text_len` bytes, and `out` room for `out_len`; they must not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn generate(
    text: *const u8,
    text_len: usize,
    size_px: u32,
    margin_modules: u32,
    level: u32,
    out: *mut u8,
    out_len: usize,
) -> i32 {
    if text.is_null() || out.is_null() {
        return failure(Status::NullPointer);
    }
    // Checked before the slice is made: one of more than `isize::MAX` bytes, for example from a
    // length of -1, is undefined behaviour.
    if text_len > MAX_TEXT_BYTES {
        return failure(Status::TextTooLong);
    }
    // SAFETY: it is not null, and the caller guarantees `text_len` bytes.
    let text = unsafe { slice::from_raw_parts(text, text_len) };
    match draw(text, Raster::new(size_px).margin_modules(margin_modules), level as usize) {
        Ok(png) if png.len() > out_len => failure(Status::BufferTooSmall),
        Ok(png) => {
            // SAFETY: `out` is not null and has room for `out_len` bytes. This function owns the
            // vector, so the two do not overlap.
            unsafe { ptr::copy_nonoverlapping(png.as_ptr(), out, png.len()) };
            // Fits: `bound` keeps pictures below 2 MB.
            png.len() as i32
        }
        Err(status) => failure(status),
    }
}

/// A failure is a status of `qr.h`, negated.
const fn failure(status: Status) -> i32 {
    -(status as i32)
}
