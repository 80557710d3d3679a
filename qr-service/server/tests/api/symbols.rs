//! Tests symbols of every kind; zxing-cpp reads them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::{
    encode, get, of_png, of_rows, of_svg, padded, post_json, read, rows_of, start,
};

#[test]
fn every_kind_level_and_mode_decodes_to_the_bytes_asked() {
    let service = start(&[]);
    let mut read_count = 0;
    for (kind, levels) in
        [("qr", &["L", "M", "Q", "H"][..]), ("micro", &["L", "M", "Q"]), ("rmqr", &["M", "H"])]
    {
        for level in levels {
            for (mode, text) in [
                ("auto", "Ab1"),
                ("numeric", "0123"),
                ("alphanumeric", "A-1"),
                ("byte", "é+\n"),
                ("kanji", "漢"),
                ("auto-kanji", "漢1"),
            ] {
                let query = format!("kind={kind}&level={level}&mode={mode}&text={}", encode(text));
                let png = get(service.addr, &format!("/v1/qr.png?{query}"));
                assert_eq!(png.status, 200, "{query}: {}", png.text());
                let png_read = read(&of_png(&png.body), kind).unwrap_or_else(|| panic!("{query}"));
                let svg = get(service.addr, &format!("/v1/qr.svg?{query}"));
                let svg_read = read(&of_svg(&svg.body, 4.0), kind).unwrap();
                let json = get(service.addr, &format!("/v1/qr.json?{query}"));
                let json_read = read(&of_rows(&rows_of(&json), 3), kind).unwrap();
                assert_eq!(png_read.text(), text, "{query}");
                assert_eq!(png_read.bytes(), svg_read.bytes());
                assert_eq!(png_read.bytes(), json_read.bytes());
                let zxing_level = png_read.extra_with_key("ECLevel");
                assert_eq!(png.header("x-qr-level"), Some(&*zxing_level), "{query}");
                read_count += 1;
            }
        }
    }
    assert_eq!(read_count, 9 * 6);
}

#[test]
fn bytes_eci_gs1_and_structured_append_arrive() {
    let service = start(&[]);
    let fetch = |query: &str| {
        let answer = get(service.addr, &format!("/v1/qr.png?{query}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let barcode = read(&of_png(&answer.body), "qr").unwrap();
        (answer, barcode)
    };
    for data in ["AP-A", "AP+A"] {
        assert_eq!(fetch(&format!("data={}", encode(data))).1.bytes()[0], 0);
    }
    assert!(fetch("text=%C3%A9&eci=26").1.has_eci());
    let gs1 = fetch("text=010950110153000310AB%1D21X&gs1=true").1;
    assert_eq!(gs1.bytes(), b"010950110153000310AB\x1d21X");
    assert_eq!(fetch("text=123&boost=true").0.header("x-qr-level"), Some("H"));
    let message = "word ".repeat(50);
    let mut whole = Vec::new();
    for part in 1..=4 {
        let query = format!("text={}&version_max=5&part={part}", encode(&message));
        let (answer, barcode) = fetch(&query);
        assert_eq!(answer.header("x-qr-parts"), Some("4"));
        assert_eq!((barcode.sequence_index(), barcode.sequence_size()), (part - 1, 4));
        whole.extend(barcode.bytes());
    }
    assert_eq!(whole, message.as_bytes());
}

#[test]
fn bytes_for_sixteen_of_the_largest_symbols_come_back_the_same() {
    let service = start(&[]);
    // All values, zero among them, in an order that is no text.
    let bytes: Vec<u8> = (0..47_200_u32).map(|at| (at * at / 251) as u8).collect();
    let ask = |part: usize, bytes: &[u8]| {
        let body = json!({"data": STANDARD.encode(bytes), "level": "L", "part": part});
        post_json(service.addr, "/v1/qr.json", &body)
    };
    for part in [1, 7, 16] {
        let answer = ask(part, &bytes);
        assert_eq!(answer.header("x-qr-parts"), Some("16"), "{}", answer.text());
        let barcode = read(&of_rows(&rows_of(&answer), 3), "qr").unwrap();
        assert_eq!(barcode.sequence_index() as usize, part - 1);
        let own = barcode.bytes();
        let is_there = match part {
            1 => bytes.starts_with(&own),
            16 => bytes.ends_with(&own),
            _ => bytes.windows(own.len()).any(|it| it == own),
        };
        assert!(is_there && own.len() > 2000, "{part}: {} bytes", own.len());
    }
    let more = ask(1, &[&bytes[..], &[0xff; 200]].concat());
    assert_eq!((more.status, more.faults()), (422, vec!["data too-long".to_owned()]));
}

#[test]
fn what_nobody_could_read_is_not_sent() {
    let service = start(&[]);
    let long = "a".repeat(500);
    for (query, fault) in [
        (format!("pdf?text={long}&width_mm=3"), "width_mm unreadable"),
        (format!("eps?text={long}&width_mm=3"), "width_mm unreadable"),
    ] {
        let answer = get(service.addr, &format!("/v1/qr.{query}"));
        assert_eq!((answer.status, answer.faults()), (422, vec![fault.to_owned()]), "{query}");
    }
    // The value that the fault names works.
    let refused = get(service.addr, &format!("/v1/qr.pdf?text={long}&width_mm=3")).json();
    let enough = refused["faults"][0]["minimum"].as_f64().unwrap();
    let works = get(service.addr, &format!("/v1/qr.pdf?text={long}&width_mm={enough}"));
    assert_eq!(works.status, 200, "{enough} mm");
    for (query, scale) in [
        ("png?text=a&dark=036&light=ffe", 1.0),
        ("png?text=a&dark=0000&light=fff".replace("0000", "000").as_str(), 1.0),
        ("svg?text=a&dark=036&light=0000", 4.0),
        ("svg?text=hello&size=77", 1.0),
        ("png?text=a&light=0000&margin=0", 1.0),
    ] {
        let answer = get(service.addr, &format!("/v1/qr.{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        let is_svg = query.starts_with("svg");
        let picture = if is_svg { of_svg(&answer.body, scale) } else { of_png(&answer.body) };
        assert!(read(&padded(&picture), "qr").is_some(), "{query}");
    }
}

#[test]
fn an_svg_of_rmqr_has_whole_pixels_at_the_size_asked() {
    let service = start(&[]);
    // zxing-cpp does not read this one, an R13x77, at 1001 pixels.
    let text =
        "72701262715857459563728501179259098969404968568357915789514960768278267709369475437644872";
    for kind in ["rmqr", "micro"] {
        let text = if kind == "micro" { "123" } else { text };
        let asked = |size: &str| {
            get(service.addr, &format!("/v1/qr.svg?kind={kind}&text={text}&size={size}"))
        };
        let refused = asked("1001");
        assert_eq!((refused.status, refused.faults()), (422, vec!["size unreadable".to_owned()]));
        let suggestion = refused.json()["faults"][0]["suggestion"].as_str().unwrap().to_owned();
        let works = asked(suggestion.rsplit(' ').next().unwrap());
        assert_eq!(works.status, 200, "{suggestion}");
        assert!(read(&padded(&of_svg(&works.body, 1.0)), kind).is_some(), "{suggestion}");
    }
}
