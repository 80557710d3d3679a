//! Tests which format is chosen, and which headers the answer has.

use service_kit::testing::has_all;

use crate::support::{get, get_with, of_png, request, start};

#[test]
fn every_format_is_chosen_by_extension_parameter_and_accept() {
    let service = start(&[]);
    for (format, media, begin) in [
        ("png", "image/png", &b"\x89PNG"[..]),
        ("svg", "image/svg+xml", b"<svg "),
        ("pdf", "application/pdf", b"%PDF-"),
        ("eps", "application/postscript", b"%!PS-Adobe"),
        ("txt", "text/plain; charset=utf-8", "██".as_bytes()),
        ("json", "application/json", b"{"),
    ] {
        let by_extension = get(service.addr, &format!("/v1/qr.{format}?text=hello"));
        assert_eq!(by_extension.status, 200, "{}", by_extension.text());
        assert_eq!(by_extension.header("content-type"), Some(media));
        assert!(by_extension.body.starts_with(begin), "{format}");
        assert_eq!(by_extension.header("vary"), None);
        for (name, value) in [
            ("x-qr-kind", "qr"),
            ("x-qr-version", "1"),
            ("x-qr-level", "M"),
            ("x-qr-modules", "21x21"),
            ("x-qr-parts", "1"),
            ("cache-control", "public, max-age=86400"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(by_extension.header(name), Some(value), "{format}");
        }
        let mask: u8 = by_extension.header("x-qr-mask").unwrap().parse().unwrap();
        assert!(mask < 8);
        let policy = by_extension.header("content-security-policy");
        let expected = "default-src 'none'; img-src data:; sandbox";
        assert_eq!(policy, (format == "svg").then_some(expected));
        let by_parameter = get(service.addr, &format!("/v1/qr?text=hello&format={format}"));
        assert_eq!(by_parameter.body, by_extension.body);
        assert_eq!(by_parameter.header("vary"), None);
        let accept = format!("accept: {}\r\n", media.split(';').next().unwrap());
        let by_accept = get_with(service.addr, "/v1/qr?text=hello", &accept);
        assert_eq!(by_accept.body, by_extension.body);
        assert_eq!(by_accept.header("vary"), Some("Accept"));
        assert_eq!(by_accept.header("etag"), by_extension.header("etag"));
    }
    assert_eq!(get_with(service.addr, "/v1/qr?text=a", "accept: image/webp\r\n").status, 406);
    for path in ["/v1/qr.gif?text=a", "/v1/nothing", "/v1/qr.png/x", "/v1/qr."] {
        assert_eq!(get(service.addr, path).status, 404, "{path}");
    }
}

#[test]
fn the_smallest_png_has_the_same_pixels_in_fewer_bytes() {
    let service = start(&[]);
    for query in ["scale=1", "scale=10", "size=250", "scale=1&dark=036", "kind=rmqr&scale=1"] {
        let fast = get(service.addr, &format!("/v1/qr.png?text=HELLO&{query}"));
        let query = format!("{query}&compression=smallest");
        let smallest = get(service.addr, &format!("/v1/qr.png?text=HELLO&{query}"));
        assert_eq!(smallest.status, 200, "{}", smallest.text());
        assert!(smallest.body.len() < fast.body.len(), "{query}");
        assert!(of_png(&smallest.body).grey == of_png(&fast.body).grey, "{query}");
        assert_ne!(smallest.header("etag"), fast.header("etag"));
    }
}

#[test]
fn a_client_that_has_the_picture_gets_304_however_it_asked() {
    let service = start(&[]);
    let first = get(service.addr, "/v1/qr.png?text=hello&level=M");
    let tag = first.header("etag").unwrap().to_owned();
    // `*` was answered 304 for pictures that cannot be made.
    let too_long = "a".repeat(3000);
    for (text, more, status) in [
        ("hello", "", 304),
        ("hello", "&dark=fff", 422),
        ("hello", "&size=10", 422),
        (&too_long, "", 422),
    ] {
        let target = format!("/v1/qr.png?text={text}{more}");
        let answer = get_with(service.addr, &target, "if-none-match: *\r\n");
        assert_eq!(answer.status, status, "{more}");
    }
    let known = format!("if-none-match: {tag}\r\n");
    for same in [
        "/v1/qr.png?text=hello",
        "/v1/qr?text=%68ello&scale=8&margin=4&dark=000000&light=%23FFF&kind=qr&mode=auto",
    ] {
        let answer = get_with(service.addr, same, &known);
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{same}");
        assert_eq!(answer.header("etag"), Some(&*tag));
    }
    for other in
        ["/v1/qr.svg?text=hello", "/v1/qr.png?text=hello&margin=5", "/v1/qr.png?text=Hello"]
    {
        assert_eq!(get_with(service.addr, other, &known).status, 200, "{other}");
    }
    let head = request(service.addr, "HEAD", "/v1/qr.png?text=hello", "", b"");
    assert_eq!(head.header("content-length"), Some(&*first.body.len().to_string()));
    assert_eq!(head.header("etag"), Some(&*tag));
    let head = request(service.addr, "HEAD", "/v1/qr.png?text=hello", &known, b"");
    assert_eq!((head.status, head.header("content-length")), (304, None));
}

#[test]
fn a_download_has_its_name() {
    let service = start(&[]);
    let answer = get(service.addr, "/v1/qr.png?text=a&filename=Gr%C3%BC%C3%9Fe.png");
    let disposition = "attachment; filename=\"Gr__e.png\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.png";
    assert_eq!(answer.header("content-disposition"), Some(disposition));
    assert_eq!(get(service.addr, "/v1/qr.png?text=a").header("content-disposition"), None);
}

#[test]
fn pages_of_all_origins_may_read_answers_unless_told_otherwise() {
    let service = start(&[]);
    let answer = get(service.addr, "/v1/qr?text=a");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("x-qr-version"));
    let origin = "origin: https://a.example\r\n";
    let preflight = request(service.addr, "OPTIONS", "/v1/qr", origin, b"");
    assert_eq!(preflight.status, 200);
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("POST"));
    assert_eq!(get(service.addr, "/qrcode?text=a").header("access-control-allow-origin"), None);
    let service = start(&[("QR_CORS_ORIGIN", "https://a.example")]);
    let answer = get(service.addr, "/v1/qr?text=a");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://a.example"));
    assert!(answer.headers.contains(&("vary".to_owned(), "origin".to_owned())));
    let service = start(&[("QR_CORS_ORIGIN", "none")]);
    assert_eq!(get(service.addr, "/v1/qr?text=a").header("access-control-allow-origin"), None);
}

#[test]
fn line_breaks_of_a_title_stay_what_they_are() {
    let service = start(&[]);
    for more in ["", "&shape=dots"] {
        let target = format!("/v1/qr.svg?text=a&title=a%0D%0Ab%0Dc%09%07{more}");
        let answer = get(service.addr, &target);
        has_all(answer.text(), &["<title>a&#13;\nb&#13;c\t\u{fffd}</title>"]);
    }
}
