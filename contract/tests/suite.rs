//! The cases are well formed, and the runner finds every kind of mistake.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use contract::case::{self, FILES};
use contract::decode::{Pixels, decode_pixels};
use contract::{Case, Options, Target, run};

#[test]
fn every_file_of_cases_matches_the_schema() {
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
fn cases_of_another_route_check_what_they_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/report");
    let file = std::fs::read_to_string(folder.join("cases/report.json")).unwrap();
    let schema = serde_json::from_str(include_str!("../cases/schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    schema.validate(&serde_json::from_str(&file).unwrap()).unwrap();

    let cases = case::read(&folder.join("cases")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut python = Command::new("python3");
    python.arg(folder.join("old.py")).arg(port.to_string()).stdout(Stdio::piped());
    let mut app = python.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(app.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let target = Target::new(&format!("http://127.0.0.1:{port}")).unwrap();
    let right = run(&target, &cases, &Options::default());
    let mut wrong = cases.clone();
    wrong[0].expect.headers.insert("content-type".to_owned(), "image/png".to_owned());
    wrong[1].expect.status = vec![204];
    wrong[2].expect.body = serde_json::from_str("\"another\"").unwrap();
    let wrong = run(&target, &wrong, &Options::default());
    app.kill().unwrap();
    app.wait().unwrap();
    assert_eq!(right.counts(), (5, 0), "{right}");
    assert_eq!(wrong.counts(), (2, 3), "{wrong}");

    let empty = tempfile::tempdir().unwrap();
    let error = |folder: &Path| format!("{:#}", case::read(folder).unwrap_err());
    assert!(error(empty.path()).contains("has no cases (*.json)"));
    std::fs::write(empty.path().join("a.json"), r#"[{"name":"a","expect":{"status":[200]}}]"#)
        .unwrap();
    assert!(error(empty.path()).contains("a.json: a: a path begins with /"));
    assert!(error(&folder.join("nowhere")).contains("nowhere"));
}

#[test]
fn there_are_many_cases_and_their_names_are_unique() {
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
fn openapi_has_every_status_and_error_that_the_cases_expect() {
    let api: serde_json::Value = serde_yaml_ng::from_str(include_str!("../openapi.yaml")).unwrap();
    let text = api.to_string();
    for case in case::all().unwrap() {
        for status in &case.expect.status {
            let method = if case.method == "HEAD" { "head" } else { "get" };
            let responses = &api["paths"]["/qrcode"][method]["responses"];
            let named = responses.get(status.to_string()).is_some();
            // openapi.yaml leaves it to the server how to refuse an unknown method.
            assert!(named || *status == 501, "{}: {status}", case.name);
        }
        if let Some(error) = &case.expect.error {
            assert!(text.contains(&serde_json::to_string(error).unwrap()), "{error}");
        }
    }
    // No reference is dangling.
    for (at, _) in text.match_indices("\"$ref\":\"#") {
        let pointer = text[at + 9..].split('"').next().unwrap();
        assert!(api.pointer(pointer).is_some(), "{pointer}");
    }
}

fn named(name: &str) -> Case {
    case::all().unwrap().into_iter().find(|case| case.name == name).unwrap()
}

/// Answers every request with the same bytes; returns the report on `case`.
fn report_on(case: Case, answer: Vec<u8>) -> String {
    report_with(case, answer, &Options::default())
}

fn report_with(case: Case, answer: Vec<u8>, options: &Options) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The first connection only tests whether the server can be reached.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&answer);
        }
    });
    let target = Target::new(&format!("http://{addr}")).unwrap();
    run(&target, &[case], options).to_string()
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

/// A picture of a text, drawn by an independent encoder.
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
    png_of(&grey, size_px as u32)
}

/// A PNG of 8-bit grey pixels.
fn png_of(grey: &[u8], size_px: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size_px, size_px);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(grey).unwrap();
    file
}

#[test]
fn a_correct_answer_passes() {
    let body = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    let report = report_on(named("one-letter"), answer(200, &picture_headers(&body), &body));
    assert_eq!(report, "1 passed, 0 failed");
}

#[test]
fn every_mistake_is_found_and_named() {
    let right = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    let good = picture_headers(&right);
    let with = |body: Vec<u8>| answer(200, &picture_headers(&body), &body);
    let larger = picture(&"a".repeat(18), qrcodegen::QrCodeEcc::Low, 200);
    let cut = right[..right.len() - 20].to_vec();
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
        ("one-letter", with(cut), "a broken PNG"),
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
        ("head", answer(200, &good, &right), "HEAD must have none"),
        ("if-none-match-any", answer(304, &good, b"x"), "a 304 must have none"),
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
        let report = report_on(named(name), wrong);
        assert!(report.ends_with("0 passed, 1 failed"), "{expected}: {report}");
        assert!(report.contains(expected), "{expected}: {report}");
        assert_eq!(report.lines().count(), 2, "one line per failed case: {report}");
    }
}

#[test]
fn the_servers_name_counts_only_if_the_run_asks_for_it() {
    let body = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    let named_so = |name: &str| picture_headers(&body).replace("legacy-node", name);
    let nameless = picture_headers(&body).replace("X-Served-By: legacy-node\r\n", "");
    let ours = ["qr-service", "legacy-node"].map(str::to_owned).to_vec();
    let asked = Options { served_by: ours, ..Options::default() };
    for (headers, problem) in [
        (named_so("legacy-node"), None),
        (named_so("somebody"), Some("expected qr-service or legacy-node, got \"somebody\"")),
        (nameless, Some("expected qr-service or legacy-node, got none")),
    ] {
        let given = answer(200, &headers, &body);
        let report = report_on(named("one-letter"), given.clone());
        assert_eq!(report, "1 passed, 0 failed", "{headers}");
        let report = report_with(named("one-letter"), given, &asked);
        match problem {
            None => assert_eq!(report, "1 passed, 0 failed"),
            Some(problem) => assert!(report.contains(problem), "{problem}: {report}"),
        }
    }
}

#[test]
fn uneven_modules_fail_only_in_pictures_of_qr_service() {
    let body = picture("a", qrcodegen::QrCodeEcc::Low, 200);
    // One light pixel in a dark module does not prevent decoding.
    let mut pixels = Pixels::from_png(&body).unwrap();
    let dark = pixels.grey.iter().rposition(|&grey| grey == 0).unwrap();
    pixels.grey[dark - 1] = 255;
    assert_eq!(decode_pixels(&pixels).unwrap().bytes, b"a");
    let uneven = png_of(&pixels.grey, 200);
    let headers = picture_headers(&uneven);
    let report = report_on(named("one-letter"), answer(200, &headers, &uneven));
    assert_eq!(report, "1 passed, 0 failed");
    let headers = headers.replace("legacy-node", "qr-service");
    let report = report_on(named("one-letter"), answer(200, &headers, &uneven));
    assert!(report.contains("has two colours"), "{report}");
}

#[test]
fn a_bad_base_url_is_reported() {
    for (base, expected) in [
        ("localhost:80", "http"),
        ("https://localhost", "only http://"),
        ("http://localhost/qrcode", "only scheme, host and port"),
        ("nonsense", "is not a URL"),
        ("http://127.0.0.1:1", "cannot connect to 127.0.0.1:1"),
    ] {
        let error = Target::new(base).unwrap_err().to_string();
        assert!(error.contains(expected), "{base}: {error}");
    }
}
