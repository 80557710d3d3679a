//! QuickChart: `/qr` and `/qr/batch`.

use std::io::BufReader;
use std::net::SocketAddr;

use serde_json::{Value, json};
use service_kit::testing::connect;

use crate::pictures::{extra, margins, picture, seen};
use crate::support::{Answer, files_of, get, padded, post_json, read, send, start};

const ON: [(&str, &str); 1] = [("QR_COMPAT", "quickchart")];

fn qr(addr: SocketAddr, query: &str) -> Answer {
    get(addr, &format!("/qr?{query}"))
}

#[test]
fn urls_found_in_programs_give_their_codes() {
    let service = start(&ON);
    for (query, size, text) in [
        ("text=Here's%20my%20text", 150, "Here's my text"),
        ("text=Hello+world", 150, "Hello+world"),
        (
            "text=https%3A%2F%2Fexample.com%2F%3Fa%3D1&size=200&margin=2",
            200,
            "https://example.com/?a=1",
        ),
        ("size=320&margin=2&text=id-1", 320, "id-1"),
        ("text=T1&size=60&margin=0&ecc=H", 60, "T1"),
        ("text=7&size=150&t=1699999999999", 150, "7"),
        (
            "text=BEGIN%3AVCARD%0AVERSION%3A3.0%0AN%3AIan%0AEND%3AVCARD&ecLevel=Q",
            150,
            "BEGIN:VCARD\nVERSION:3.0\nN:Ian\nEND:VCARD",
        ),
    ] {
        let answer = qr(service.addr, query);
        assert_eq!(seen(&answer), (size, size, text.to_owned()), "{query}");
        assert_eq!(answer.header("content-type"), Some("image/png"));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=604800"));
    }
}

#[test]
fn each_parameter_has_its_values_and_its_default() {
    let service = start(&ON);
    let plain = qr(service.addr, "text=hello");
    // 29 modules of 5 pixels.
    assert_eq!((picture(&plain).width, margins(&plain)), (150, [22, 22, 23, 23]));
    for same in [
        "format=png",
        "format=webp",
        "size=150",
        "size=0",
        "size=",
        "size=abc",
        "size=150px",
        "margin=4",
        "margin=-1",
        "margin=x",
        "dark=000",
        "dark=%23000000",
        "light=fff",
        "light=ffffffff",
        "dark=000f",
        "ecLevel=M",
        "ecLevel=medium",
        "ecLevel=X",
        "mode=byte",
        "text=second",
    ] {
        assert_eq!(qr(service.addr, &format!("text=hello&{same}")).body, plain.body, "{same}");
    }
    for (names, level) in [(["L", "low"], "L"), (["Q", "Quartile"], "Q"), (["h", "HIGH"], "H")] {
        for name in names {
            let answer = qr(service.addr, &format!("text=hello&ecLevel={name}"));
            assert_eq!(extra(&answer, "ECLevel"), level);
        }
    }
    for (query, width) in [
        ("size=300", 300),
        ("size=5000", 3000),
        ("size=29", 29),
        ("size=28", 116),
        ("size=-5", 116),
        ("size=10&margin=0", 84),
    ] {
        let answer = qr(service.addr, &format!("text=hello&{query}"));
        assert_eq!(picture(&answer).width, width, "{query}");
    }
    assert_eq!(margins(&qr(service.addr, "text=hello&margin=0&size=147")), [0; 4]);
    for (format, media) in [("svg", "image/svg+xml"), ("jpg", "image/jpeg")] {
        let answer = qr(service.addr, &format!("text=hello&size=290&format={format}"));
        assert_eq!(answer.header("content-type"), Some(media));
        assert_eq!(seen(&answer), (290, 290, "hello".to_owned()));
    }
    let transparent = qr(service.addr, "text=hello&light=0000&dark=036");
    assert_eq!(seen(&transparent).2, "hello");
    let image = image::load_from_memory(&transparent.body).unwrap().into_rgba8();
    assert_eq!((image.get_pixel(0, 0).0[3], image.get_pixel(24, 24).0), (0, [0, 0x33, 0x66, 255]));
    let kanji = qr(service.addr, "text=%E6%BC%A2%E5%AD%97&mode=sjis");
    assert_eq!(seen(&kanji).2, "漢字");
}

#[test]
fn looks_are_left_out_and_named() {
    let service = start(&ON);
    let answer = qr(service.addr, "text=hello&dotStyle=dot&finderColor=f00");
    assert_eq!(seen(&answer).2, "hello");
    assert_eq!(answer.header("x-qr-ignored"), Some("dotStyle, finderColor"));
    assert_eq!(qr(service.addr, "text=hello").header("x-qr-ignored"), None);
}

#[test]
fn bad_values_get_400_with_the_reason_in_a_header_and_a_picture_without_a_code() {
    let service = start(&ON);
    for (query, says) in [
        ("", "You are missing variable `text`"),
        ("text=", "You are missing variable `text`"),
        ("text=%FF", "URI malformed"),
        ("text=a&dark=12345", "dark: "),
        ("text=a&light=red!", "light: "),
        ("text=a&dark=fff&light=000", "dark: "),
        ("text=a&dark=ccc", "dark: "),
        ("text=a&margin=101", "margin: "),
        ("text=a&format=base64", "format: "),
        ("text=a&mode=sjis", "mode: "),
        ("text=a&format=svg&size=22", "size: "),
        ("text=a&caption=hi", "caption: "),
        ("text=a&centerImageUrl=http%3A%2F%2F127.0.0.1%2Fa.png", "centerImageUrl: "),
        (&format!("text={}", "a".repeat(3000)), "text: "),
    ] {
        let answer = qr(service.addr, query);
        let error = answer.header("x-quickchart-error").unwrap_or_default();
        assert_eq!(answer.status, 400, "{query}");
        assert!(error.contains(says), "{query}: {error}");
        assert_eq!(answer.header("content-type"), Some("image/png"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let image = image::load_from_memory(&answer.body).unwrap().into_luma8();
        let shown = crate::support::Picture {
            width: image.width(),
            height: image.height(),
            grey: image.into_raw(),
        };
        assert!(read(&padded(&shown), "qr").is_none());
    }
}

#[test]
fn a_post_takes_json() {
    let service = start(&ON);
    let body = json!({"text": "a+b ü", "size": 300, "margin": "2", "dark": "036", "format": "png"});
    let posted = post_json(service.addr, "/qr", &body);
    assert_eq!(seen(&posted), (300, 300, "a+b ü".to_owned()));
    let stream = &mut BufReader::new(connect(service.addr));
    let bad = send(stream, "POST", "/qr", "content-type: application/json\r\n", b"[1]");
    assert_eq!(bad.status, 400);
    assert!(bad.header("x-quickchart-error").unwrap().starts_with("body: "));
    let put = send(&mut BufReader::new(connect(service.addr)), "PUT", "/qr?text=a", "", b"");
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST")));
}

/// Asks for a batch until workers are free: a machine that is busy with other tests may keep one waiting.
fn batch(addr: SocketAddr, codes: &Value) -> Answer {
    let mut answers = (0..20).map(|_| post_json(addr, "/qr/batch", codes));
    answers.find(|answer| answer.status != 503).expect("all workers are busy all the time")
}

#[test]
fn a_batch_is_a_zip_with_the_names_asked() {
    let service = start(&ON);
    let codes = json!([
        {"text": "one", "filename": "first-code", "size": 300},
        {"text": "two", "filename": "../évil\\first-code.png", "dark": "a00", "light": "0ff"},
        {"text": "three", "format": "svg", "ecLevel": "H"},
        {"text": "four", "filename": "First-Code"},
        {"text": "five", "format": "jpg"},
    ]);
    let answer = batch(service.addr, &codes);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/zip")));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"qr-codes.zip\""));
    let files = files_of(&answer.body);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["first-code.png", "évilfirst-code.png", "qr-3.svg", "First-Code-2.png", "qr-5.jpg"];
    assert_eq!(names, expected);
    for ((name, body), text) in files.into_iter().zip(["one", "two", "three", "four", "five"]) {
        let media = match name.rsplit('.').next() {
            Some("svg") => "image/svg+xml",
            Some("jpg") => "image/jpeg",
            _ => "image/png",
        };
        let headers = vec![("content-type".to_owned(), media.to_owned())];
        assert_eq!(seen(&Answer { status: 200, headers, body }).2, text, "{name}");
    }
    let named = json!({"qrCodes": [{"text": "a"}], "zipFilename": "my-codes.zip"});
    let answer = batch(service.addr, &named);
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"my-codes.zip\""));
    let many: Vec<Value> =
        (0..1000).map(|i| json!({"text": format!("https://example.com/{i}")})).collect();
    let answer = batch(service.addr, &json!(many));
    assert_eq!(files_of(&answer.body).len(), 1000);
}

#[test]
fn a_batch_with_one_wrong_code_gets_400_with_its_index() {
    let service = start(&ON);
    let mut codes: Vec<Value> = (0..1000).map(|i| json!({"text": format!("{i}")})).collect();
    codes[999] = json!({"size": 100});
    for (body, error) in [
        (json!([{}]), "qrCodes[0]: Error: You are missing variable `text`"),
        (json!(codes), "qrCodes[999]: Error: You are missing variable `text`"),
        (json!([{"text": "a"}, {"text": "b", "dark": "ddd"}]), "qrCodes[1]: Error: dark: "),
        (json!([{"text": "a", "format": "base64"}]), "qrCodes[0]: Error: format: "),
        (json!([]), "qrCodes: use 1 to 1000 codes"),
        (json!(vec![json!({"text": "a"}); 1001]), "qrCodes: use 1 to 1000 codes"),
        (
            json!(vec![json!({"text": "a", "size": 3000}); 51]),
            "qrCodes: all codes have 459000000 pixels",
        ),
        (json!(vec![json!({"text": "a", "size": 3000, "format": "jpg"}); 6]), "qrCodes: all JPEGs"),
        (json!(["a"]), "qrCodes: every code is an object"),
        (json!({"codes": []}), "qrCodes: an array of codes is required"),
        (json!("a"), "send an array of codes"),
    ] {
        let answer = batch(service.addr, &body);
        let told = answer.json();
        assert_eq!((answer.status, &told["success"]), (400, &json!(false)));
        let text = told["error"].as_str().unwrap();
        assert!(text.starts_with(error), "{text}");
    }
    let stream = &mut BufReader::new(connect(service.addr));
    assert_eq!(send(stream, "POST", "/qr/batch", "", b"{").status, 400);
    assert_eq!(get(service.addr, "/qr/batch").header("allow"), Some("POST"));
    let stream = &mut BufReader::new(connect(service.addr));
    assert_eq!(send(stream, "POST", "/qr/batch", "", &vec![b' '; (1 << 20) + 1]).status, 413);
}
