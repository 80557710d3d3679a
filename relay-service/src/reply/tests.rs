use super::*;

#[test]
fn html_becomes_plain_text_and_keeps_its_parameters() {
    for (given, expected) in [
        ("text/html", "text/plain"),
        ("Text/HTML; charset=utf-8", "text/plain; charset=utf-8"),
        ("text/html ;x", "text/plain ;x"),
        ("text/htmlx", "text/htmlx"),
        ("text/htm", "text/htm"),
        ("image/png", "image/png"),
    ] {
        assert_eq!(harmless(&HeaderValue::from_static(given)), expected, "{given}");
    }
}
