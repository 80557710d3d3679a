//! The cases are well formed, and the runner finds what is wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;

use contract::case::{self, FILES};
use contract::decode::{Pixels, decode_pixels};
use contract::{Case, Options, Target, run};

#[test]
fn every_file_of_cases_is_as_the_schema_has_it() {
    let schema = serde_json::from_str(include_str!("../cases/schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (name, file) in FILES {
        let cases = serde_json::from_str(file).unwrap();
        if let Some(error) = schema.iter_errors(&cases).next() {
            panic!("{name} at {}: {error}", error.instance_path);
        }
    }
}

#[test]
fn cases_are_many_and_no_two_have_one_name() {
    let cases = case::all().unwrap();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len());
    assert!(cases.len() >= 80);
    for case in &cases {
        let picture = case.expect.status == [200];
        assert_eq!(
            case.expect.text.is_some() && case.expect.version.is_some(),
            picture,
            "{}",
            case.name
        );
    }
}

#[test]
fn openapi_names_every_status_and_error_that_the_cases_expect() {
    let api: serde_json::Value = serde_yaml_ng::from_str(include_str!("../openapi.yaml")).unwrap();
    let text = api.to_string();
    for case in case::all().unwrap() {
        for status in &case.expect.status {
            let method = if case.method == "HEAD" { "head" } else { "get" };
            let responses = &api["paths"]["/qrcode"][method]["responses"];
            let named = responses.get(status.to_string()).is_some();
            // What a server says to a method that does not exist is its own affair.
            assert!(named || *status == 501, "{}: {status}", case.name);
        }
        if let Some(error) = &case.expect.error {
            assert!(text.contains(&serde_json::to_string(error).unwrap()), "{error}");
        }
    }
    // Each reference leads somewhere.
    for (at, _) in text.match_indices("\"$ref\":\"#") {
        let pointer = text[at + 9..].split('"').next().unwrap();
        assert!(api.pointer(pointer).is_some(), "{pointer}");
    }
}

/// A case of this name, or the one that this JSON is.
fn named(name: &str) -> Case {
    case::all().unwrap().into_iter().find(|case| case.name == name).unwrap()
}

/// Answers every request with the same bytes, and gives what the runner says of `case`.
fn failures_with(case: Case, answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The runner may only have looked whether somebody is there.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&answer);
        }
    });
    let target = Target::new(&format!("http://{addr}")).unwrap();
    run(&target, &[case], &Options::default()).to_string()
}

fn picture_headers(body: &[u8]) -> String {
    format!(
        "Content-Type: image/png\r\nContent-Length: {}\r\nCache-Control: public, max-age=86400\r\n\
         ETag: \"tag\"\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: id\r\nX-Served-By: legacy-node\r\n",
        body.len()
    )
}

fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {status} X\r\n{headers}\r\n").as_bytes(), body].concat()
}

/// A picture of a text at a level, drawn by another crate.
fn picture(text: &str, ecc: qrcodegen::QrCodeEcc, size_px: usize) -> Vec<u8> {
    let segments = qrcodegen::QrSegment::make_segments(text);
    let (low, high) = (qrcodegen::Version::MIN, qrcodegen::Version::MAX);
    let code = qrcodegen::QrCode::encode_segments_advanced(&segments, ecc, low, high, None, false)
        .unwrap();
    let scale = size_px / (code.size() as usize + 8);
    let offset = (size_px - code.size() as usize * scale) / 2;
    let module = |at: usize| (at as i32 - offset as i32).div_euclid(scale as i32);
    let grey: Vec<u8> = (0..size_px)
        .flat_map(|y| (0..size_px).map(move |x| (x, y)))
        .map(|(x, y)| if code.get_module(module(x), module(y)) { 0 } else { 255 })
        .collect();
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, size_px as u32, size_px as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&grey).unwrap();
    out
}

#[test]
fn a_right_answer_passes() {
    let body = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    let report = failures_with(named("one-letter"), answer(200, &picture_headers(&body), &body));
    assert_eq!(report, "1 passed, 0 failed");
}

#[test]
fn each_way_of_being_wrong_is_found_and_named() {
    let right = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    let good = picture_headers(&right);
    let with = |body: Vec<u8>| answer(200, &picture_headers(&body), &body);
    let larger = picture(&"a".repeat(18), qrcodegen::QrCodeEcc::Low, 200);
    let mut grey = right.clone();
    grey.truncate(right.len() - 20);
    for (name, wrong, expected) in [
        ("one-letter", answer(400, &good, &right), "status: expected [200], got 400"),
        (
            "one-letter",
            with(picture("b", qrcodegen::QrCodeEcc::Low, 200)),
            "text: expected \"a\", decoded \"b\"",
        ),
        (
            "one-letter",
            with(picture("a", qrcodegen::QrCodeEcc::Medium, 200)),
            "level: expected L, got M",
        ),
        ("one-letter", with(larger), "version: expected 1, got 2"),
        (
            "one-letter",
            with(picture("a", qrcodegen::QrCodeEcc::Low, 222)),
            "222 x 222 px, not 200 x 200",
        ),
        ("one-letter", with(grey), "a broken PNG"),
        ("one-letter", with(b"GIF89a".to_vec()), "not a PNG"),
        (
            "one-letter",
            answer(200, &good.replace("image/png", "image/gif"), &right),
            "content-type: expected",
        ),
        (
            "one-letter",
            answer(200, &good.replace("nosniff", "sniff"), &right),
            "x-content-type-options: expected",
        ),
        ("one-letter", answer(200, &good.replace("ETag", "X-ETag"), &right), "etag: none"),
        (
            "one-letter",
            answer(200, &good.replace("X-Request-Id", "X-Other"), &right),
            "x-request-id: none",
        ),
        (
            "one-letter",
            answer(200, &good.replace("legacy-node", "somebody"), &right),
            "x-served-by: expected",
        ),
        (
            "one-letter",
            answer(
                200,
                &good.replace("legacy-node", "qr-service").replace("\"tag\"", "W/\"tag\""),
                &right,
            ),
            "is weak",
        ),
        (
            "one-letter",
            answer(200, &good.replace("Content-Length: ", "Content-Length: 1"), &right),
            "Content-Length is",
        ),
        ("one-letter", b"nonsense".to_vec(), "not HTTP/1.1"),
        ("one-letter", Vec::new(), "closed without an answer"),
        ("head", answer(200, &good, &right), "an answer to HEAD has none"),
        ("if-none-match-any", answer(304, &good, b"x"), "a 304 has none"),
        ("request-id-taken-over", answer(200, &good, &right), "expected \"abc-123_DEF.4\" back"),
        (
            "text-empty",
            answer(400, "Content-Type: text/plain; charset=utf-8\r\n", b"missing"),
            "body: expected",
        ),
        (
            "method-post",
            answer(405, "Content-Type: text/plain; charset=utf-8\r\n", b"method not allowed"),
            "allow: expected",
        ),
    ] {
        let report = failures_with(named(name), wrong);
        assert!(report.ends_with("0 passed, 1 failed"), "{expected}: {report}");
        assert!(report.contains(expected), "{expected}: {report}");
        assert_eq!(report.lines().count(), 2, "one line a failure: {report}");
    }
}

#[test]
fn modules_of_uneven_size_are_found_in_the_services_pictures_alone() {
    let body = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    // One pixel of a dark module turned light does not stop decoding.
    let mut pixels = Pixels::from_png(&body).unwrap();
    let dark = pixels.grey.iter().rposition(|&grey| grey == 0).unwrap();
    pixels.grey[dark - 1] = 255;
    assert_eq!(decode_pixels(&pixels).unwrap().bytes, b"a");
    let mut uneven = Vec::new();
    let mut encoder = png::Encoder::new(&mut uneven, 200, 200);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&pixels.grey).unwrap();
    let headers = picture_headers(&uneven);
    let report = failures_with(named("one-letter"), answer(200, &headers, &uneven));
    assert_eq!(report, "1 passed, 0 failed");
    let headers = headers.replace("legacy-node", "qr-service");
    let report = failures_with(named("one-letter"), answer(200, &headers, &uneven));
    assert!(report.contains("is not of one colour"), "{report}");
}

#[test]
fn a_base_that_cannot_be_checked_is_said_to_be_so() {
    for (base, expected) in [
        ("localhost:80", "http"),
        ("https://localhost", "only http://"),
        ("http://localhost/qrcode", "scheme, host and port alone"),
        ("nonsense", "is not a URL"),
        ("http://127.0.0.1:1", "nothing can be reached at 127.0.0.1:1"),
    ] {
        let error = Target::new(base).unwrap_err().to_string();
        assert!(error.contains(expected), "{base}: {error}");
    }
}
