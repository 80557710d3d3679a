//! Tests Google Image Charts: `/chart?cht=qr`.

use std::net::SocketAddr;

use crate::pictures::{extra, margins, picture, seen};
use crate::support::{Answer, get, padded, read, request, start};

const ON: [(&str, &str); 1] = [("QR_COMPAT", "google")];

fn chart(addr: SocketAddr, query: &str) -> Answer {
    get(addr, &format!("/chart?{query}"))
}

#[test]
fn each_parameter_has_its_values_and_its_default() {
    let service = start(&ON);
    let plain = chart(service.addr, "cht=qr&chs=150x150&chl=hello");
    // 29 modules of 5 pixels.
    assert_eq!(margins(&plain), [22, 22, 23, 23]);
    for same in
        ["&chld=L|4", "&chld=L", "&chld=|4", "&chld=", "&choe=UTF-8", "&choe=utf-8", "&chl=second"]
    {
        let answer = chart(service.addr, &format!("cht=qr&chs=150x150&chl=hello{same}"));
        assert_eq!(answer.body, plain.body, "{same}");
    }
    for level in ["L", "M", "Q", "H"] {
        let answer = chart(service.addr, &format!("cht=qr&chs=150x150&chl=hello&chld={level}"));
        assert_eq!(extra(&answer, "ECLevel"), level);
    }
    let none = chart(service.addr, "cht=qr&chs=147x147&chl=hello&chld=M|0");
    assert_eq!(margins(&none), [0; 4]);
    // A rectangle has the code in the middle; a picture that would be too small grows.
    let wide = chart(service.addr, "cht=qr&chs=300x100&chl=hello");
    assert_eq!(seen(&wide), (300, 100, "hello".to_owned()));
    let grown = chart(service.addr, "cht=qr&chs=10x40&chl=hello");
    let grown = picture(&grown);
    assert_eq!((grown.width, grown.height), (29, 40));
    let largest = chart(service.addr, "cht=qr&chs=4096x1&chl=hello");
    assert_eq!((picture(&largest).width, picture(&largest).height), (4096, 29));
}

#[test]
fn choe_is_the_encoding_of_the_symbol() {
    let service = start(&ON);
    let code = |query: &str| {
        let answer = chart(service.addr, &format!("cht=qr&chs=200x200&{query}"));
        read(&padded(&picture(&answer)), "qr").unwrap()
    };
    assert_eq!(code("chl=%C3%BC").bytes(), [0xc3, 0xbc]);
    assert_eq!(code("chl=%C3%BC&choe=ISO-8859-1").bytes(), [0xfc]);
    assert_eq!(code("chl=%E6%BC%A2%E5%AD%97&choe=Shift_JIS").text(), "漢字");
    assert_eq!(code("chl=a%E6%BC%A2&choe=Shift_JIS").bytes(), [b'a', 0x8a, 0xbf]);
}

#[test]
fn a_post_has_a_form_or_the_text_as_its_body() {
    let service = start(&ON);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let posted = request(service.addr, "POST", "/chart", form, b"cht=qr&chs=150x150&chl=a+b");
    assert_eq!(seen(&posted).2, "a b");
    let mixed = request(service.addr, "POST", "/chart?cht=qr&chs=150x150", form, b"chl=c");
    assert_eq!(seen(&mixed).2, "c");
    // zxing's server takes any body as the text, whatever its type.
    let raw = request(service.addr, "POST", "/chart?cht=qr&chs=150x150", form, b"any text + more");
    assert_eq!(seen(&raw).2, "any text + more");
    let plain = "content-type: text/plain\r\n";
    let raw = request(service.addr, "POST", "/chart?cht=qr&chs=150x150", plain, b"d");
    assert_eq!(seen(&raw).2, "d");
    let put = request(service.addr, "PUT", "/chart", "", b"");
    assert_eq!(put.status, 405);
}
