//! Pairs that are the same and pairs that differ, for each judge.

use std::collections::BTreeMap;

use compare::judge::{RequestLine, Verdict};
use http::HeaderMap;
use qr_core::Level;
use serde::Deserialize;

use crate::judge_support::{answer, compare, judge, picture, png_of, shown};

/// A judge as in a route file, the bodies of both sides, and of a difference its kind and the whole detail.
#[derive(Deserialize)]
struct Pairs {
    same: Vec<[String; 3]>,
    different: Vec<[String; 5]>,
}

#[test]
fn every_pair_of_the_tables_is_the_same_or_differs_as_it_says() {
    let tables: BTreeMap<String, Pairs> =
        toml::from_str(include_str!("judge_tables.toml")).unwrap();
    for (name, Pairs { same, different }) in tables {
        for [settings, old, new] in &same {
            for (one, other) in [(old, new), (new, old), (old, old)] {
                let verdict = compare(settings, one.as_bytes(), other.as_bytes());
                assert_eq!(verdict, Verdict::Same, "{name}: {settings}: {one:?} and {other:?}");
            }
        }
        for [settings, old, new, kind, detail] in &different {
            let verdict = compare(settings, old.as_bytes(), new.as_bytes());
            let at = format!("{name}: {settings}: {old:?} and {new:?}");
            assert_eq!(shown(&verdict), (&**kind, &**detail), "{at}");
            assert!(judge(settings).kinds().iter().any(|known| known.as_str() == *kind), "{at}");
            let back = compare(settings, new.as_bytes(), old.as_bytes());
            assert_eq!(shown(&back).0, *kind, "{at}, the other way round");
        }
    }
}

#[test]
fn text_that_is_no_utf8_or_long() {
    assert_eq!(compare("text", b"\xff", b"\xff"), Verdict::Same);
    for (old, new, detail) in [
        (&b"a\xff"[..], &b"a"[..], "old: not UTF-8 at byte 1"),
        (b"a", b"ab\xff", "new: not UTF-8 at byte 2"),
    ] {
        assert_eq!(shown(&compare("text", old, new)), ("undecodable", detail));
    }
    let (long, other) = ("x".repeat(100), "y".repeat(100));
    let verdict = compare("text", long.as_bytes(), other.as_bytes());
    let detail = format!("line 1: old `{}…`, new `{}…`", &long[..60], &other[..60]);
    assert_eq!(shown(&verdict), ("text", detail.as_str()));
}

#[test]
fn a_hostile_expression_takes_no_time() {
    // This takes linear time; a backtracking engine would take exponential time.
    let evil = r#"{ kind = "text", ignore = ["(x+x+)+y"] }"#;
    let long = "x".repeat(1 << 20);
    assert_eq!(shown(&compare(evil, long.as_bytes(), b"x")).0, "text");
}

#[test]
fn deep_json_is_undecodable_and_does_not_exhaust_the_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let verdict = compare("json", nested(128).as_bytes(), nested(127).as_bytes());
    assert_eq!(shown(&verdict).0, "json");
    for depth in [129, 100_000] {
        let verdict = compare("json", nested(depth).as_bytes(), b"[]");
        assert_eq!(shown(&verdict), ("undecodable", "old: nested deeper than 128 levels"));
    }
}

#[test]
fn images() {
    let grey = |pixels: &[u8]| png_of(png::ColorType::Grayscale, pixels, 2);
    let rgba = |pixels: &[u8]| png_of(png::ColorType::Rgba, pixels, 1);
    let near = r#"{ kind = "image", tolerance = 2 }"#;
    let half = r#"{ kind = "image", share = 0.5 }"#;
    #[rustfmt::skip]
    let same = [
        ("image", grey(&[0, 255]), png_of(png::ColorType::Rgb, &[0, 0, 0, 255, 255, 255], 2)),
        ("image", rgba(&[1, 2, 3, 0]), rgba(&[4, 5, 6, 0])), // invisible
        (near, grey(&[0, 100]), grey(&[2, 98])),
        (half, grey(&[0, 0]), grey(&[0, 255])),
        ("image", b"no picture".to_vec(), b"no picture".to_vec()),
        ("image", Vec::new(), Vec::new()),
    ];
    #[rustfmt::skip]
    let different = [
        ("image", grey(&[0, 0]), grey(&[0, 1]), "pixels",
            "1 of 2 pixels differ by more than 0, the first at x 1, y 0: old #000000ff, new #010101ff"),
        ("image", rgba(&[1, 2, 3, 255]), rgba(&[1, 2, 3, 254]), "pixels",
            "1 of 1 pixels differ by more than 0, the first at x 0, y 0: old #010203ff, new #010203fe"),
        ("image", png_of(png::ColorType::Rgb, &[255, 0, 0], 1), png_of(png::ColorType::Rgb, &[0, 255, 0], 1), "pixels",
            "1 of 1 pixels differ by more than 0, the first at x 0, y 0: old #ff0000ff, new #00ff00ff"),
        (near, grey(&[0, 100]), grey(&[0, 103]), "pixels",
            "1 of 2 pixels differ by more than 2, the first at x 1, y 0: old #646464ff, new #676767ff"),
        (half, grey(&[0, 0]), grey(&[9, 9]), "pixels",
            "2 of 2 pixels differ by more than 0, the first at x 0, y 0: old #000000ff, new #090909ff"),
        ("image", grey(&[0, 0]), grey(&[0, 0, 0, 0]), "size", "old 2 x 1 px, new 2 x 2 px"),
        ("image", grey(&[0, 0]), b"\xff\xd8\xff\xe0 JFIF".to_vec(), "undecodable",
            "new: a JPEG, and only PNG is supported"),
        ("image", grey(&[0, 0]), b"GIF89a".to_vec(), "undecodable", "new: a GIF, and only PNG is supported"),
        ("image", b"<svg/>".to_vec(), grey(&[0, 0]), "undecodable", "old: not a PNG: Invalid PNG signature."),
        ("image", grey(&[0, 0]), huge_png(), "undecodable", "new: 60000 x 60000 px, larger than 4096 x 4096"),
    ];
    for (settings, old, new) in &same {
        assert_eq!(compare(settings, old, new), Verdict::Same);
    }
    for (settings, old, new, kind, detail) in &different {
        assert_eq!(shown(&compare(settings, old, new)), (*kind, *detail));
    }
    let mut broken = grey(&[0, 0]);
    let middle = broken.len() / 2;
    broken[middle] ^= 1;
    assert_eq!(shown(&compare("image", &grey(&[0, 0]), &broken)).0, "undecodable");
}

/// A small file that claims 60000 x 60000 pixels.
fn huge_png() -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 60_000, 60_000);
    encoder.set_color(png::ColorType::Rgba);
    // The beginning of a zlib stream, without pixels.
    encoder.write_header().unwrap().write_chunk(png::chunk::IDAT, &[0x78, 0x9c]).unwrap();
    file
}

#[test]
fn qr_pictures() {
    let shows = |text, level, size_px| picture(text, level, size_px);
    let right = shows("hello", Level::L, 200);
    // Eight bits per pixel, so the bytes differ but the picture is the same.
    let pixels = contract::decode::Pixels::from_png(&right).unwrap();
    let in_grey = png_of(png::ColorType::Grayscale, &pixels.grey, 200);
    assert_ne!(right, in_grey);
    let white = png_of(png::ColorType::Grayscale, &[255; 200 * 200], 200);
    let error = || b"text must be valid UTF-8".to_vec();
    #[rustfmt::skip]
    let rows = [
        // method, status, text, old, new, kind and detail, or "" if they are the same
        ("GET", 200, "hello", right.clone(), right.clone(), "", ""),
        ("GET", 200, "hello", right.clone(), in_grey, "", ""),
        ("GET", 200, "hello", right.clone(), shows("other", Level::L, 200), "text",
            "new shows another text of 5 bytes; asked were 5"),
        ("GET", 200, "both wrong", right.clone(), right.clone(), "text",
            "old shows another text of 5 bytes; asked were 10"),
        ("GET", 200, "%", right.clone(), right.clone(), "text",
            "the query has no text that a picture could show"),
        ("GET", 200, "hello", right.clone(), shows("hello", Level::M, 200), "level", "old L, new M"),
        ("GET", 200, "hello", right.clone(), shows("hello", Level::L, 250), "size",
            "old 200 x 200 px, new 250 x 250 px"),
        ("GET", 200, "hello", white, right.clone(), "undecodable", "old: shows no QR symbol"),
        ("GET", 200, "hello", right.clone(), huge_png(), "undecodable",
            "new: 60000 x 60000 px, larger than 512 x 512"),
        ("GET", 200, "hello", error(), error(), "undecodable", "old: not a PNG: Invalid PNG signature."),
        ("GET", 400, "hello", error(), error(), "", ""),
        ("GET", 400, "hello", error(), b"no".to_vec(), "body",
            "old 24 bytes, new 2 bytes, the first difference at offset 0"),
        ("HEAD", 200, "hello", Vec::new(), Vec::new(), "", ""),
        ("GET", 304, "hello", Vec::new(), Vec::new(), "", ""),
    ];
    let headers = HeaderMap::new();
    let judge = judge("qr");
    for (method, status, text, old, new, kind, detail) in &rows {
        let target = format!("/qrcode?text={text}");
        let asked = RequestLine { method, target: &target };
        let (old, new) = (answer(*status, &headers, old), answer(*status, &headers, new));
        let verdict = judge.compare(&asked, &old, &new);
        match *kind {
            "" => assert_eq!(verdict, Verdict::Same, "{method} {status} {text}"),
            kind => assert_eq!(shown(&verdict), (kind, *detail), "{method} {status} {text}"),
        }
    }
}

#[test]
fn what_a_judge_saw_is_described() {
    let headers = HeaderMap::new();
    let describe = |settings: &str, status, body: &[u8], keep_text| {
        let asked = RequestLine { method: "GET", target: "/qrcode?text=hello" };
        judge(settings).describe(&asked, &answer(status, &headers, body), keep_text)
    };
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; // of hello
    let seen = |text: serde_json::Value| {
        serde_json::json!(
            { "width": 200, "height": 200, "level": "L", "version": 1, "text": text }
        )
    };
    let png = picture("hello", Level::L, 200);
    let text = serde_json::json!({ "bytes": 5, "sha256": sha256 });
    assert_eq!(describe("qr", 200, &png, false), Some(seen(text)));
    let text = serde_json::json!({ "bytes": 5, "sha256": sha256, "content": "hello" });
    assert_eq!(describe("qr", 200, &png, true), Some(seen(text)));
    assert_eq!(describe("qr", 400, b"no", false), None);
    let unread = serde_json::json!({ "undecodable": "not a PNG: Invalid PNG signature." });
    assert_eq!(describe("qr", 200, b"<svg xmlns=", false), Some(unread));
    let size = serde_json::json!({ "width": 200, "height": 200 });
    assert_eq!(describe("image", 200, &png, false), Some(size));
    let members = serde_json::json!({ "type": "object", "members": 2 });
    assert_eq!(describe("json", 200, br#"{"a":1,"b":2}"#, false), Some(members));
    assert_eq!(describe("bytes", 200, b"hello", true), None);
    assert!(["image", "json"].iter().all(|judge| describe(judge, 200, b"", true).is_none()));
}

#[test]
fn a_judge_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&judge("json"));
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn images_of_the_largest_size() {
        let side = 4096;
        let mut samples = vec![7; 4 * side * side];
        let old = png_of(png::ColorType::Rgba, &samples, side as u32);
        samples[4 * side * side - 1] = 9;
        let new = png_of(png::ColorType::Rgba, &samples, side as u32);
        let first = "the first at x 4095, y 4095: old #07070707, new #07070709";
        let detail = format!("1 of 16777216 pixels differ by more than 0, {first}");
        assert_eq!(shown(&compare("image", &old, &new)), ("pixels", &*detail));
        let higher = png_of(png::ColorType::Grayscale, &vec![0; side + 1], 1);
        let too_high = ("undecodable", "new: 1 x 4097 px, larger than 4096 x 4096");
        assert_eq!(shown(&compare("image", &old, &higher)), too_high);
    }
}
