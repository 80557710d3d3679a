//! Calls the interface from Rust, with proptest and `qr-core`; `tests/border.c` calls it from C.

use std::ffi::CStr;

use proptest::prelude::*;
use qr_core::{Raster, generate};

use super::*;

fn call(text: &[u8], options: Option<Options>, out: &mut [u8]) -> (i32, usize) {
    let mut len = usize::MAX;
    let options = options.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: all pointers come from references.
    let status = unsafe {
        qr_png(text.as_ptr(), text.len(), options, out.as_mut_ptr(), out.len(), &mut len)
    };
    (status, len)
}

#[test]
fn every_length_has_the_picture_of_qr_core_and_fits_the_documented_buffer() {
    let text: String = "0aA/é".chars().cycle().take(520).collect();
    let mut out = [0; QR_MAX_SERVICE_PNG];
    for end in (0..=512).filter(|&end| text.is_char_boundary(end)) {
        let (status, len) = call(&text.as_bytes()[..end], None, &mut out);
        assert_eq!(status, Status::Ok as i32);
        let mut expected = Vec::new();
        generate(&text[..end], qr_core::Level::L, &Raster::SERVICE, &mut expected).unwrap();
        assert_eq!(out[..len], expected);
    }
}

#[test]
fn levels_have_the_numbers_of_their_places_in_qr_core() {
    for (number, level) in [Level::L, Level::M, Level::Q, Level::H].into_iter().enumerate() {
        assert_eq!(level as usize, number);
        assert_eq!(format!("{level:?}"), qr_core::Level::ALL[number].to_string());
    }
}

#[test]
fn every_status_has_its_own_message() {
    let message = |status| {
        // SAFETY: it is never null, and static.
        unsafe { CStr::from_ptr(qr_error_message(status)) }
    };
    let mut messages: Vec<_> = (-1..=Status::Panic as i32).map(message).collect();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), 10);
    for unknown in [Status::Panic as i32 + 1, i32::MIN, i32::MAX] {
        assert_eq!(message(unknown), message(-1));
    }
}

#[test]
fn a_panic_is_a_status() {
    let status = stop_panics::<()>(|| panic!("made by a test"));
    assert_eq!(status, Err(Status::Panic));
}

proptest! {
    #[test]
    fn any_bytes_and_options_give_a_status(
        text in prop::collection::vec(any::<u8>(), 0..3000),
        size_px in prop_oneof![0..700_u32, any::<u32>()],
        margin_modules in prop_oneof![0..9_u32, any::<u32>()],
        level in prop_oneof![0..4, any::<i32>()],
        capacity in 0..9000_usize,
    ) {
        let options = Options { size_px, margin_modules, level };
        let mut out = vec![0xa5; capacity];
        let (status, len) = call(&text, Some(options), &mut out);
        prop_assert!((0..8).contains(&status));
        let written = if status == Status::Ok as i32 { len } else { 0 };
        prop_assert!(out[written..].iter().all(|&byte| byte == 0xa5));
        prop_assert_eq!(len > capacity, status == Status::BufferTooSmall as i32);
    }

    #[test]
    fn no_picture_of_200_px_and_512_bytes_outgrows_the_documented_buffer(
        text in "\\PC{0,512}",
        margin_modules in 0..42_u32,
        level in 0..4,
    ) {
        let end = (0..=512.min(text.len())).rfind(|&end| text.is_char_boundary(end)).unwrap();
        let options = Options { size_px: 200, margin_modules, level };
        let (status, _) = call(&text.as_bytes()[..end], Some(options), &mut [0; QR_MAX_SERVICE_PNG]);
        prop_assert_eq!(status, Status::Ok as i32);
    }
}
