//! Answers of two servers in different languages that are the same but differ in their bytes. The old side is in
//! Python, the new one in Node.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use service_kit::testing::{Service, eventually, get, status_bytes};

use crate::support::{in_node, in_python, kept, metric, mirror_to, result_of, routes, start};

/// A shadow of one route with its sides.
struct Shadowed {
    shadow: Service,
    _sides: [Service; 2],
}

impl Shadowed {
    fn of(route: &str) -> Self {
        let (new, old) = (in_node("new"), in_python("old"));
        let folder = routes(&[("app", route)]);
        let environment = [("SHADOW_ROUTES", folder.path().to_str().unwrap())];
        let url = |side: &Service| format!("http://{}", side.addr);
        let shadow = start(&url(&new), &url(&old), &environment);
        Shadowed { shadow, _sides: [new, old] }
    }

    /// Mirrors a request and waits until the shadow counts this result.
    fn expect(&self, result: &str, target: &str) {
        self.expect_of(result, &format!("GET {target} HTTP/1.1\r\nHost: x"), "");
    }

    /// Like [`Shadowed::expect`], with these lines of a head and this body.
    fn expect_of(&self, result: &str, head: &str, body: &str) {
        let count = || result_of(&self.shadow, "app", result);
        let before = count();
        mirror_to(&self.shadow, "app", head, body);
        let shown = || format!("{result} of {head}: {:#}", kept(&self.shadow));
        let start = Instant::now();
        while count() == before {
            assert!(start.elapsed() < Duration::from_secs(20), "{}", shown());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The most recent record of this sort: mismatches or failures.
    fn last(&self, sort: &str) -> Value {
        kept(&self.shadow)[sort][0].clone()
    }

    fn metric(&self, name: &str, labels: &str) -> f64 {
        metric(&self.shadow, &format!("{name}{{route=\"app\",{labels}}}"))
    }
}

#[test]
fn statuses_are_counted_by_side_and_class() {
    let shadowed = Shadowed::of("path = \"/login\"\njudge = \"json\"");
    // Both sides refuse the shadow, so the match does not show what clients get.
    shadowed.expect("match", "/login");
    for side in ["new", "old"] {
        let answers = |class: &str| {
            shadowed.metric("shadow_answers_total", &format!("side=\"{side}\",class=\"{class}\""))
        };
        assert_eq!(["2xx", "3xx", "4xx", "5xx"].map(answers), [0.0, 0.0, 1.0, 0.0]);
    }
}

#[test]
fn credentials_go_along_only_if_the_route_says_so() {
    for (send, class) in [("[]", "4xx"), ("[\"Cookie\"]", "2xx"), ("[\"authorization\"]", "2xx")] {
        let route = format!("path = \"/login\"\njudge = \"json\"\nshadow.send_headers = {send}");
        let shadowed = Shadowed::of(&route);
        let credentials = "Cookie: session=1\r\nAuthorization: Bearer t";
        let head =
            format!("GET /login?b.c=1&a=&b.c=2&%20=3&d=4 HTTP/1.1\r\nHost: x\r\n{credentials}");
        shadowed.expect_of("match", &head, "");
        for side in ["new", "old"] {
            let labels = format!("side=\"{side}\",class=\"{class}\"");
            assert_eq!(shadowed.metric("shadow_answers_total", &labels), 1.0, "{send} {labels}");
        }
        let status = if class == "2xx" { 200 } else { 401 };
        let shape = "GET /login +authorization +cookie ?a ?b.c";
        let labels = format!("class=\"{shape} {status} application/json\",result=\"match\"");
        assert_eq!(shadowed.metric("shadow_classes_total", &labels), 1.0, "{send} {labels}");
    }
}

#[test]
fn both_sides_are_asked_for_the_clients_host() {
    let shadowed = Shadowed::of("path = \"/host\"");
    for proto in ["", "\r\nX-Forwarded-Proto: https"] {
        let head = format!("GET /host HTTP/1.1\r\nHost: shop.example:8080{proto}");
        shadowed.expect_of("match", &head, "");
    }
    let statuses = shadowed.metric("shadow_answers_total", "side=\"old\",class=\"3xx\"");
    assert_eq!(statuses, 2.0);
}

#[test]
fn encoded_answers_are_decoded_before_they_are_judged() {
    // Without Accept-Encoding, a coding that one side alone has is a difference.
    let shadowed = Shadowed::of("path = \"/encoded\"\njudge = \"json\"");
    shadowed.expect("mismatch", "/encoded?with=gzip");
    let differences = &shadowed.last("mismatches")["differences"];
    assert_eq!(differences, &json!([{ "kind": "header", "place": "content-encoding" }]));
    let route = "path = \"/encoded\"\njudge = \"json\"\nignore_headers = [\"content-encoding\"]";
    let shadowed = Shadowed::of(route);
    for coding in ["gzip", "deflate", "raw", "br", "zstd"] {
        shadowed.expect("match", &format!("/encoded?with={coding}"));
    }
    // The new side's answer is wrong for each coding.
    for coding in ["gzip", "br"] {
        shadowed.expect("mismatch", &format!("/encoded?with={coding}&wrong=new"));
        let differences = &shadowed.last("mismatches")["differences"];
        assert_eq!(differences, &json!([{ "kind": "json", "place": "/items/2" }]));
    }
}

#[test]
fn a_bomb_is_too_large_and_a_broken_coding_is_broken() {
    let shadowed = Shadowed::of("path = \"/bomb\"\njudge = \"text\"\nshadow.timeout = \"20s\"");
    shadowed.expect("new_error", "/bomb");
    assert_eq!(shadowed.last("failures")["new"]["failed"], "too_large");
    let shadowed = Shadowed::of("path = \"/cut\"\njudge = \"text\"");
    shadowed.expect("new_error", "/cut");
    let failed = &shadowed.last("failures")["new"];
    assert_eq!(failed["failed"], "broken");
    assert!(failed["detail"].as_str().unwrap().starts_with("content-encoding gzip: "), "{failed}");
}

#[test]
fn media_types_are_compared_as_such() {
    let shadowed = Shadowed::of("path = \"/media\"\njudge = \"json\"");
    shadowed.expect("match", "/media");
}

#[test]
fn a_random_token_or_a_time_in_html_is_ignored_by_a_regular_expression() {
    let ignore = r#"ignore = ['nonce="[^"]*"', '<!-- \d{4}-\S+ -->']"#;
    let shadowed =
        Shadowed::of(&format!("path = \"/page\"\njudge = {{ kind = \"text\", {ignore} }}"));
    shadowed.expect("match", "/page");
    shadowed.expect("mismatch", "/page?wrong=new");
    let differences = &shadowed.last("mismatches")["differences"];
    assert_eq!(differences, &json!([{ "kind": "text", "place": "line 1" }]));
}

#[test]
fn the_old_sides_own_failures_are_counted_apart() {
    let shadowed = Shadowed::of("path = \"/flaky\"\njudge = \"json\"");
    shadowed.expect("old_error", "/flaky?fails=old");
    shadowed.expect("match", "/flaky?fails=old");
    assert_eq!(shadowed.last("failures")["old"]["status"], 500);
    assert_eq!(shadowed.metric("shadow_comparisons_total", "result=\"mismatch\""), 0.0);
    // The failure still counts as evidence about that side.
    let discordant = |side| {
        let labels = format!("event=\"failure\",worse=\"{side}\"");
        shadowed.metric("shadow_discordant_total", &labels)
    };
    assert_eq!((discordant("old"), discordant("new")), (1.0, 0.0));
    shadowed.expect("mismatch_once", "/flaky?fails=new");
    assert_eq!((discordant("old"), discordant("new")), (1.0, 1.0));
}

#[test]
fn a_long_answer_is_compared_without_keeping_it() {
    const LONG: usize = 64 << 20;
    let shadowed = Shadowed::of(
        "path = \"/large\"\nignore_headers = [\"content-encoding\"]\n\
         shadow = { max_answer = \"64m\", timeout = \"60s\" }",
    );
    shadowed.expect("match", &format!("/large?bytes={LONG}"));
    shadowed.expect("mismatch", &format!("/large?bytes={LONG}&at=50000000"));
    let place = "offset 49938432 to 50003967";
    let differences = &shadowed.last("mismatches")["differences"];
    assert_eq!(differences, &json!([{ "kind": "body", "place": place }]));
    let peak = status_bytes(shadowed.shadow.child.id(), "VmHWM:");
    assert!(peak < 64 << 20, "{peak} bytes");
    // An answer that only one side encodes is compared the same way.
    shadowed.expect("match", &format!("/large?bytes={}&gzip=new", 4 << 20));
    shadowed.expect("match", &format!("/large?bytes={}&gzip=old", 4 << 20));
}

#[test]
fn by_default_an_answer_of_more_than_a_mebibyte_or_two_seconds_is_not_compared() {
    let shadowed = Shadowed::of("path = \"/large\"\njudge = \"text\"");
    shadowed.expect("match", &format!("/large?bytes={}", 1 << 20));
    shadowed.expect("new_error", &format!("/large?bytes={}", (1 << 20) + 1));
    let failed = &shadowed.last("failures")["new"];
    assert!(failed["detail"].as_str().unwrap().contains("(shadow.max_answer)"), "{failed}");
    shadowed.expect("timeout", "/large?bytes=1&ms=2500");
    let shadowed = Shadowed::of(
        "path = \"/large\"\njudge = \"text\"\nshadow = { timeout = \"20s\", max_answer = \"3m\" }",
    );
    shadowed.expect("match", &format!("/large?bytes={}&ms=2500", 2 << 20));
}

#[test]
fn all_differences_of_a_pair_are_shown_with_their_places() {
    let route = "path = \"/many\"\njudge = \"json\"\ncompare_headers = [\"etag\", \"x-part\"]";
    let shadowed = Shadowed::of(route);
    shadowed.expect("mismatch", "/many");
    let record = shadowed.last("mismatches");
    let places = [
        ("header", "x-part"),
        ("json", "/a"),
        ("json", "/b~1c"),
        ("json", "/list/1"),
        ("json", "/list/2"),
    ];
    let expected = places.map(|(kind, place)| json!({ "kind": kind, "place": place }));
    assert_eq!(record["differences"], json!(expected));
    assert_eq!(record["kind"], "header");
}

#[test]
fn the_noise_of_the_old_side_is_shown_by_field() {
    let shadowed = Shadowed::of("path = \"/noisy\"\njudge = \"json\"\nshadow.noise = 50");
    let judged = || {
        let noise = shadowed.metric("shadow_noise_total", "result=\"mismatch\"");
        (noise, result_of(&shadowed.shadow, "app", "mismatch"))
    };
    while judged().0 < 5.0 || judged().1 < 5.0 {
        mirror_to(&shadowed.shadow, "app", "GET /noisy?wrong=new HTTP/1.1\r\nHost: x", "");
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = get(shadowed.shadow.admin_addr, "/fields");
    let fields: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let app = &fields["app"];
    for (field, is_noise) in
        [("json /id", true), ("json /items/*/token", true), ("json /items/*/price", false)]
    {
        let of = &app["fields"][field];
        assert_eq!(of["between_sides"], app["pairs"], "{field} {app:#}");
        let noise = if is_noise { app["noise_pairs"].clone() } else { json!(0) };
        assert_eq!(of["of_old_itself"], noise, "{field} {app:#}");
    }
}

#[test]
fn noise_that_a_cache_would_hide_is_asked_for_anew() {
    let shadowed = Shadowed::of("path = \"/cached\"\njudge = \"json\"\nshadow.noise = 90");
    let noise =
        |result: &str| shadowed.metric("shadow_noise_total", &format!("result=\"{result}\""));
    eventually("noise", || {
        mirror_to(&shadowed.shadow, "app", "GET /cached HTTP/1.1\r\nHost: x", "");
        noise("mismatch") >= 5.0
    });
    // A cache would have given the same answer twice.
    assert_eq!((noise("match"), noise("cached")), (0.0, 0.0));
}
