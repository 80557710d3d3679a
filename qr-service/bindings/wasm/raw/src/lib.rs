//! `qr-core` as a Wasm module for hosts of any language: four functions of numbers, no imports.
//!
//! A host makes room for a text and a picture once ([`alloc`], [`max_png_bytes`]), and then calls
//! [`generate`] as often as it likes. `README.md` has the interface as a table.

mod bound;
mod draw;
#[cfg(test)]
mod tests;

use std::alloc::Layout;
use std::{ptr, slice};

use draw::{Failure, MAX_TEXT_BYTES, draw};

/// Room for `len` bytes: its address, or null where `len` is 0 or memory is at its end.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    match layout(len) {
        // SAFETY: of a size above 0.
        Some(layout) => unsafe { std::alloc::alloc(layout) },
        None => ptr::null_mut(),
    }
}

/// Gives back what [`alloc`] gave; null is nothing.
///
/// # Safety
/// `at` must come from `alloc(len)`, and not have been given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dealloc(at: *mut u8, len: usize) {
    if let (false, Some(layout)) = (at.is_null(), layout(len)) {
        // SAFETY: the caller says that it was allocated so.
        unsafe { std::alloc::dealloc(at, layout) };
    }
}

fn layout(len: usize) -> Option<Layout> {
    if len == 0 { None } else { Layout::array::<u8>(len).ok() }
}

/// Bytes that no picture of `size_px` pixels a side exceeds, whatever its text, margin and level:
/// [`generate`] never finds a buffer of so many too small. 0 where no such picture is made.
#[unsafe(no_mangle)]
pub extern "C" fn max_png_bytes(size_px: u32) -> usize {
    bound::max_png_bytes(size_px)
}

/// Writes the PNG of a text's QR code to `out`, and gives its length; or, below 0, what is wrong,
/// see the README. With that, `out` is as it was.
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
        return Failure::NullPointer as i32;
    }
    // Before a slice is made of it: a length of -1 by mistake must not be.
    if text_len > MAX_TEXT_BYTES {
        return Failure::TextTooLong as i32;
    }
    // SAFETY: not null, and the caller says that so many bytes are there.
    let text = unsafe { slice::from_raw_parts(text, text_len) };
    match draw(text, size_px, margin_modules, level) {
        Ok(png) if png.len() > out_len => Failure::BufferTooSmall as i32,
        Ok(png) => {
            // SAFETY: not null, and the caller says that there is room; the vector is ours.
            unsafe { ptr::copy_nonoverlapping(png.as_ptr(), out, png.len()) };
            // Pictures are below 2 MB, see `bound`.
            png.len() as i32
        }
        Err(failure) => failure as i32,
    }
}
