//! Calls the interface from Rust, with proptest and `qr-core`; `tests/border.c` calls it from C.

use std::ffi::CStr;

use proptest::prelude::*;
use qr_core::{Raster, generate};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

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

/// Returns the status, the media type and the content of the buffer. Draws again if the buffer was too small.
fn draw_query(query: &[u8], capacity: usize) -> (i32, &'static CStr, Vec<u8>) {
    let (mut out, mut len, mut media_type) = (vec![0xa5; capacity], usize::MAX, ptr::null());
    // SAFETY: all pointers come from references.
    let status = unsafe {
        let out = out.as_mut_ptr();
        qr_draw(query.as_ptr(), query.len(), out, capacity, &mut len, &mut media_type)
    };
    if status == Status::BufferTooSmall as i32 {
        assert!(len > capacity && out.iter().all(|&byte| byte == 0xa5));
        return draw_query(query, len);
    }
    assert!(out[len..].iter().all(|&byte| byte == 0xa5));
    out.truncate(len);
    let no_type = media_type.is_null();
    // SAFETY: it is not null, and static.
    let media_type = if no_type { c"" } else { unsafe { CStr::from_ptr(media_type) } };
    (status, media_type, out)
}

/// The tests of the service and of all bindings share these cases of `qr-options`.
#[test]
fn queries_have_the_pictures_and_the_faults_of_the_service() {
    let cases = include_str!("../../../../options/cases.json");
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    assert!(cases.len() > 30);
    for case in cases {
        let options = case["options"].as_object().unwrap();
        let given = options.iter().filter(|(_, value)| !value.is_null());
        let pair = |(name, value): (&String, &Value)| {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            let escaped: Vec<String> = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
            format!("{name}={}", escaped.concat())
        };
        let query = given.map(pair).collect::<Vec<_>>().join("&");
        let (status, media_type, out) = draw_query(query.as_bytes(), 1000);
        let mut expected = case.clone();
        expected.as_object_mut().unwrap().remove("options");
        if status == Status::Faults as i32 {
            assert_eq!(media_type, c"application/json");
            let faults: Vec<Value> = serde_json::from_slice(&out).unwrap();
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            let name = |it: &Value| format!("{} {}", word(&it["parameter"]), word(&it["code"]));
            let names: Vec<String> = faults.iter().map(name).collect();
            assert_eq!(json!({ "faults": names }), expected, "{query}");
        } else {
            assert_eq!(status, Status::Ok as i32, "{query}");
            let hash: Vec<String> =
                Sha256::digest(&out).iter().map(|byte| format!("{byte:02x}")).collect();
            let media_type = media_type.to_str().unwrap();
            let made = json!({"media_type": media_type, "sha256": hash.concat()});
            assert_eq!(made, expected, "{query}");
        }
    }
}

#[test]
fn media_types_are_those_of_the_service() {
    for format in qr_options::options::Format::ALL {
        let query = format!("text=hello&format={}", format.as_str());
        let (_, media_type, _) = draw_query(query.as_bytes(), 20_000);
        assert_eq!(media_type.to_str(), Ok(format.content_type()));
    }
}

#[test]
fn a_query_that_is_no_query_is_refused() {
    assert_eq!(draw_query(b"text=caf\xe9", 100).0, Status::NotUtf8 as i32);
    assert_eq!(draw_query(b"", 9000).0, Status::Faults as i32);
    assert_eq!(draw_query(&vec![b'a'; (1 << 20) + 1], 100).0, Status::TextTooLong as i32);
    let (mut len, query) = (usize::MAX, b"text=hello");
    // SAFETY: null is allowed.
    let statuses = unsafe {
        [
            qr_draw(query.as_ptr(), 10, ptr::null_mut(), 0, ptr::null_mut(), ptr::null_mut()),
            qr_draw(query.as_ptr(), 10, ptr::null_mut(), 1, &mut len, ptr::null_mut()),
            qr_draw(ptr::null(), 1, ptr::null_mut(), 0, &mut len, ptr::null_mut()),
        ]
    };
    assert_eq!((statuses, len), ([Status::NullPointer as i32; 3], 0));
    // SAFETY: null is allowed.
    let status =
        unsafe { qr_draw(query.as_ptr(), 10, ptr::null_mut(), 0, &mut len, ptr::null_mut()) };
    assert!(status == Status::BufferTooSmall as i32 && len > 100);
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
    let mut messages: Vec<_> = (-1..=Status::UnknownOptions as i32).map(message).collect();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), 12);
    for unknown in [Status::UnknownOptions as i32 + 1, i32::MIN, i32::MAX] {
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
        let options = Options { struct_size: 16, size_px, margin_modules, level };
        let mut out = vec![0xa5; capacity];
        let (status, len) = call(&text, Some(options), &mut out);
        prop_assert!((0..8).contains(&status));
        let written = if status == Status::Ok as i32 { len } else { 0 };
        prop_assert!(out[written..].iter().all(|&byte| byte == 0xa5));
        prop_assert_eq!(len > capacity, status == Status::BufferTooSmall as i32);
    }

    #[test]
    fn any_query_gives_a_picture_or_faults(
        query in "(text=[a-z%+]{0,9}|[a-z_]{1,9}=[^&]{0,5}|format=(png|svg|pdf)|size=[0-9]{1,4})(&[a-z=0-9]{0,9}){0,3}",
        capacity in 0..3000_usize,
    ) {
        let (status, media_type, out) = draw_query(query.as_bytes(), capacity);
        prop_assert!(status == Status::Ok as i32 || status == Status::Faults as i32);
        prop_assert!(!out.is_empty() && !media_type.is_empty());
    }

    #[test]
    fn no_picture_of_200_px_and_512_bytes_outgrows_the_documented_buffer(
        text in "\\PC{0,512}",
        margin_modules in 0..42_u32,
        level in 0..4,
    ) {
        let end = (0..=512.min(text.len())).rfind(|&end| text.is_char_boundary(end)).unwrap();
        let options = Options { struct_size: 16, size_px: 200, margin_modules, level };
        let (status, _) = call(&text.as_bytes()[..end], Some(options), &mut [0; QR_MAX_SERVICE_PNG]);
        prop_assert_eq!(status, Status::Ok as i32);
    }
}
