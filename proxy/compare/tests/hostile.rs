//! Malformed answers and unusual requests.

use qr_core::Level;
use service_kit::testing::{eventually, get, status_bytes};

use crate::support::{
    Fake, Reply, compared, error, kept, metric, mirror, picture, png_answer, png_of, start, text_of,
};

/// An old side that answers each text with a different malformed answer.
fn malformed(head: &str) -> Reply {
    let text = text_of(head);
    match text.as_str() {
        "no-http" => Reply::Close(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        "endless-status" => Reply::Endless(Vec::new(), b"HTTP/1.1 200 OK".to_vec()),
        "endless-headers" => Reply::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"a: b\r\n".to_vec()),
        "cut-short" => Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec()),
        "claims-a-lot" => {
            Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\nx".to_vec())
        }
        "endless-body" => {
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            Reply::Endless(
                head,
                [b"fff\r\n".to_vec(), vec![b'x'; 0xfff], b"\r\n".to_vec()].concat(),
            )
        }
        "large-body" => Reply::Keep(error(400, &"x".repeat(1100 * 1024))),
        "not-a-png" => Reply::Keep(png_answer(b"GIF89a")),
        "cut-picture" => {
            let whole = picture(&text, Level::L, 200);
            Reply::Keep(png_answer(&whole[..whole.len() / 2]))
        }
        "empty-picture" => Reply::Keep(png_answer(b"")),
        "bomb" => Reply::Keep(png_answer(&bomb(65_535))),
        "large-picture" => Reply::Keep(png_answer(&picture(&text, Level::L, 2000))),
        "noise" => Reply::Keep(png_answer(&noise())),
        _ => Reply::Keep(png_answer(&picture(&text, Level::L, 200))),
    }
}

/// A PNG of a few hundred bytes that claims 4 GB of pixels.
fn bomb(side: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().unwrap();
    writer.write_chunk(png::chunk::IDAT, &[0x78, 0x9c, 0x63, 0, 0]).unwrap();
    writer.finish().unwrap_or_default();
    file
}

/// Random pixels, many of which look like the corner of a symbol.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let grey: Vec<u8> = (0..400 * 400)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            if state & 1 == 0 { 0 } else { 255 }
        })
        .collect();
    png_of(&grey, 400)
}

#[test]
fn malformed_answers_are_named_and_take_little_memory() {
    let (new, old) = (Fake::correct(), Fake::start(malformed));
    let shadow = start(&new.url(), &old.url(), &[("SHADOW_REQUEST_TIMEOUT", "5s")]);
    for (text, what) in [
        ("no-http", "broken"),
        ("endless-status", "broken"),
        ("endless-headers", "broken"),
        ("cut-short", "broken"),
        ("claims-a-lot", "too_large"),
        ("endless-body", "too_large"),
        ("large-body", "too_large"),
        ("not-a-png", "undecodable"),
        ("cut-picture", "undecodable"),
        ("empty-picture", "undecodable"),
        ("bomb", "undecodable"),
        ("large-picture", "undecodable"),
        ("noise", "undecodable"),
    ] {
        mirror(&shadow, "GET", &format!("/qrcode?text={text}"), text);
        let mut found = String::new();
        eventually(text, || {
            let kept = kept(&shadow);
            let newest = |sort: &str| {
                let record = &kept[sort][0];
                (record["request_id"] == text).then(|| record.clone())
            };
            let record = newest("mismatches").or_else(|| newest("failures"));
            let Some(record) = record else { return false };
            let name = record["kind"].as_str().or(record["old"]["failed"].as_str());
            found = name.unwrap_or_default().to_owned();
            true
        });
        assert_eq!(found, what, "{text}");
    }
    let peak = status_bytes(shadow.child.id(), "VmHWM:");
    assert!(peak < 100 << 20, "{peak} bytes");
    // The shadow still compares.
    mirror(&shadow, "GET", "/qrcode?text=well", "well");
    let matches = "shadow_comparisons_total{route=\"qrcode\",result=\"match\"}";
    eventually("a match", || metric(&shadow, matches) == 1.0);
}

#[test]
fn unusual_requests_are_sent_on_byte_for_byte() {
    let (new, old) = (Fake::correct(), Fake::correct());
    let shadow = start(&new.url(), &old.url(), &[]);
    let targets = [
        "/qrcode?text=https://example.com/?t=all;x,y!",
        "/qrcode?text=%e2%82%AC+%2B%2541",
        "/qrcode?text={a}|[b]^`c`~\\",
        "/qrcode?text=%&%G1=&&text",
        "/qrcode",
        "/qrcode?",
        "//%71rcode/../x?text=a",
    ];
    for target in targets {
        mirror(&shadow, "GET", target, "a");
    }
    eventually("all compared", || compared(&shadow) == targets.len() as f64);
    for side in [new, old] {
        let asked: Vec<String> = side.heads();
        let mut asked: Vec<&str> =
            asked.iter().map(|head| head.split(' ').nth(1).unwrap()).collect();
        asked.dedup(); // A pair that differs is asked once more.
        assert_eq!(asked, targets);
    }
}

#[test]
fn a_huge_url_is_refused_and_not_sent_on() {
    let (new, old) = (Fake::correct(), Fake::correct());
    let shadow = start(&new.url(), &old.url(), &[]);
    let answer = get(shadow.addr, &format!("/qrcode?text={}", "x".repeat(20_000)));
    assert!(answer.starts_with("HTTP/1.1 414") || answer.starts_with("HTTP/1.1 431"), "{answer}");
    // The shadow can also send every URL that it accepts.
    mirror(&shadow, "GET", &format!("/qrcode?pad={}&text=a", "x".repeat(12_000)), "a");
    eventually("a comparison", || compared(&shadow) == 1.0);
    assert_eq!((new.heads().len(), old.heads().len()), (1, 1));
}
