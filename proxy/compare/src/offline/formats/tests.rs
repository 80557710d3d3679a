use http::HeaderMap;

use super::*;

/// Number, method, target, headers and body of each request.
fn shown(content: &str) -> Vec<String> {
    let headers = |headers: &HeaderMap| {
        let lines =
            headers.iter().map(|(name, value)| format!(" {name}={}", value.to_str().unwrap()));
        lines.collect::<String>()
    };
    let shown = |given: &RecordedRequest| {
        let MirroredRequest { method, target, body, .. } = &given.asked;
        format!("{} {method} {target}{} {body:?}", given.number, headers(&given.asked.headers))
    };
    parse(content.as_bytes()).unwrap().given.iter().map(shown).collect()
}

#[test]
fn a_line_is_a_path_or_json_or_of_an_access_log() {
    let content = "/report?a=%20\n\n# a remark\r\n/report\r\n\
        ::1 - ann [27/Nov/2026:10:00:00 +0000] \"HEAD /a?b=c HTTP/2.0\" 200 0 \"-\" \"say \\\"hi\\\"\"\n\
        {\"path\":\"/j\"}\n\
        {\"method\":\"POST\",\"path\":\"/o\",\"headers\":{\"X-Token\":\"t\",\"Host\":\"shop\"},\"body\":\"{}\"}\n\
        {\"path\":\"/b\",\"method\":\"PUT\",\"body_base64\":\"/w==\"}\n";
    assert_eq!(
        shown(content),
        [
            "1 GET /report?a=%20 b\"\"",
            "4 GET /report b\"\"",
            "5 HEAD /a?b=c b\"\"",
            "6 GET /j b\"\"",
            "7 POST /o host=shop x-token=t b\"{}\"",
            "8 PUT /b b\"\\xff\"",
        ]
    );
    assert!(parse(b"\n\n").unwrap().given.is_empty());
}

#[test]
fn a_line_of_a_log_without_a_request_is_named() {
    let garbage = b"::1 - - [x] \"\\x16\\x03\\x01\" 400 0\n::1 - - [x] \"-\" 408 0\n::1 - - [x] \"GET http://x/ HTTP/1.1\" 400 0";
    let parsed = parse(garbage).unwrap();
    let lost = [1, 2, 3].map(|number| (number, "without a request"));
    assert_eq!((parsed.given.len(), parsed.lost), (0, lost.to_vec()));
    let parsed = parse(b"::1 - - [x] \"POST /orders HTTP/1.1\" 201 0").unwrap();
    assert_eq!(parsed.lost, [(1, "whose body is not in the log")]);
}

#[test]
fn a_mistake_names_its_line() {
    for (content, problem) in [
        ("/report\nreport", "line 2: \"report\": must be a path and query such as"),
        ("/report?a b", "line 1: \"/report?a b\" is not a path and query"),
        ("{\"path\":1}", "line 1: \"{\\\"path\\\":1}\": invalid type"),
        ("{\"path\":\"a\"}", "path: \"a\": must begin with /"),
        ("{\"path\":\"/a\",\"verb\":\"GET\"}", "unknown field `verb`"),
        ("{\"path\":\"/a\",\"method\":\"A B\"}", "method"),
        (
            "{\"path\":\"/a\",\"headers\":{\"content-length\":\"1\"}}",
            "content-length: compare sets it",
        ),
        ("{\"path\":\"/a\",\"body\":\"\",\"body_base64\":\"\"}", "only one of them"),
        ("{\"path\":\"/a\",\"body_base64\":\"?\"}", "body_base64"),
    ] {
        let error = format!("{:#}", parse(content.as_bytes()).unwrap_err());
        assert!(error.contains(problem) && error.lines().count() == 1, "{content}: {error}");
    }
}

#[test]
fn a_har_is_what_a_browser_saved() {
    let har = r#"{ "log": { "version": "1.2", "creator": {}, "entries": [
        { "request": { "method": "GET", "url": "https://shop.example/a?b=c#d", "httpVersion": "h2",
            "headers": [{ "name": ":authority", "value": "x" }, { "name": "Cookie", "value": "s=1" }] } },
        { "request": { "method": "POST", "url": "https://shop.example/o", "headers": [],
            "postData": { "mimeType": "application/json", "text": "{}" } } }
    ] } }"#;
    assert_eq!(
        shown(har),
        [
            "1 GET /a?b=c cookie=s=1 host=shop.example b\"\"",
            "2 POST /o host=shop.example content-type=application/json b\"{}\"",
        ]
    );
}
