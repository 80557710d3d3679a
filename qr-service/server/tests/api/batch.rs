//! Tests `/v1/batch`; Python's `zipfile` reads the archives.

use std::net::SocketAddr;

use serde_json::{Value, json};
use service_kit::testing::has_all;

use crate::support::{
    Answer, files_of, get, of_png, of_svg, padded, post_in_time, post_many, read, resident_bytes,
    start,
};

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
    assert_eq!(second["text"], "zwei, ü");
}

#[test]
fn a_table_is_read_as_spreadsheets_save_it() {
    let service = start(&[]);
    let items = r#"[{"text": "Größe; 1", "filename": "a", "level": "Q"}, {"text": "b,2"}]"#;
    let expected = post(service.addr, "", "application/json", items.as_bytes()).body;
    let semicolons = "Text;File name;Level\r\n\"Größe; 1\";a;q\r\nb,2;;\r\n;;\r\n";
    let latin = semicolons.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let wide = |text: &str| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
    };
    let tabs = "text\tfilename\tlevel\t\r\nGröße; 1\ta\tQ\t\r\n\"b,2\"\t\t\t\r\n";
    let left_out = "text,_id,filename,level\n\"Größe; 1\",7,a,Q\n\"b,2\",8,,\n";
    let file = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"codes.csv\"\r\n\r\n";
    for (what, media, body) in [
        ("semicolons", "text/csv", semicolons.as_bytes().to_vec()),
        ("a mark", "text/csv", format!("\u{feff}{semicolons}").into_bytes()),
        ("Excel's line", "text/csv", format!("sep=;\r\n{semicolons}").into_bytes()),
        ("Latin-1", "text/csv", latin),
        ("tabs", "text/tab-separated-values", tabs.as_bytes().to_vec()),
        ("UTF-16", "text/csv", wide(tabs)),
        ("Windows", "application/vnd.ms-excel", semicolons.as_bytes().to_vec()),
        ("columns to leave out", "text/csv", left_out.as_bytes().to_vec()),
        ("curl", "application/x-www-form-urlencoded", semicolons.as_bytes().to_vec()),
        ("JSON in curl", "application/x-www-form-urlencoded", items.as_bytes().to_vec()),
        (
            "an upload",
            "multipart/form-data; boundary=b",
            format!("{file}{semicolons}\r\n--b--\r\n").into_bytes(),
        ),
    ] {
        let answer = post(service.addr, "", media, &body);
        assert!(answer.body == expected, "{what}: {}", String::from_utf8_lossy(&answer.body));
    }
    let list = post(service.addr, "", "text/csv", b"https://a.example/\nhttps://b.example/\n");
    let items = br#"[{"text": "https://a.example/"}, {"text": "https://b.example/"}]"#;
    assert!(list.body == post(service.addr, "", "application/json", items).body);
}

/// A list whose first line has no comma lost what came after a comma in later lines, with 200.
#[test]
fn no_text_of_a_list_is_cut_at_a_comma() {
    let service = start(&[]);
    for (list, line) in [
        ("https://example.com/one\nhttps://example.com/a,b\n", "line 2 "),
        ("https://example.com/one\r\n\r\nHello, world\r\n", "line 3 "),
        ("\nhttps://example.com/one\n\"a\nb\"\na;b\n", "line 5 "),
        ("text\nhttps://example.com/a,b\n", "line 2 "),
        ("https://example.com/a\tb\nhttps://example.com/one\n", "line 1 "),
    ] {
        for path in ["/v1/batch", "/v1/labels"] {
            let answer = post_many(service.addr, path, "text/csv", list.as_bytes());
            assert_eq!(answer.status, 400, "{list}");
            assert!(answer.text().contains(line), "{list} {}", answer.text());
        }
    }
    let items = br#"[{"text": "https://example.com/one"}, {"text": "Hello, world"}]"#;
    let expected = post(service.addr, "", "application/json", items).body;
    for list in [
        "https://example.com/one\n\"Hello, world\"\n",
        "sep=|\nhttps://example.com/one\nHello, world\n",
        "sep=;\ntext\nhttps://example.com/one\nHello, world\n",
        "\r\ntext\r\nhttps://example.com/one\r\n\r\n\"Hello, world\"\r\n  \r\n\r\n",
        "text\rhttps://example.com/one\r\"Hello, world\"",
    ] {
        assert!(post(service.addr, "", "text/csv", list.as_bytes()).body == expected, "{list:?}");
    }
}

#[test]
fn quotation_marks_never_change_a_text_unseen() {
    let service = start(&[]);
    for (table, line) in [
        ("text,level\n\"a\" b,Q\n", "line 2 "),
        ("text,level\nc,Q\n\"a,Q\nb,Q\n", "line 3 "),
        ("https://a.example/\n\"https://b.example/\n", "line 2 "),
        ("text,level\na, b,Q\n", "line 2 "),
    ] {
        let answer = post(service.addr, "", "text/csv", table.as_bytes());
        assert!(answer.status == 400 && answer.text().contains(line), "{table} {answer:?}");
    }
    let items = br#"[{"text": "5\" pipe"}, {"text": "say \"a, b\""}, {"text": "two\nlines"}]"#;
    let table = "text,level\n5\" pipe,\n\"say \"\"a, b\"\"\",\n\"two\nlines\" ,\n";
    let expected = post(service.addr, "", "application/json", items);
    assert!(post(service.addr, "", "text/csv", table.as_bytes()).body == expected.body);
}

/// Excel writes TRUE, and German Excel 25,4 in a file with semicolons; both were refused.
#[test]
fn values_are_read_as_spreadsheets_write_them() {
    let service = start(&[]);
    let items = br#"[{"text": "a", "boost": true, "width_mm": 25.4, "format": "pdf"},
        {"text": "b", "boost": false, "width_mm": 30, "format": "pdf"}]"#;
    let expected = post(service.addr, "", "application/json", items).body;
    for (table, what) in [
        ("text;boost;width_mm;format\na;TRUE;25,4;pdf\nb;FALSE;30;pdf\n", "Excel"),
        ("text;boost;width_mm;format\na;True;25.4;PDF\nb;0;30,0;pdf\n", "by hand"),
        ("text,boost,width_mm,format\na,1,25.4,pdf\nb,,30,pdf\n", "commas"),
    ] {
        let answer = post(service.addr, "", "text/csv", table.as_bytes());
        assert!(answer.body == expected, "{what} {}", String::from_utf8_lossy(&answer.body));
    }
    let answer = post(service.addr, "", "text/csv", b"text,width_mm,format\na,\"25,4\",pdf\n");
    assert_eq!(answer.faults(), ["items[0].width_mm malformed"]);
    assert!(answer.text().contains("with a point"), "{}", answer.text());
}

#[test]
fn the_column_of_the_texts_can_be_named() {
    let service = start(&[]);
    let table = b"URL,Name,level\nhttps://a.example/,A,Q\n";
    let items = br#"[{"text": "https://a.example/", "level": "Q"}]"#;
    let expected = post(service.addr, "", "application/json", items).body;
    assert!(post(service.addr, "?text_column=url", "text/csv", table).body == expected);
    for (query, table, told) in [
        ("", "URL,Name,link\nhttps://a.example/,A,b\n", "?text_column=URL"),
        ("", "Name,Website\nA,https://a.example/\n", "?text_column=NAME"),
        ("?text_column=web", "URL,Name\nhttps://a.example/,A\n", "0 columns of line 1"),
        ("?text_column=URL", "URL,text\nhttps://a.example/,A\n", "2 columns of line 1"),
        ("?text_column=URL", "[{\"text\": \"a\"}]", "the body is JSON"),
    ] {
        let media = if table.starts_with('[') { "application/json" } else { "text/csv" };
        let answer = post(service.addr, query, media, table.as_bytes());
        assert!(answer.status == 400 && answer.text().contains(told), "{told} {}", answer.text());
    }
}

/// A megabyte of `1` took 354 MB of memory and two seconds, and a row of 260,000 names was answered with 111 MB.
#[test]
fn a_body_is_read_only_until_it_has_too_many_items() {
    let service = start(&[]);
    let before = resident_bytes(service.child.id());
    let columns = |count| format!("text{}\na{}\n", ",a".repeat(count), ",".repeat(count));
    let lines = |line: &str| line.repeat(((1 << 20) - 8) / line.len());
    for (media, body, most, told) in [
        ("text/csv", lines("1\n"), 400, "more than 1000 items"),
        ("application/x-ndjson", lines("{\"a\":1}\n"), 400, "more than 1000 items"),
        ("application/json", format!("[{}{{}}]", lines("{},")), 400, "more than 1000 items"),
        ("application/json", format!("[{}1", lines("{},")), 400, "not a JSON array"),
        ("text/csv", columns(260_000), 400, "above 1000"),
        ("text/csv", columns(900), 400_000, "200 faults"),
    ] {
        let answer = post(service.addr, "", media, body.as_bytes());
        assert!(answer.status == 400 && answer.text().contains(told), "{told}");
        assert!(answer.body.len() < most, "{told} {}", answer.body.len());
    }
    let taken = resident_bytes(service.child.id()) - before;
    assert!(taken < 40_000_000, "{taken} bytes");
}

#[test]
fn what_is_wrong_with_a_table_is_told_once_with_what_to_write() {
    let service = start(&[]);
    let rows = |head: &str, row: &str| format!("{head}\n{}", format!("{row}\n").repeat(200));
    for (table, faults, said) in [
        (rows("text,notes", "a,b"), vec!["notes unknown"], "begin its name with _"),
        (rows("text,ecc", "a,H"), vec!["ecc unknown"], "use level"),
        (rows("url,size", "a,100"), vec!["items[0].text missing", "url unknown"], "199 more items"),
        (rows("text,size", "a,0"), vec!["items[0].size out-of-range"], "199 more items"),
        (rows("a,b", "c,d"), vec![], "text,filename"),
        (rows("Website", "https://a.example/"), vec![], "text,filename"),
        (rows("text,size", "a,b,100"), vec![], "quotation marks"),
        ("PK\u{3}\u{4}".to_owned(), vec![], "save it as CSV"),
    ] {
        let answer = post(service.addr, "", "text/csv", table.as_bytes());
        assert_eq!((answer.status, answer.faults().join(" ")), (400, faults.join(" ")));
        assert!(answer.body.len() < 3000, "{said}");
        has_all(answer.text(), &[said]);
    }
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
    // Faults that show only when the picture is drawn and read.
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

fn post_items(addr: SocketAddr, items: &[Value]) -> Answer {
    post_in_time(addr, "/v1/batch", "application/json", Value::from(items).to_string().as_bytes())
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
    let once = ["items[0].text missing", "items[0].x unknown"].map(str::to_owned);
    assert_eq!((answer.status, answer.faults()), (400, once.into()));
    assert!(answer.text().contains("999 more items"), "{}", answer.text());
    let answer = post(service.addr, "?nothing=1", "text/csv", b"text\na\n");
    assert_eq!(answer.faults(), ["nothing unknown"]);
    let long = vec![b' '; (1 << 20) + 1];
    assert_eq!(post(service.addr, "", "application/json", &long).status, 413);
    assert_eq!(get(service.addr, "/v1/batch").header("allow"), Some("POST"));
}
