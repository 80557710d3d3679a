//! libqrencode and libpng as one function, for comparison with qr-core.

/// Text to PNG; `None` if the machine lacks one of the libraries.
#[cfg(has_libqrencode)]
pub(crate) const PNG: Option<fn(&str, &mut Vec<u8>)> = Some(png);
#[cfg(not(has_libqrencode))]
pub(crate) const PNG: Option<fn(&str, &mut Vec<u8>)> = None;

/// Text to the symbol of a version at level L; returns its width, or 0 if that failed.
#[cfg(has_libqrencode)]
pub const WIDTH: Option<fn(&str, u8) -> usize> = Some(width);
/// `None`, because the machine lacks one of the libraries.
#[cfg(not(has_libqrencode))]
pub const WIDTH: Option<fn(&str, u8) -> usize> = None;

#[cfg(has_libqrencode)]
fn width(text: &str, version: u8) -> usize {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn libqrencode_width(text: *const u8, length: c_int, version: c_int) -> c_int;
    }

    let length = c_int::try_from(text.len()).expect("texts of the bench are short");
    // SAFETY: reads `length` bytes of `text` and does not keep them.
    let width = unsafe { libqrencode_width(text.as_ptr(), length, version.into()) };
    usize::try_from(width).unwrap_or(0)
}

#[cfg(has_libqrencode)]
fn png(text: &str, out: &mut Vec<u8>) {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn libqrencode_png(text: *const u8, length: c_int, out: *mut u8, capacity: usize) -> usize;
    }

    /// More than the uncompressed pixels take.
    const CAPACITY: usize = 8192;
    out.resize(CAPACITY, 0);
    let length = c_int::try_from(text.len()).expect("texts of the bench are short");
    // SAFETY: reads `length` bytes of `text`, writes at most `CAPACITY` bytes to `out`, and keeps
    // neither.
    let length = unsafe { libqrencode_png(text.as_ptr(), length, out.as_mut_ptr(), out.len()) };
    assert!(length > 0, "libqrencode or libpng failed");
    out.truncate(length);
}
