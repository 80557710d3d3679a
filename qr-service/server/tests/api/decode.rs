//! `/v1/decode`: pictures that clients send.

use std::io::{BufReader, Write};
use std::net::SocketAddr;

use serde_json::json;
use service_kit::testing::connect;

use crate::support::{Answer, get, of_png, padded, read_answer, resident_bytes, send, start};

fn decode(addr: SocketAddr, media: &str, body: &[u8]) -> Answer {
    let headers = format!("content-type: {media}\r\n");
    send(&mut BufReader::new(connect(addr)), "POST", "/v1/decode", &headers, body)
}

/// A PNG of grey pixels.
fn png_of(width: u32, height: u32, grey: &[u8]) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(grey).unwrap();
    png
}

#[test]
fn what_was_sent_is_read_back_with_its_symbol() {
    let service = start(&[]);
    for (query, version, level) in [
        ("kind=qr&level=Q", "1", "Q"),
        ("kind=qr&level=H&version_min=7", "7", "H"),
        ("kind=qr&dark=036&light=0000", "1", "M"),
        ("kind=micro&level=M", "M3", "M"),
        ("kind=rmqr&level=H", "R13x27", "H"),
    ] {
        let png = get(service.addr, &format!("/v1/qr.png?text=hello&margin=4&{query}"));
        assert_eq!(png.status, 200, "{}", png.text());
        let answer = decode(service.addr, "image/png", &png.body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let decoded = answer.json();
        let symbol = &decoded["symbols"][0];
        assert_eq!(decoded["symbols"].as_array().unwrap().len(), 1, "{query} {decoded}");
        assert_eq!((&symbol["text"], &symbol["data"]), (&json!("hello"), &json!("aGVsbG8=")));
        assert_eq!(symbol["version"], png.header("x-qr-version").unwrap());
        assert_eq!((&symbol["version"], &symbol["level"]), (&json!(version), &json!(level)));
        // The margin is 4 modules of 8 pixels.
        for axis in 0..2 {
            let at = symbol["corners"][0][axis].as_f64().unwrap();
            assert!((at - 32.0).abs() < 8.0, "{query} {symbol}");
        }
    }
}

#[test]
fn two_symbols_and_a_part_of_a_message_are_read() {
    let service = start(&[]);
    let of = |query: &str| padded(&of_png(&get(service.addr, &format!("/v1/qr.png?{query}")).body));
    let first = of("text=one&scale=4");
    let second = of("text=word+word+word+word+word+word&version_max=1&part=2&scale=4");
    let height = first.height.max(second.height) as usize;
    let mut grey = Vec::new();
    for y in 0..height {
        for picture in [&first, &second] {
            let width = picture.width as usize;
            match picture.grey.get(y * width..(y + 1) * width) {
                Some(row) => grey.extend_from_slice(row),
                None => grey.resize(grey.len() + width, 255),
            }
        }
    }
    let png = png_of(first.width + second.width, height as u32, &grey);
    let answer = decode(service.addr, "image/png", &png).json();
    let symbols = answer["symbols"].as_array().unwrap();
    assert_eq!(symbols.len(), 2, "{answer}");
    let part = symbols.iter().find_map(|symbol| symbol.get("part")).unwrap();
    assert_eq!(part, &json!([2, 3]), "{answer}");
}

#[test]
fn what_is_no_picture_is_refused_and_what_has_no_symbol_is_empty() {
    let service = start(&[]);
    let png = get(service.addr, "/v1/qr.png?text=hello").body;
    for (media, body, status) in [
        ("image/png", &b"GIF89a"[..], 400),
        ("image/png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", 400),
        ("image/png", &png[..png.len() / 2], 400),
        ("image/png", b"\x89PNG\r\n\x1a\n", 400),
        ("image/svg+xml", b"<svg/>", 415),
        ("application/json", b"{}", 415),
    ] {
        let answer = decode(service.addr, media, body);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.faults().is_empty());
    }
    // By its bytes, whatever it is called.
    let renamed = decode(service.addr, "image/jpeg", &png).json();
    assert_eq!(renamed["symbols"][0]["text"], "hello");
    let blank = decode(service.addr, "image/png", &png_of(300, 200, &[255; 60_000])).json();
    assert_eq!(blank, json!({"width": 300, "height": 200, "symbols": []}));
    assert_eq!(get(service.addr, "/v1/decode").header("allow"), Some("POST"));
    let mut stream = BufReader::new(connect(service.addr));
    let head = "POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-type: image/png\r\n\
        content-length: 4194305\r\n\r\n";
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream, false).status, 413);
}

#[test]
fn a_form_may_bring_the_picture() {
    let service = start(&[]);
    let png = get(service.addr, "/v1/qr.png?text=hello").body;
    let form = |disposition: &str, content: &[u8]| {
        let head = format!("--b\r\ncontent-disposition: form-data; {disposition}\r\n\r\n");
        [
            b"--b\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\nx\r\n",
            head.as_bytes(),
            content,
            b"\r\n--b--\r\n",
        ]
        .concat()
    };
    let media = "multipart/form-data; boundary=b";
    let file = "name=\"file\"; filename=\"a.png\"";
    let answer = decode(service.addr, media, &form(file, &png));
    assert_eq!(answer.json()["symbols"][0]["text"], "hello");
    let none = decode(service.addr, media, &form("name=\"file\"", b"x"));
    assert_eq!((none.status, &none.json()["detail"]), (400, &json!("the form has no file")));
    assert_eq!(decode(service.addr, media, b"--b\r\n").status, 400);
    assert_eq!(decode(service.addr, "multipart/form-data", &form(file, &png)).status, 400);
    assert_eq!(decode(service.addr, media, &form(file, &vec![0; (4 << 20) + 1])).status, 413);
}

#[test]
fn bombs_and_noise_take_bounded_memory_and_time() {
    let service = start(&[]);
    // 100 million pixels by the header alone, whose checksum is wrong then, and 16 million in 16 kB.
    let mut bomb = png_of(1, 1, &[0]);
    bomb[16..24].copy_from_slice(&[0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10]);
    assert_eq!(decode(service.addr, "image/png", &bomb).status, 400);
    let wide = png_of(4000, 4000, &vec![255; 16_000_000]);
    assert!(wide.len() < 200_000, "{}", wide.len());
    let answer = decode(service.addr, "image/png", &wide);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.json()["detail"].as_str().unwrap().contains("8400000"));
    let mut random = fastrand::Rng::with_seed(5);
    let noise: Vec<u8> = (0..1_000_000).map(|_| random.u8(..)).collect();
    let noise = decode(service.addr, "image/png", &png_of(1000, 1000, &noise));
    assert_eq!(noise.json()["symbols"], json!([]));
    // Finder patterns side by side: any three of them could be a symbol's.
    let is_dark = |x: usize, y: usize| {
        let far = (x % 8).abs_diff(3).max((y % 8).abs_diff(3));
        x % 8 < 7 && y % 8 < 7 && far != 2
    };
    let grid = (0..1_000_000).map(|i| if is_dark(i % 1000 / 3, i / 3000) { 0 } else { 255 });
    let grid = png_of(1000, 1000, &grid.collect::<Vec<u8>>());
    assert_eq!(decode(service.addr, "image/png", &grid).status, 200);
    let resident = resident_bytes(service.child.id());
    assert!(resident < 128_000_000, "{resident} bytes");
}
