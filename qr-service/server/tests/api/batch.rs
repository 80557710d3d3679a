//! `/v1/batch`: archives, read by Python's `zipfile`.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::{Answer, files_of, get, of_png, of_svg, padded, post_many, read, start};

fn post(addr: SocketAddr, query: &str, media: &str, body: &[u8]) -> Answer {
    post_many(addr, &format!("/v1/batch{query}"), media, body)
}

#[test]
fn json_lines_and_tables_give_the_same_archive_with_a_manifest() {
    let service = start(&[]);
    let array = r#"[{"text": "one", "filename": "first"}, {"text": "zwei, ü", "format": "svg", "level": "Q"},
        {"text": "3", "dark": "036", "filename": "third.PNG"}]"#;
    let lines = "{\"text\": \"one\", \"filename\": \"first\"}\n\n\
        {\"text\": \"zwei, ü\", \"format\": \"svg\", \"level\": \"Q\"}\r\n\
        {\"text\": \"3\", \"dark\": \"036\", \"filename\": \"third.PNG\"}";
    let table = "\u{feff}text,format,level,filename,dark\r\none,,,first,\r\n\"zwei, ü\",svg,Q,,\r\n3,,,third.PNG,036\r\n";
    let answer = post(service.addr, "?margin=5", "application/json", array.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/zip"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for (media, body) in
        [("application/x-ndjson", lines), ("text/csv", table), ("text/csv; charset=utf-8", table)]
    {
        let same = post(service.addr, "?margin=5", media, body.as_bytes());
        assert!(same.body == answer.body, "{media}");
    }
    let files = files_of(&answer.body);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["first.png", "qr-0002.svg", "third.PNG", "manifest.json"]);
    let pictures = [of_png(&files[0].1), of_svg(&files[1].1, 4.0), of_png(&files[2].1)];
    for (picture, text) in pictures.iter().zip(["one", "zwei, ü", "3"]) {
        assert_eq!(read(&padded(picture), "qr").unwrap().text(), text);
    }
    assert_eq!(files[0].1, get(service.addr, "/v1/qr.png?text=one&margin=5").body);
    let manifest: Value = serde_json::from_slice(&files[3].1).unwrap();
    let second = &manifest["items"][1];
    assert_eq!((&second["file"], &second["level"]), (&json!("qr-0002.svg"), &json!("Q")));
    assert_eq!(second["bytes"], files[1].1.len());
}

#[test]
fn one_wrong_item_of_a_thousand_is_named_and_nothing_is_sent() {
    let service = start(&[]);
    let mut items: Vec<Value> = (0..1000).map(|i| json!({"text": format!("item {i}")})).collect();
    assert_eq!(files_of(&post_items(service.addr, &items).body).len(), 1001);
    items[999] = json!({"text": "a", "size": 0, "colour": 1});
    let answer = post_items(service.addr, &items);
    let faults = ["items[999].colour unknown", "items[999].size out-of-range"];
    assert_eq!((answer.status, answer.faults()), (400, faults.map(str::to_owned).into()));
    // What shows only when the picture is drawn and read.
    for (item, fault) in [
        (json!({"text": "a", "dark": "ff0"}), "items[999].dark contrast"),
        (json!({"text": "a".repeat(3000)}), "items[999].text too-long"),
        (json!({"text": "a", "size": 10}), "items[999].size size"),
    ] {
        items[999] = item;
        let answer = post_items(service.addr, &items);
        assert_eq!((answer.status, answer.faults()), (422, vec![fault.to_owned()]));
    }
}

/// Sends items; once more if the machine is too busy to make them in time.
fn post_items(addr: SocketAddr, items: &[Value]) -> Answer {
    let body = Value::from(items).to_string();
    loop {
        let answer = post(addr, "", "application/json", body.as_bytes());
        let is_late = answer.status == 422 && answer.faults() == ["items out-of-range"];
        if answer.status != 503 && !is_late {
            return answer;
        }
    }
}

#[test]
fn names_are_safe_and_used_once() {
    let service = start(&[]);
    for (first, second, faults) in [
        ("a", "A.png", vec!["items[1].filename repeated"]),
        ("../a", "b", vec!["items[0].filename malformed"]),
        ("..", "b", vec!["items[0].filename malformed"]),
        ("a\\b", "C:d", vec!["items[0].filename malformed", "items[1].filename malformed"]),
        ("con", "lpt1.png", vec!["items[0].filename malformed", "items[1].filename malformed"]),
        ("qr-0002", "qr-0002", vec!["items[1].filename repeated"]),
    ] {
        let items =
            [json!({"text": "a", "filename": first}), json!({"text": "b", "filename": second})];
        let answer = post_items(service.addr, &items);
        let faults: Vec<String> = faults.into_iter().map(str::to_owned).collect();
        assert_eq!((answer.status, answer.faults()), (400, faults), "{first} {second}");
    }
    let own = [json!({"text": "a", "filename": "manifest.json", "format": "json"})];
    assert_eq!(post_items(service.addr, &own).faults(), ["items[0].filename repeated"]);
}

#[test]
fn what_is_no_batch_is_refused() {
    let service = start(&[]);
    let many = format!("[{}{{}}]", "{},".repeat(1000));
    let faulty = format!("[{}{{\"x\":1}}]", "{\"x\":1},".repeat(999));
    for (media, body, status) in [
        ("application/json", "[]", 400),
        ("application/json", "{}", 400),
        ("application/json", "[1]", 400),
        ("application/json", "[{\"text\":\"a\"}", 400),
        ("application/json", &many, 400),
        ("application/x-ndjson", "{\"text\":\"a\"}\n[]", 400),
        ("application/x-ndjson", "\n\n", 400),
        ("text/csv", "text\n", 400),
        ("text/csv", "text,level\na\n", 400),
        ("text/plain", "a", 415),
    ] {
        let answer = post(service.addr, "", media, body.as_bytes());
        assert_eq!(answer.status, status, "{media} {}", answer.text());
    }
    let answer = post(service.addr, "", "application/json", faulty.as_bytes());
    assert_eq!((answer.status, answer.faults().len()), (400, 200));
    let answer = post(service.addr, "?nothing=1", "text/csv", b"text\na\n");
    assert_eq!(answer.faults(), ["nothing unknown"]);
    let long = vec![b' '; (1 << 20) + 1];
    assert_eq!(post(service.addr, "", "application/json", &long).status, 413);
    assert_eq!(get(service.addr, "/v1/batch").header("allow"), Some("POST"));
}
