//! Every kind of difference is reported as that kind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use qr_core::Level;
use service_kit::testing::eventually;
use support::{
    Fake, Reply, answer, error, kept, metric, mirror, picture, png_answer, png_of, start, text_of,
};

const REFUSAL: &str = "text must be valid UTF-8";

/// The new side. It answers with a picture of the text, except for these texts.
fn new(head: &str) -> Reply {
    let text = text_of(head);
    Reply::Keep(match text.as_str() {
        "body" | "same-error" => error(400, REFUSAL),
        "wrong-on-both" => png_answer(&picture("something else", Level::L, 200)),
        "new-503" | "both-fail" => error(503, "overloaded, try again"),
        "new-500" => error(500, "failed generating QR code"),
        "new-slow" => return Reply::Hang,
        "new-cannot-be-read" => png_answer(b"\x89PNG no"),
        "too-large" => error(414, ""),
        _ if head.starts_with("HEAD") => {
            b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 420\r\n\r\n".to_vec()
        }
        _ => png_answer(&picture(&text, Level::L, 200)),
    })
}

/// The old side.
fn old(head: &str) -> Reply {
    let text = text_of(head);
    Reply::Keep(match text.as_str() {
        "text" => png_answer(&picture("another text", Level::L, 200)),
        "level" => png_answer(&picture(&text, Level::M, 200)),
        "size" => png_answer(&picture(&text, Level::L, 250)),
        "status" => error(404, "not found"),
        "status-500" => error(500, "failed generating QR code"),
        "body" => error(400, "text must be given once"),
        "undecodable" => png_answer(&png_of(&[255; 200 * 200], 200)),
        "wrong-on-both" => png_answer(&picture("something else", Level::L, 200)),
        "same-error" => error(400, REFUSAL),
        "old-503" => error(503, "overloaded, try again"),
        "old-hangs-up" => return Reply::Close(Vec::new()),
        "old-slow" | "both-fail" => return Reply::Hang,
        // For these, only the new side is wrong.
        "new-503" | "new-slow" | "new-cannot-be-read" => png_answer(&picture(&text, Level::L, 200)),
        "too-large" => answer(431, "text/html", b"<h1>no</h1>"),
        // Eight bits per pixel, so the bytes differ but the picture is the same.
        "same-picture" => png_answer(&in_grey(&picture(&text, Level::L, 200))),
        _ => return new(head),
    })
}

fn in_grey(png: &[u8]) -> Vec<u8> {
    png_of(&contract::decode::Pixels::from_png(png).unwrap().grey, 200)
}

#[test]
fn each_difference_is_reported_as_its_kind() {
    let (new, old) = (Fake::start(new), Fake::start(old));
    let timeout = [("SHADOW_REQUEST_TIMEOUT", "1s")];
    let shadow = start(&new.url(), &old.url(), &timeout);
    let cases = [
        ("text", "mismatch", Some("text")),
        ("wrong-on-both", "mismatch", Some("text")),
        ("level", "mismatch", Some("level")),
        ("size", "mismatch", Some("size")),
        ("status", "mismatch", Some("status")),
        // A failure of the old side.
        ("status-500", "old_error", None),
        ("body", "mismatch", Some("body")),
        ("undecodable", "mismatch", Some("undecodable")),
        ("new-cannot-be-read", "mismatch", Some("undecodable")),
        ("new-503", "new_error", None),
        ("both-fail", "new_error", None),
        ("old-503", "old_error", None),
        ("old-hangs-up", "old_error", None),
        ("old-slow", "timeout", None),
        ("new-slow", "timeout", None),
    ];
    for (text, result, kind) in cases {
        mirror(&shadow, "GET", &format!("/qrcode?text={text}"), text);
        let mut record = serde_json::Value::Null;
        eventually(text, || {
            let kept = kept(&shadow);
            let sort = if kind.is_some() { "mismatches" } else { "failures" };
            let newest = &kept[sort][0];
            record = newest.clone();
            newest["request_id"] == text
        });
        assert_eq!(record["result"], result, "{record:#}");
        assert_eq!(record["kind"].as_str(), kind, "{record:#}");
        assert_eq!(record["target"]["bytes"], "/qrcode?text=".len() + text.len());
    }
    for (result, count) in
        [("mismatch", 8.0), ("new_error", 2.0), ("old_error", 3.0), ("timeout", 2.0)]
    {
        let name = format!("shadow_comparisons_total{{route=\"qrcode\",result=\"{result}\"}}");
        assert_eq!(metric(&shadow, &name), count, "{name}");
    }
    for (kind, count) in [
        ("text", 2.0),
        ("level", 1.0),
        ("size", 1.0),
        ("status", 1.0),
        ("body", 1.0),
        ("undecodable", 2.0),
    ] {
        let name = format!("shadow_mismatches_total{{route=\"qrcode\",kind=\"{kind}\"}}");
        assert_eq!(metric(&shadow, &name), count, "{name}");
    }
    for (side, reason, count) in [
        ("new", "unavailable", 2.0),
        ("old", "unavailable", 1.0),
        ("old", "broken", 1.0),
        ("old", "timeout", 2.0),
        ("new", "timeout", 1.0),
    ] {
        let labels = format!("{{route=\"qrcode\",side=\"{side}\",reason=\"{reason}\"}}");
        assert_eq!(metric(&shadow, &format!("shadow_failures_total{labels}")), count, "{labels}");
    }
}

#[test]
fn a_difference_that_the_contract_allows_is_a_match() {
    let (new, old) = (Fake::start(new), Fake::start(old));
    let shadow = start(&new.url(), &old.url(), &[]);
    let requests = [
        ("GET", "same"),
        ("GET", "same-picture"),
        ("GET", "same-error"),
        ("GET", "too-large"),
        ("GET", "new-500"), // the old side gives the same answer as the new side
        ("HEAD", "head"),
    ];
    for (method, text) in requests {
        mirror(&shadow, method, &format!("/qrcode?text={text}"), text);
    }
    let matches = "shadow_comparisons_total{route=\"qrcode\",result=\"match\"}";
    eventually("all match", || metric(&shadow, matches) == requests.len() as f64);
    let kept = kept(&shadow);
    assert_eq!(
        (kept["mismatches"].as_array(), kept["failures"].as_array()),
        (Some(&vec![]), Some(&vec![]))
    );
}

#[test]
fn a_picture_of_a_text_that_the_contract_refuses_is_a_mismatch() {
    let shows = || Fake::start(|_| Reply::Keep(png_answer(&picture("%", Level::L, 200))));
    let (new, old) = (shows(), shows());
    let shadow = start(&new.url(), &old.url(), &[]);
    mirror(&shadow, "GET", "/qrcode?text=%", "a");
    eventually("a mismatch", || kept(&shadow)["mismatches"][0]["kind"] == "text");
}
