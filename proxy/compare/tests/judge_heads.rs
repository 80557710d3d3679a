//! Statuses and headers: pairs that are the same and pairs that differ.

use compare::judge::{RequestLine, Verdict};
use http::header::{HeaderName, SET_COOKIE, VARY};
use http::{HeaderMap, HeaderValue};
use route::Route;

use crate::judge_support::{GET, answer, judge, judge_comparing, shown};

#[test]
fn statuses() {
    #[rustfmt::skip]
    let rows = [
        // old, new, whether they are the same
        (200, 200, true),
        (404, 404, true),
        (414, 414, true),
        (414, 431, true),
        (431, 414, true),
        (200, 404, false),
        (200, 204, false),
        (500, 502, false),
        (414, 400, false),
        (400, 431, false),
    ];
    let headers = HeaderMap::new();
    for settings in ["bytes", "text", "json", "qr", "image"] {
        for (old, new, same) in rows {
            // For requests that are too large, the bodies are not compared.
            let body = |status: u16| if status == 431 { &b"<h1>no</h1>"[..] } else { b"" };
            let asked = RequestLine { method: "HEAD", target: "/items" };
            let (old_answer, new_answer) =
                (answer(old, &headers, body(old)), answer(new, &headers, body(new)));
            let verdict = judge(settings).compare(&asked, &old_answer, &new_answer);
            if same {
                assert_eq!(verdict, Verdict::Same, "{settings}: {old} and {new}");
            } else {
                let detail = format!("old {old}, new {new}");
                assert_eq!(shown(&verdict), ("status", detail.as_str()), "{settings}");
            }
        }
    }
}

#[test]
fn headers() {
    #[rustfmt::skip]
    let same: &[(&str, &str, &str)] = &[
        // header, old, new; "-" means that the header is missing
        ("content-type", "-", "-"),
        ("content-type", "text/html; charset=UTF-8", "text/html;charset=utf-8"),
        ("content-type", "text/html; charset=utf-8", "Text/HTML ;  Charset=\"UTF-8\""),
        ("content-type", "text/html", "text/html;"),
        ("content-type", "a/b; x=1; y=2", "a/b; y=2; x=1"),
        ("content-type", "application/json", "application/json; charset=utf-8"),
        ("content-type", "application/problem+json; charset=\"UTF-8\"", "Application/Problem+JSON"),
        ("content-type", "image/png", "image/png; charset=utf-8"),
        ("content-type", "a/b; x=\"1;\\\"2\"; y=3", "a/b; y=3; x=\"1;\\\"2\""),
        ("location", "/a", "/a"),
        ("etag", "\"1\"", "\"2\""),
        ("cache-control", "private, max-age=60", "Max-Age=60,private"),
        ("vary", "Accept, Cookie", "cookie, accept"),
        ("www-authenticate", "Digest realm=\"a, b\", nonce=\"1\"", "digest realm=\"a, b\", nonce=\"2\""),
        ("access-control-allow-methods", "GET, PUT", "PUT, GET"),
        ("content-disposition", "attachment; filename=\"a\"", "attachment; filename=a"),
        ("set-cookie", "a=1; Path=/; Expires=Mon, 01 Jan 2029 00:00:00 GMT", "a=2; expires=x; path=/"),
        ("date", "yesterday", "-"),            // not compared
    ];
    #[rustfmt::skip]
    let different: &[(&str, &str, &str)] = &[
        ("content-type", "text/html", "text/plain"),
        ("content-type", "text/html", "-"),
        ("content-type", "-", "text/html"),
        ("content-type", "text/html; charset=utf-8", "text/html"),
        ("content-type", "application/json", "application/json; charset=latin1"),
        ("content-type", "image/svg+xml", "image/svg+xml; charset=utf-16"),
        ("content-type", "a/b; x=A", "a/b; x=a"),
        ("content-type", "a/b; x=\"1;y=2\"", "a/b; x=1;y=2"),
        ("cache-control", "private", "-"),
        ("cache-control", "no-store", "max-age=60"),
        ("vary", "Cookie", "-"),
        ("etag", "\"1\"", "-"),
        ("access-control-allow-origin", "https://a", "*"),
        ("www-authenticate", "Basic realm=a", "Bearer"),
        ("content-encoding", "gzip", "-"),
        ("set-cookie", "a=1; HttpOnly", "a=1"),
        ("set-cookie", "a=1", "A=1"),
        ("set-cookie", "a=1; Path=/A", "a=1; Path=/a"),
        ("set-cookie", "a=1", "a=; Max-Age=0"),
        ("location", "/a", "/A"),
        ("location", "/a", "-"),
    ];
    let verdict = |name: &str, old: &str, new: &str| {
        let headers = |value: &str| {
            let mut headers = HeaderMap::new();
            if value != "-" {
                let name: HeaderName = name.parse().unwrap();
                headers.insert(name, HeaderValue::from_str(value).unwrap());
            }
            headers
        };
        let (old, new) = (headers(old), headers(new));
        let compared = Route::parse("report", "path = \"/report\"").unwrap().compared_headers();
        let compared = compared.iter().map(|name| name.parse().unwrap()).collect();
        let judge = judge_comparing("bytes", compared);
        judge.compare(&GET, &answer(200, &old, b""), &answer(200, &new, b""))
    };
    for (name, old, new) in same {
        assert_eq!(verdict(name, old, new), Verdict::Same, "{name}: {old} and {new}");
    }
    let shows = |value: &str| if value == "-" { "absent".to_owned() } else { format!("`{value}`") };
    for (name, old, new) in different {
        let detail = format!("{name}: old {}, new {}", shows(old), shows(new));
        assert_eq!(shown(&verdict(name, old, new)), ("header", &*detail));
    }
}

#[test]
fn lines_of_a_header_are_one_value_except_cookies() {
    let judge = judge_comparing("bytes", vec![VARY, SET_COOKIE]);
    let headers = |lines: &[(&'static str, &str)]| -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .fold(HeaderMap::new(), |mut headers, (name, value): (_, HeaderValue)| {
                headers.append(name, value);
                headers
            })
    };
    let verdict = |old: &HeaderMap, new: &HeaderMap| {
        judge.compare(&GET, &answer(200, old, b""), &answer(200, new, b""))
    };
    let (two, one) = (headers(&[("vary", "a"), ("vary", "b")]), headers(&[("vary", "a, b")]));
    assert_eq!(verdict(&two, &one), Verdict::Same);
    let two = headers(&[("set-cookie", "a=1"), ("set-cookie", "b=2")]);
    let one = headers(&[("set-cookie", "a=1, b=2")]);
    assert_eq!(shown(&verdict(&two, &one)).0, "header");
    let missing = headers(&[("set-cookie", "a=1")]);
    assert_eq!(shown(&verdict(&two, &missing)).0, "header");
    let turned = headers(&[("set-cookie", "b=3"), ("set-cookie", "a=4")]);
    assert_eq!(verdict(&two, &turned), Verdict::Same);
}

#[test]
fn a_route_chooses_the_headers() {
    let compared = |keys: &str| {
        let route = Route::parse("report", &format!("path = \"/report\"\n{keys}"));
        route.map(|route| route.compared_headers().join(" ")).map_err(|error| format!("{error:#}"))
    };
    assert!(compared("").unwrap().contains("cache-control content-disposition"));
    let without = compared(r#"ignore_headers = ["Content-Type", "ETag"]"#).unwrap();
    assert!(without.ends_with("content-encoding location set-cookie vary www-authenticate"));
    assert_eq!(compared(r#"compare_headers = ["ETag", "vary"]"#).unwrap(), "etag vary");
    assert_eq!(compared("compare_headers = []").unwrap(), "");
    for key in ["compare_headers", "ignore_headers"] {
        let error = compared(&format!(r#"{key} = ["cache control"]"#)).unwrap_err();
        assert!(error.contains(r#""cache control" is not a header's name"#), "{error}");
    }
}
