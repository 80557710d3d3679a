//! `carve compare` with files of each format, against an app in Python and the same app in Node.

use std::process::Output;

use serde_json::{Value, json};
use service_kit::testing::{Service, has_all};

use crate::support::{command, in_node, in_python, routes};

/// Both sides of the app, and its routes.
struct App {
    new: Service,
    old: Service,
    folder: tempfile::TempDir,
}

impl App {
    fn start() -> Self {
        let of = |path: &str, more: &str| format!("path = \"{path}\"\njudge = \"json\"\n{more}");
        let folder = routes(&[
            ("login", &of("/login", "shadow.send_headers = [\"cookie\"]")),
            ("orders", &of("/orders", "methods = [\"POST\"]\nshadow.methods = [\"POST\"]")),
            ("media", &of("/media", "")),
            ("noisy", &of("/noisy", "")),
            ("host", &of("/host", "")),
            ("many", &of("/many", "")),
        ]);
        App { new: in_node("new"), old: in_python("old"), folder }
    }

    fn compare(&self, content: &str, more: &[&str]) -> (Output, String) {
        let file = self.folder.path().join("requests");
        std::fs::write(&file, content).unwrap();
        let url = |side: &Service| format!("http://{}", side.addr);
        let mut command = command("compare", &[]);
        command.arg(file).arg("--routes").arg(self.folder.path()).args(more);
        let output =
            command.args(["--new", &url(&self.new), "--old", &url(&self.old)]).output().unwrap();
        let printed = [&output.stdout[..], &output.stderr[..]].concat();
        let printed = String::from_utf8(printed).unwrap();
        (output, printed)
    }

    fn report(&self, content: &str) -> Value {
        let (output, _) = self.compare(content, &["--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn lines_that_cannot_be_compared_are_skipped_with_a_count() {
    let app = App::start();
    let log = "::1 - - [27/Nov/2026:10:00:00 +0000] \"GET /media HTTP/1.1\" 200 8 \"-\" \"curl\"\n\
        ::1 - - [27/Nov/2026:10:00:01 +0000] \"GET /style.css HTTP/1.1\" 200 8 \"-\" \"curl\"\n\
        ::1 - - [27/Nov/2026:10:00:02 +0000] \"POST /orders HTTP/1.1\" 201 8 \"-\" \"curl\"\n\
        ::1 - - [27/Nov/2026:10:00:02 +0000] \"GET /orders HTTP/1.1\" 405 8 \"-\" \"curl\"\n\
        ::1 - - [27/Nov/2026:10:00:03 +0000] \"\\x16\\x03\" 400 8 \"-\" \"-\"\n";
    let (output, printed) = app.compare(log, &[]);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let said = [
        "1 requests: 1 match\n",
        "1 whose body is not in the log (the first in line 3)",
        "1 of no route (the first in line 2)",
        "1 whose method GET route orders does not have (the first in line 4)",
        "1 without a request (the first in line 5)",
    ];
    has_all(&printed, &said);
    let (output, printed) = app.compare("/style.css\n", &[]);
    assert_eq!((output.status.code(), printed.lines().count()), (Some(2), 1), "{printed}");
    assert!(printed.contains("nothing to compare: skipped 1 of no route"), "{printed}");
}

#[test]
fn json_lines_have_method_headers_and_body() {
    let app = App::start();
    let line = r#"{"method":"POST","path":"/orders","headers":{"content-type":"text/csv","x-token":"t"},"body":"4;5"}"#;
    let report = app.report(line);
    assert_eq!(report["results"]["match"], 1, "{report:#}");
    // Python gets the same request, so Node got what was written.
    let other = line.replace("4;5", "4;6");
    assert_eq!(app.report(&format!("{line}\n{other}"))["results"]["match"], 2);
}

#[test]
fn a_match_of_refusals_proves_nothing_and_a_har_has_credentials() {
    let app = App::start();
    let (output, printed) = app.compare("/login\n/login\n", &[]);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let said = "2 of the pairs prove nothing, since both sides refused or failed: 2 times 401";
    has_all(&printed, &[said]);
    let har = json!({ "log": { "entries": [{ "request": {
        "method": "GET", "url": "https://shop.example/login",
        "headers": [{ "name": "Cookie", "value": "session=1" }],
    } }] } });
    let report = app.report(&har.to_string());
    assert_eq!((&report["results"]["match"], &report["proves_nothing"]), (&json!(1), &json!({})));
}

#[test]
fn both_sides_are_asked_for_the_same_host() {
    let app = App::start();
    for more in [&[][..], &["--host", "shop.example"]] {
        let (output, printed) = app.compare("/host\n", more);
        assert_eq!(output.status.code(), Some(0), "{printed}");
    }
}

#[test]
fn the_report_has_all_differences_and_the_noise_by_field() {
    let app = App::start();
    let (output, printed) = app.compare("/many\n", &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = [
        "line 1: mismatch in json: /a: old 1, new 2;",
        "\n    json: /b~1c: old \"x\", new \"y\"\n",
        "/list/2",
    ];
    has_all(&printed, &said);
    let (_, printed) = app.compare("/noisy\n/noisy?wrong=new\n/many\n", &["--noise"]);
    let said = [
        "noise: noisy: json /id: differs in 2 of 2 pairs of the old side with itself, and in 2 of 2 of both sides\n",
        "noise: noisy: the judge leaves them out with ignore = [\"/id\", \"/items/*/token\"]\n",
        "noise: many: 1 answers of the old side are the same when requested again\n",
    ];
    has_all(&printed, &said);
    assert!(!printed.contains("noise: noisy: json /items/*/price"), "{printed}");
}
