//! Tests goQR: `/v1/create-qr-code/` and `/v1/read-qr-code/`.

use std::net::SocketAddr;

use serde_json::{Value, json};
use service_kit::testing::has_all;

use crate::pictures::{extra, margins, picture, seen};
use crate::support::{Answer, FORM, form, get, png_of, request, start};

const ON: [(&str, &str); 1] = [("QR_COMPAT", "goqr")];

fn create(addr: SocketAddr, query: &str) -> Answer {
    get(addr, &format!("/v1/create-qr-code/?{query}"))
}

#[test]
fn each_parameter_has_its_values_and_its_default() {
    let service = start(&ON);
    let plain = create(service.addr, "data=hello");
    assert_eq!(seen(&plain), (200, 200, "hello".to_owned()));
    assert_eq!(plain.header("access-control-allow-origin"), Some("*"));
    // The margin of one pixel leaves 198 pixels for 21 modules of 9, in the middle.
    assert_eq!(margins(&plain), [5, 5, 6, 6]);
    // Without that margin, 210 pixels would hold 21 modules of 10.
    assert_eq!(margins(&create(service.addr, "data=hello&size=210x210")), [10, 10, 11, 11]);
    assert_eq!(margins(&create(service.addr, "data=hello&size=210x210&margin=0")), [0; 4]);
    for same in [
        "data=hello&size=200x200&ecc=L&color=0-0-0&bgcolor=255-255-255&margin=1&qzone=0&format=png",
        "data=hello&charset-source=UTF-8&charset-target=utf-8&color=000&bgcolor=fff&ecc=l&size=",
        "data=first&data=hello",
    ] {
        assert_eq!(create(service.addr, same).body, plain.body, "{same}");
    }
    for level in ["L", "M", "Q", "H"] {
        let answer = create(service.addr, &format!("data=hello&ecc={level}"));
        assert_eq!(extra(&answer, "ECLevel"), level);
    }
    for (query, margin) in [
        ("margin=0&qzone=0", 5),
        ("margin=50", 58),
        ("qzone=4&margin=0", 37),
        ("qzone=100&size=1000x1000", 458),
    ] {
        let answer = create(service.addr, &format!("data=hello&{query}"));
        let [left, top, ..] = margins(&answer);
        assert_eq!((left, top), (margin, margin), "{query}");
    }
    for (format, media) in [
        ("png", "png"),
        ("PNG", "png"),
        ("gif", "gif"),
        ("jpg", "jpeg"),
        ("jpeg", "jpeg"),
        ("svg", "svg+xml"),
    ] {
        let answer = create(service.addr, &format!("data=hello&size=300x300&format={format}"));
        assert_eq!(answer.header("content-type"), Some(&*format!("image/{media}")));
        assert_eq!(seen(&answer), (300, 300, "hello".to_owned()), "{format}");
    }
    let eps = create(service.addr, "data=hello&format=eps&size=144x144");
    assert_eq!(eps.header("content-type"), Some("application/postscript"));
    assert!(eps.text().contains("%%BoundingBox: 0 0 144 144"), "{}", &eps.text()[..200]);
    let wide = create(service.addr, "data=hello&format=svg&size=1000000x1000000");
    assert!(wide.text().contains("width=\"1000000\""));
}

#[test]
fn colours_are_decimal_or_hexadecimal() {
    let service = start(&ON);
    for (color, bgcolor) in
        [("255-0-0", "255-255-0"), ("f00", "ff0"), ("FF0000", "ffff00"), ("%23ff0000", "ffff00")]
    {
        let answer = create(service.addr, &format!("data=hello&color={color}&bgcolor={bgcolor}"));
        assert_eq!(seen(&answer).2, "hello");
        let image = image::load_from_memory(&answer.body).unwrap().into_rgb8();
        assert_eq!(image.get_pixel(0, 0).0, [255, 255, 0], "{color}");
        assert_eq!(image.get_pixel(6, 6).0, [255, 0, 0], "{color}");
    }
}

#[test]
fn charsets_are_those_of_the_request_and_of_the_symbol() {
    let service = start(&ON);
    let bytes = |query: &str| {
        let answer = create(service.addr, query);
        crate::support::read(&crate::support::padded(&picture(&answer)), "qr").unwrap().bytes()
    };
    assert_eq!(bytes("data=%C3%BC"), [0xc3, 0xbc]);
    assert_eq!(bytes("data=%FC&charset-source=ISO-8859-1"), [0xc3, 0xbc]);
    assert_eq!(bytes("data=%FC&charset-source=ISO-8859-1&charset-target=iso-8859-1"), [0xfc]);
    assert_eq!(bytes("data=%C3%BC&charset-target=ISO-8859-1"), [0xfc]);
}

#[test]
fn a_post_has_its_parameters_in_a_form_and_the_query_comes_first() {
    let service = start(&ON);
    let addr = service.addr;
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let posted = request(addr, "POST", "/v1/create-qr-code/", form, b"data=a+b&size=300x300");
    assert_eq!(seen(&posted), (300, 300, "a b".to_owned()));
    let both =
        request(addr, "POST", "/v1/create-qr-code/?size=100x100", form, b"data=c&size=300x300");
    assert_eq!(seen(&both), (100, 100, "c".to_owned()));
    let (parts, body) = (format!("content-type: {FORM}\r\n"), form(&[("name=\"data\"", b"d")]));
    assert_eq!(seen(&request(addr, "POST", "/v1/create-qr-code/", &parts, &body)).2, "d");
    let put = request(service.addr, "PUT", "/v1/create-qr-code/?data=a", "", b"");
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST")));
    let long = vec![b'a'; 70_000];
    assert_eq!(request(service.addr, "POST", "/v1/create-qr-code/", form, &long).status, 413);
}

/// Sends a file as a form; `fields` come before it.
fn read_file(
    addr: SocketAddr,
    target: &str,
    fields: &[(&str, &str)],
    file: Option<&[u8]>,
) -> Answer {
    let named: Vec<String> = fields.iter().map(|(name, _)| format!("name=\"{name}\"")).collect();
    let values = fields.iter().map(|(_, value)| value.as_bytes());
    let mut parts: Vec<(&str, &[u8])> = named.iter().map(String::as_str).zip(values).collect();
    parts.extend(file.map(|file| ("name=\"file\"; filename=\"a\"", file)));
    request(addr, "POST", target, &format!("content-type: {FORM}\r\n"), &form(&parts))
}

fn of_one(data: impl Into<Value>, error: impl Into<Value>) -> Value {
    json!([{"type": "qrcode", "symbol": [{"seq": 0, "data": data.into(), "error": error.into()}]}])
}

#[test]
fn a_picture_that_was_made_is_read_in_every_format() {
    let service = start(&ON);
    for format in ["png", "gif", "jpeg"] {
        let made =
            create(service.addr, &format!("data=hello+%3C%C3%BC%3E&format={format}&qzone=4"));
        let answer = read_file(
            service.addr,
            "/v1/read-qr-code/",
            &[("MAX_FILE_SIZE", "1048576")],
            Some(&made.body),
        );
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json(), of_one("hello <ü>", Value::Null), "{format}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let xml =
            read_file(service.addr, "/v1/read-qr-code/?outputformat=xml", &[], Some(&made.body));
        has_all(xml.text(), &["<data>hello &lt;ü&gt;</data><error></error>"]);
        let by_field = read_file(
            service.addr,
            "/v1/read-qr-code",
            &[("outputformat", "xml")],
            Some(&made.body),
        );
        assert_eq!(by_field.body, xml.body);
    }
}

#[test]
fn what_cannot_be_read_is_an_error_of_the_symbol_and_nothing_is_fetched() {
    let service = start(&ON);
    let blank = png_of(200, 200, &[255; 40_000]);
    let read = |fields: &[(&str, &str)], file: Option<&[u8]>| {
        let answer = read_file(service.addr, "/v1/read-qr-code/", fields, file);
        assert_eq!(answer.status, 200);
        answer.json()
    };
    assert_eq!(read(&[], Some(&blank)), of_one(Value::Null, "could not find/read QR Code"));
    assert_eq!(read(&[], Some(b"%PDF-1.4")), of_one(Value::Null, "filetype not supported"));
    assert_eq!(read(&[], Some(b"")), of_one(Value::Null, "filetype not supported"));
    assert_eq!(read(&[], None), of_one(Value::Null, "there is no file"));
    let long = vec![0; (1 << 20) + 1];
    let too_big = of_one(Value::Null, "file is too big (1048576 bytes at most)");
    assert_eq!(read(&[], Some(&long)), too_big);
    assert_eq!(read(&[], Some(&vec![0; (1 << 20) + 20_000])), too_big);
    // A server at this address would notice a request.
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let url = format!("http%3A%2F%2F{}%2Fa.png", trap.local_addr().unwrap());
    let answer = get(service.addr, &format!("/v1/read-qr-code/?fileurl={url}"));
    let error = answer.json()[0]["symbol"][0]["error"].as_str().unwrap().to_owned();
    assert!(answer.status == 200 && error.starts_with("download error ("), "{error}");
    has_all(error, &["file"]);
    assert!(trap.accept().is_err(), "the address was fetched");
    let none = get(service.addr, "/v1/read-qr-code/").json();
    assert_eq!(none, of_one(Value::Null, "there is no file"));
}
