//! Tests bodies of POST requests, and what logs keep of them.

use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use service_kit::testing::connect;

use crate::support::{get, post_json, read_answer, request, send, start};

#[test]
fn a_post_gets_the_picture_of_the_query_and_bad_bodies_are_refused() {
    let service = start(&[]);
    let body = json!({"text": "a&b=ü", "level": "Q", "scale": 3, "boost": false, "title": null});
    let posted = post_json(service.addr, "/v1/qr.svg", &body);
    let queried = get(service.addr, "/v1/qr.svg?text=a%26b%3D%C3%BC&level=Q&scale=3");
    assert_eq!((posted.status, &posted.body), (200, &queried.body), "{}", posted.text());
    assert_eq!(posted.header("cache-control"), Some("no-store"));
    let mut stream = BufReader::new(connect(service.addr));
    let json_type = "content-type: application/json; charset=utf-8\r\n";
    let mut post =
        |target: &str, headers: &str, body: &[u8]| send(&mut stream, "POST", target, headers, body);
    for (body, faults) in [
        (&br#"{"text":"a","text":"b"}"#[..], vec!["text repeated"]),
        (br#"{"texts":"a"}"#, vec!["text missing", "texts unknown"]),
        (b"[]", vec![]),
        (b"{\"text\":\"a\"", vec![]),
        (b"\xff", vec![]),
        (b"null", vec![]),
    ] {
        let answer = post("/v1/qr", json_type, body);
        assert_eq!((answer.status, answer.faults().join(" ")), (400, faults.join(" ")));
    }
    // An answer that does not wait for the body ends its connection.
    for (headers, body) in [("content-type: text/plain\r\n", &b"a"[..]), ("", b"{}")] {
        assert_eq!(request(service.addr, "POST", "/v1/qr", headers, body).status, 415);
    }
    let both = post("/v1/qr?level=L", json_type, b"{\"text\":\"a\"}");
    assert_eq!(both.faults(), ["level contradictory"]);
    // The connection is still in step after all of these.
    assert_eq!(post("/v1/qr", json_type, b"{\"text\":\"a\"}").status, 200);
    let long = format!("{{\"text\":\"{}\"}}", "a".repeat(420_000));
    assert_eq!(post("/v1/qr", json_type, long.as_bytes()).status, 413);
    let put = request(service.addr, "PUT", "/v1/qr?text=a", "", b"");
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST")));
    // A body in chunks does not announce its length.
    let mut stream = BufReader::new(connect(service.addr));
    let head = "POST /v1/qr HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
        transfer-encoding: chunked\r\n\r\n668a0\r\n";
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let _ = stream.get_mut().write_all(&[b' '; 420_000]);
    let _ = stream.get_mut().write_all(b"\r\n0\r\n\r\n");
    assert_eq!(read_answer(&mut stream, false).status, 413);
}

#[test]
fn forms_of_both_types_are_taken_and_empty_fields_are_not_given() {
    let service = start(&[]);
    let expected = get(service.addr, "/v1/qr?text=a%20b%2B%C3%BC&level=Q").body;
    let mut stream = BufReader::new(connect(service.addr));
    let mut post = |target: &str, media: &str, body: &str| {
        let head = format!("content-type: {media}\r\n");
        send(&mut stream, "POST", target, &head, body.as_bytes())
    };
    let form = "application/x-www-form-urlencoded";
    let parts = "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\na b+ü\r\n\
        --b\r\nContent-Disposition: form-data; name=\"level\"\r\n\r\nQ\r\n\
        --b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n\r\n--b--\r\n";
    for (media, body) in [
        (form, "text=a+b%2B%C3%BC&level=Q&title=&filename="),
        (form, r#" {"text": "a b+ü", "level": "q"}"#),
        ("multipart/form-data; boundary=b", parts),
    ] {
        let answer = post("/v1/qr", media, body);
        assert_eq!((answer.status, &answer.body), (200, &expected), "{body} {}", answer.text());
    }
    assert_eq!(post("/v1/qr", form, "text=a&colour=1").faults(), ["colour unknown"]);
    assert_eq!(post("/v1/qr", form, "text=").faults(), ["text missing"]);
    let wifi = post("/v1/payload/wifi.txt", form, "ssid=a+b&password=12345678");
    assert_eq!(wifi.status, 200, "{}", wifi.text());
}

/// A client that has not sent its whole body is not idle: the API waits ten seconds for the rest.
#[test]
fn a_body_that_does_not_come_ends_its_request() {
    let service = start(&[("QR_IDLE_TIMEOUT", "300ms")]);
    let mut stream = BufReader::new(connect(service.addr));
    let head = "POST /v1/qr HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let begun = Instant::now();
    assert_eq!(read_answer(&mut stream, false).status, 408);
    assert!(begun.elapsed() < Duration::from_secs(18), "still open");
}

#[test]
fn logs_and_metrics_never_contain_the_text() {
    let mut service = start(&[("QR_ACCESS_LOG", "all"), ("QR_LOG_LEVEL", "trace")]);
    for target in
        ["/v1/qr?text=sesame", "/v1/qr?sesame=1", "/v1/qr?text=sesame&dark=fff", "/v1/sesame"]
    {
        get(service.addr, target);
    }
    post_json(service.addr, "/v1/qr", &json!({"text": "sesame", "level": "sesame"}));
    let metrics = service_kit::testing::get(service.admin_addr, "/metrics");
    assert!(!metrics.contains("sesame"));
    let counted = "http_requests_total{route=\"/v1/\",method=\"POST\",status=\"400\"} 1";
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    service.signal("TERM");
    service.wait();
    let log = service.rest_of_log();
    assert!(log.contains("\"route\":\"/v1/\"") && !log.contains("sesame"), "{log}");
}
