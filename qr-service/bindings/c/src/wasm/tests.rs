//! Calls the interface from Rust, with proptest and `qr-core`; `../../../wasm/test/` calls it from hosts.

use proptest::prelude::*;
use qr_core::{Level, encode};

use super::*;

fn call(text: &[u8], raster: Raster, level: u32, out: &mut [u8]) -> i32 {
    let Raster { size_px, margin_modules, .. } = raster;
    let (out, out_len) = (out.as_mut_ptr(), out.len());
    // SAFETY: both come from references.
    unsafe { generate(text.as_ptr(), text.len(), size_px, margin_modules, level, out, out_len) }
}

#[test]
fn every_length_has_the_picture_of_qr_core() {
    let text: String = "0aA/é".chars().cycle().take(520).collect();
    let mut out = vec![0; max_png_bytes(200)];
    for end in (0..=512).filter(|&end| text.is_char_boundary(end)) {
        let len = call(&text.as_bytes()[..end], Raster::SERVICE, 0, &mut out);
        let mut png = Vec::new();
        qr_core::generate(&text[..end], Level::L, &Raster::SERVICE, &mut png).unwrap();
        assert_eq!(out[..len as usize], png);
    }
}

#[test]
fn the_bound_of_an_impossible_size_is_0() {
    assert_eq!(max_png_bytes(0), 0);
    assert_eq!(max_png_bytes(16385), 0);
    assert_eq!(max_png_bytes(u32::MAX), 0);
}

#[test]
fn impossible_lengths_are_not_allocated() {
    assert!(alloc(0).is_null());
    assert!(alloc(usize::MAX).is_null());
    // SAFETY: null is allowed.
    unsafe { dealloc(ptr::null_mut(), 1) };
}

#[test]
fn null_is_refused() {
    let mut out = [0; 8];
    // SAFETY: null is allowed, and it is refused before the other pointer is used.
    let statuses = unsafe {
        [
            generate(ptr::null(), 1, 200, 4, 0, out.as_mut_ptr(), out.len()),
            generate(b"x".as_ptr(), 1, 200, 4, 0, ptr::null_mut(), 0),
        ]
    };
    assert_eq!(statuses, [failure(Status::NullPointer); 2]);
}

/// Texts for every version, up to the capacity of the largest symbol.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,600}", "[0-9]{0,7089}", "[!-~]{0,2953}", "[A-Z0-9]{0,4296}"]
}

proptest! {
    #[test]
    fn no_picture_outgrows_its_bound(
        text in texts(),
        level in 0..4_u32,
        size_px in prop_oneof![0..260_u32, 0..1500_u32],
        margin_modules in 0..6_u32,
        tight in any::<bool>(),
    ) {
        let Ok(symbol) = encode(&text, Level::ALL[level as usize]) else { return Ok(()) };
        // Modules of one or two pixels cost the most bytes for their size.
        let least = symbol.size() as u32 + 2 * margin_modules;
        let size_px = if tight { least + size_px % 16 } else { size_px };
        let mut out = vec![0; max_png_bytes(size_px)];
        let status = call(text.as_bytes(), Raster::new(size_px).margin_modules(margin_modules), level, &mut out);
        prop_assert_ne!(status, failure(Status::BufferTooSmall));
        prop_assert_eq!(status == failure(Status::SizeTooSmall), size_px < least);
    }

    #[test]
    fn any_bytes_and_numbers_give_a_length_or_a_failure(
        text in prop::collection::vec(any::<u8>(), 0..3000),
        size_px in prop_oneof![0..700_u32, any::<u32>()],
        margin_modules in prop_oneof![0..9_u32, any::<u32>()],
        level in prop_oneof![0..4_u32, any::<u32>()],
        capacity in 1..9000_usize,
    ) {
        let mut out = vec![0xa5; capacity];
        let status = call(&text, Raster::new(size_px).margin_modules(margin_modules), level, &mut out);
        let written = usize::try_from(status).unwrap_or(0);
        prop_assert!(status >= -7 && written <= capacity);
        prop_assert!(out[written..].iter().all(|&byte| byte == 0xa5));
    }
}
