//! A difference is a mismatch, and each failure is that of its side. `judge_tables.rs` has the kinds of differences.

use qr_core::Level;
use service_kit::testing::eventually;

use crate::support::{
    Fake, Reply, error, kept, metric, mirror, picture, png_answer, start, text_of,
};

/// The new side. It answers with a picture of the text, except for these texts.
fn new(head: &str) -> Reply {
    let text = text_of(head);
    Reply::Keep(match text.as_str() {
        "new-503" | "both-fail" => error(503, "overloaded, try again"),
        "new-slow" => return Reply::Hang,
        _ => png_answer(&picture(&text, Level::L, 200)),
    })
}

/// The old side.
fn old(head: &str) -> Reply {
    let text = text_of(head);
    Reply::Keep(match text.as_str() {
        "text" => png_answer(&picture("another text", Level::L, 200)),
        "status-500" => error(500, "failed generating QR code"),
        "old-503" => error(503, "overloaded, try again"),
        "old-hangs-up" => return Reply::Close(Vec::new()),
        "old-slow" | "both-fail" => return Reply::Hang,
        // For these, only the new side is wrong.
        "new-503" | "new-slow" => png_answer(&picture(&text, Level::L, 200)),
        _ => return new(head),
    })
}

#[test]
fn a_mismatch_has_its_kind_and_a_failure_its_side_and_reason() {
    let (new, old) = (Fake::start(new), Fake::start(old));
    let timeout = [("SHADOW_REQUEST_TIMEOUT", "1s")];
    let shadow = start(&new.url(), &old.url(), &timeout);
    let cases = [
        ("text", "mismatch", Some("text")),
        // A failure of the old side.
        ("status-500", "old_error", None),
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
        [("mismatch", 1.0), ("new_error", 2.0), ("old_error", 3.0), ("timeout", 2.0)]
    {
        let name = format!("shadow_comparisons_total{{route=\"qrcode\",result=\"{result}\"}}");
        assert_eq!(metric(&shadow, &name), count, "{name}");
    }
    assert_eq!(metric(&shadow, "shadow_mismatches_total{route=\"qrcode\",kind=\"text\"}"), 1.0);
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
