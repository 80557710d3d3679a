//! Tests `/v1/decode`.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use image::{DynamicImage, ImageFormat, RgbImage};
use serde_json::{Value, json};
use service_kit::testing::connect;

use crate::support::{
    Answer, FORM, encode, form, get, of_png, padded, png_of, post_file, post_json, read_answer,
    resident_bytes, start,
};
use crate::uploads::encoded;

/// Sends a picture, again while the service is too busy to read it in time.
pub(crate) fn decode(addr: SocketAddr, media: &str, body: &[u8]) -> Answer {
    post_file(addr, "/v1/decode", media, body)
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
        assert_eq!((&symbol["symbology"], symbol.get("guessed_encoding")), (&json!("]Q1"), None));
        // The margin is 4 modules of 8 pixels.
        let (right, bottom) =
            (decoded["width"].as_f64().unwrap(), decoded["height"].as_f64().unwrap());
        let expected = [
            [32.0, 32.0],
            [right - 32.0, 32.0],
            [right - 32.0, bottom - 32.0],
            [32.0, bottom - 32.0],
        ];
        for (corner, expected) in corners(symbol).into_iter().zip(expected) {
            let off = (corner[0] - expected[0]).hypot(corner[1] - expected[1]);
            assert!(off < 5.0, "{query} {symbol}");
        }
    }
}

fn corners(symbol: &Value) -> Vec<[f64; 2]> {
    serde_json::from_value(symbol["corners"].clone()).unwrap()
}

/// Recolours a symbol's PNG as white on red.
fn white_on_red(png: &[u8]) -> Vec<u8> {
    let picture = of_png(png);
    let color = |x: u32, y: u32| match picture.grey[(y * picture.width + x) as usize] {
        0 => image::Rgb([255; 3]),
        _ => image::Rgb([220, 0, 30]),
    };
    let image = RgbImage::from_fn(picture.width, picture.height, color);
    encoded(&DynamicImage::from(image), ImageFormat::Png)
}

#[test]
fn white_on_red_is_read() {
    let service = start(&[]);
    for kind in ["qr", "micro", "rmqr"] {
        let png = get(service.addr, &format!("/v1/qr.png?text=hello&kind={kind}")).body;
        let answer = decode(service.addr, "image/png", &white_on_red(&png)).json();
        assert_eq!(answer["symbols"][0]["text"], "hello", "{kind}: {answer}");
    }
}

#[test]
fn gs1_has_its_symbology_and_texts_without_an_encoding_are_guessed_with_its_name() {
    let service = start(&[]);
    let gs1 = post_json(service.addr, "/v1/payload/gs1.png", &json!({"elements": "(10)A-1(21)2"}));
    let symbol = &decode(service.addr, "image/png", &gs1.body).json()["symbols"][0];
    assert_eq!((&symbol["symbology"], &symbol["text"]), (&json!("]Q3"), &json!("10A-1\u{1d}212")));
    let eci = get(service.addr, "/v1/qr.png?text=%C3%A9&eci=26").body;
    let symbol = &decode(service.addr, "image/png", &eci).json()["symbols"][0];
    assert_eq!((&symbol["symbology"], &symbol["text"]), (&json!("]Q2"), &json!("é")));
    for (name, text, bytes) in [
        ("GBK", "你好", &b"\xc4\xe3\xba\xc3"[..]),
        ("Shift_JIS", "日本語", b"\x93\xfa\x96{\x8c\xea"),
        ("windows-1251", "Привет", b"\xcf\xf0\xe8\xe2\xe5\xf2"),
        ("windows-1252", "Müller", b"M\xfcller"),
    ] {
        let data = URL_SAFE.encode(bytes);
        let png = get(service.addr, &format!("/v1/qr.png?data={data}"));
        assert_eq!(png.status, 200, "{}", png.text());
        let symbol = &decode(service.addr, "image/png", &png.body).json()["symbols"][0];
        let read = (&symbol["guessed_encoding"], &symbol["text"], &symbol["data"]);
        assert_eq!(read, (&json!(name), &json!(text), &json!(STANDARD.encode(bytes))));
    }
    // Symbols in Kanji mode declare no encoding, but the mode implies it.
    for text in ["%E7%82%B9", "%E7%82%B9%E8%8C%97", "A%E6%97%A5%E6%9C%AC1"] {
        let png = get(service.addr, &format!("/v1/qr.png?mode=auto-kanji&text={text}"));
        assert_eq!(png.status, 200, "{}", png.text());
        let symbol = &decode(service.addr, "image/png", &png.body).json()["symbols"][0];
        assert_eq!(symbol.get("guessed_encoding"), None, "{symbol}");
    }
}

#[test]
fn a_photo_of_twelve_million_pixels_is_read_and_turned_by_its_exif() {
    let service = start(&[]);
    let symbol = of_png(&get(service.addr, "/v1/qr.png?text=photo&scale=12").body);
    // The symbol's upper left corner is at 400, 300 of the sensor.
    let (left, top, side) = (400, 300, symbol.width);
    let image = RgbImage::from_fn(4032, 3024, |x, y| {
        let (x, y) = (x.wrapping_sub(left), y.wrapping_sub(top));
        let is_on = x < side && y < side;
        image::Rgb([if is_on { symbol.grey[(y * side + x) as usize] } else { 200 }; 3])
    });
    let jpeg = encoded(&DynamicImage::from(image), ImageFormat::Jpeg);
    // The Exif data say that the camera was turned by 90 degrees.
    let exif =
        b"\xff\xe1\x00\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let turned = [&jpeg[..2], &exif[..], &jpeg[2..]].concat();
    let answer = decode(service.addr, "image/jpeg", &turned);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let read = answer.json();
    assert_eq!((&read["width"], &read["height"]), (&json!(3024), &json!(4032)));
    assert_eq!(read["symbols"][0]["text"], "photo", "{read}");
    // Its margin is 4 modules of 12 pixels.
    let expected = [f64::from(3024 - top - 48), f64::from(left + 48)];
    let corner = corners(&read["symbols"][0])[0];
    assert!((corner[0] - expected[0]).hypot(corner[1] - expected[1]) < 8.0, "{read}");
}

/// Returns a PNG with the pictures of these queries side by side.
fn beside_each_other(addr: SocketAddr, queries: &[String]) -> Vec<u8> {
    let of = |query: &String| padded(&of_png(&get(addr, &format!("/v1/qr.png?{query}")).body));
    let pictures: Vec<_> = queries.iter().map(of).collect();
    let height = pictures.iter().map(|picture| picture.height).max().unwrap();
    let mut grey = Vec::new();
    for y in 0..height as usize {
        for picture in &pictures {
            let width = picture.width as usize;
            match picture.grey.get(y * width..(y + 1) * width) {
                Some(row) => grey.extend_from_slice(row),
                None => grey.resize(grey.len() + width, 255),
            }
        }
    }
    png_of(pictures.iter().map(|picture| picture.width).sum(), height, &grey)
}

#[test]
fn two_symbols_and_a_part_of_a_message_are_read() {
    let service = start(&[]);
    let part = "text=word+word+word+word+word+word&version_max=1&part=2&scale=4";
    let png = beside_each_other(service.addr, &["text=one&scale=4".into(), part.into()]);
    let answer = decode(service.addr, "image/png", &png).json();
    let symbols = answer["symbols"].as_array().unwrap();
    assert_eq!(symbols.len(), 2, "{answer}");
    let part = symbols.iter().find_map(|symbol| symbol.get("part")).unwrap();
    assert_eq!(part, &json!([2, 3]), "{answer}");
    let message = &answer["messages"][0];
    assert_eq!((&message["parts"], &message["missing"]), (&json!(3), &json!([1, 3])), "{answer}");
    assert_eq!((message.get("text"), message.get("data")), (None, None));
}

/// Six parts of two messages on one picture could not be told apart.
#[test]
fn the_parts_of_several_messages_are_joined() {
    let service = start(&[]);
    let messages = ["first first first first first first", "größer größer größer größer größ"];
    let of = |text: &str, part: usize| {
        format!("text={}&version_max=1&level=L&part={part}&scale=4", encode(text))
    };
    let queries: Vec<String> =
        (1..=3).flat_map(|part| messages.map(|text| of(text, 4 - part))).collect();
    let png = beside_each_other(service.addr, &queries);
    let answer = decode(service.addr, "image/png", &png).json();
    assert_eq!(answer["symbols"].as_array().unwrap().len(), 6, "{answer}");
    let parity = |text: &str| text.bytes().fold(0, |parity, byte| parity ^ byte);
    let mut joined: Vec<(u64, &str)> = answer["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            assert_eq!((&message["missing"], &message["ambiguous"]), (&json!([]), &json!([])));
            let text = message["text"].as_str().unwrap();
            assert_eq!(message["data"], STANDARD.encode(text));
            (message["parity"].as_u64().unwrap(), text)
        })
        .collect();
    joined.sort();
    let mut expected = messages.map(|text| (u64::from(parity(text)), text));
    expected.sort();
    assert_eq!(joined, expected);
    for symbol in answer["symbols"].as_array().unwrap() {
        assert!(expected.iter().any(|(parity, _)| symbol["parity"] == *parity), "{symbol}");
    }
}

#[test]
fn parts_that_may_belong_to_either_of_two_messages_are_not_joined() {
    let service = start(&[]);
    // The same bytes in another order have the same parity.
    let texts = ["aaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbb", "bbbbbbbbbbbbbbbbbbaaaaaaaaaaaaaaaaaa"];
    let parts = (1..=3).flat_map(|part| {
        texts.map(|text| format!("text={text}&version_max=1&level=L&part={part}&scale=4"))
    });
    let png = beside_each_other(service.addr, &parts.collect::<Vec<_>>());
    let answer = decode(service.addr, "image/png", &png).json();
    let message = &answer["messages"][0];
    assert_ne!(message["ambiguous"], json!([]), "{answer}");
    assert_eq!((message.get("text"), &answer["messages"][1]), (None, &Value::Null), "{answer}");
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
    // The bytes decide the format, not the media type.
    let renamed = decode(service.addr, "image/jpeg", &png).json();
    assert_eq!(renamed["symbols"][0]["text"], "hello");
    let blank = decode(service.addr, "image/png", &png_of(300, 200, &[255; 60_000])).json();
    assert_eq!(blank, json!({"width": 300, "height": 200, "symbols": [], "truncated": false}));
    assert_eq!(get(service.addr, "/v1/decode").header("allow"), Some("POST"));
}

#[test]
fn a_file_that_is_too_long_is_refused_as_such_while_there_is_no_room() {
    let service = start(&[]);
    let announce = |bytes: u32| {
        let mut stream = BufReader::new(connect(service.addr));
        let head = format!(
            "POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-type: image/png\r\n\
             expect: 100-continue\r\ncontent-length: {bytes}\r\n\r\n"
        );
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        stream
    };
    // Of the room for 16 MiB, the first takes 10: it is told to send them.
    let mut first = String::new();
    let mut reader = announce(10 << 20);
    reader.read_line(&mut first).unwrap();
    assert_eq!(first, "HTTP/1.1 100 Continue\r\n");
    assert_eq!(read_answer(&mut announce(7 << 20), false).status, 503);
    let answer = read_answer(&mut announce((10 << 20) + 1), false);
    assert_eq!((answer.status, answer.faults().len()), (413, 0));
}

#[test]
fn a_form_may_bring_the_picture() {
    let service = start(&[]);
    let png = get(service.addr, "/v1/qr.png?text=hello").body;
    let form = |disposition: &str, content: &[u8]| {
        form(&[("name=\"note\"", b"x"), (disposition, content)])
    };
    let media = FORM;
    let file = "name=\"file\"; filename=\"a.png\"";
    let answer = decode(service.addr, media, &form(file, &png));
    assert_eq!(answer.json()["symbols"][0]["text"], "hello");
    let none = decode(service.addr, media, &form("name=\"file\"", b"x"));
    assert_eq!((none.status, &none.json()["detail"]), (400, &json!("the form has no file")));
    assert_eq!(decode(service.addr, media, b"--b\r\n").status, 400);
    assert_eq!(decode(service.addr, "multipart/form-data", &form(file, &png)).status, 400);
    assert_eq!(decode(service.addr, media, &form(file, &vec![0; (10 << 20) + 1])).status, 413);
}

#[test]
fn bombs_and_noise_take_bounded_memory() {
    let service = start(&[]);
    // 100 million pixels that only the header claims, so that its checksum is wrong, and 26 million in 26 kB.
    let mut bomb = png_of(1, 1, &[0]);
    bomb[16..24].copy_from_slice(&[0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10]);
    assert_eq!(decode(service.addr, "image/png", &bomb).status, 400);
    let wide = png_of(6500, 4000, &vec![255; 26_000_000]);
    assert!(wide.len() < 200_000, "{}", wide.len());
    let answer = decode(service.addr, "image/png", &wide);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.json()["detail"].as_str().unwrap().contains("25000000"));
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
