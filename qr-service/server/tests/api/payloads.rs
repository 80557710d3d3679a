//! Tests `/v1/payload/`: zxing-cpp reads the text that the fields give.

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::{Value, json};

use crate::support::{encode, get, of_png, post_json, read, start};

/// `cases.json` beside the code has the texts of every kind.
#[test]
fn a_payload_arrives_as_its_text() {
    let service = start(&[]);
    for (kind, fields, text) in [
        (
            "wifi",
            json!({"ssid": "a;b", "password": "p:12345\\"}),
            r"WIFI:T:WPA;S:a\;b;P:p\:12345\\;;",
        ),
        ("otp", json!({"secret": "JBSWY3DP", "account": "a"}), "otpauth://totp/a?secret=JBSWY3DP"),
        ("geo", json!({"latitude": 52.5, "longitude": 13.25}), "geo:52.5,13.25"),
        ("gs1", json!({"elements": "(10)A-1(21)2"}), "10A-1\u{1d}212"),
        ("mecard", json!({"last_name": "Dö"}), "MECARD:N:Dö;;"),
    ] {
        let answer = post_json(service.addr, &format!("/v1/payload/{kind}.png"), &fields);
        assert_eq!(answer.status, 200, "{kind}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let barcode = read(&of_png(&answer.body), "qr").unwrap();
        assert_eq!(barcode.bytes(), text.as_bytes(), "{kind}");
        // A query gives the same, unless it has a secret.
        let pairs = fields.as_object().unwrap().iter().map(|(name, value)| {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            format!("{name}={}", encode(&value))
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        let queried = get(service.addr, &format!("/v1/payload/{kind}.png?{query}"));
        if matches!(kind, "wifi" | "otp") {
            assert_eq!((queried.status, queried.header("allow")), (405, Some("POST")), "{kind}");
        } else {
            assert_eq!((queried.status, &queried.body), (200, &answer.body), "{kind}");
        }
    }
}

#[test]
fn a_payload_that_requires_no_field_has_an_example_for_the_viewer() {
    let service = start(&[]);
    let document = get(service.addr, "/v1/openapi.json").json();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut examples = 0;
    for (name, schema) in schemas.iter().filter(|(name, _)| !name.ends_with("_form")) {
        let Some(kind) = name.strip_prefix("Payload_") else { continue };
        if schema["required"].as_array().is_none_or(Vec::is_empty) {
            let path = format!("/v1/payload/{kind}.png");
            let answer = post_json(service.addr, &path, &schema["example"]);
            assert_eq!(answer.status, 200, "{kind}: {}", answer.text());
            examples += 1;
        }
    }
    assert!(examples > 0);
    assert_eq!(document["paths"]["/v1/payload/wifi"]["get"], Value::Null);
    assert_eq!(schemas["Payload_wifi"]["required"], json!(["ssid"]));
}

#[test]
fn secrets_are_in_no_log() {
    let mut service = start(&[("QR_ACCESS_LOG", "all"), ("QR_LOG_LEVEL", "trace")]);
    let fields = json!({"ssid": "sesame", "password": "open sesame"});
    assert_eq!(post_json(service.addr, "/v1/payload/wifi", &fields).status, 200);
    assert_eq!(post_json(service.addr, "/v1/payload/otp", &fields).status, 400);
    assert_eq!(get(service.addr, "/v1/payload/wifi?ssid=sesame").status, 405);
    service.signal("TERM");
    service.wait();
    assert!(!service.rest_of_log().contains("sesame"));
}

#[test]
fn the_page_explains_every_problem_and_runs_no_script_of_others() {
    let service = start(&[]);
    let page = get(service.addr, "/v1/docs");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
    // The page explains exactly the kinds that the code names.
    let code = include_str!("../../src/v1/fault.rs").split("/v1/docs#").skip(1);
    let kinds: BTreeSet<&str> = code.map(|rest| rest.split('"').next().unwrap()).collect();
    let page = page.text().split("<dt id=\"").skip(1);
    let explained: BTreeSet<&str> = page.map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(explained, kinds);
    let problem = get(service.addr, "/v1/qr?text=a&dark=fff").json();
    assert_eq!(problem["type"], "/v1/docs#no-such-picture");
}

fn unpack(gzip: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(gzip).read_to_end(&mut content).unwrap();
    content
}

/// The folder in which `setup.sh` installs the viewer.
const PACKAGE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../api/page/node_modules/swagger-ui-dist/");

#[test]
fn the_viewer_is_that_of_its_package_and_the_page_says_what_to_read_without() {
    let service = start(&[]);
    let page = get(service.addr, "/v1/docs");
    let file = |name: &str| get(service.addr, &format!("/v1/assets/swagger-ui/{name}"));
    assert!(page.text().contains("<a href=\"/v1/openapi.json\">/v1/openapi.json</a>"));
    if !std::path::Path::new(PACKAGE).exists() {
        assert_eq!(file("bundle.js").status, 404);
        return;
    }
    assert!(page.text().contains("swagger-ui/bundle.js"));
    for (name, of_package) in
        [("bundle.js", "swagger-ui-bundle.js"), ("style.css", "swagger-ui.css")]
    {
        let answer = file(name);
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        let unpacked = unpack(&answer.body);
        assert!(answer.body.len() * 3 < unpacked.len());
        assert_eq!(unpacked, std::fs::read(format!("{PACKAGE}{of_package}")).unwrap(), "{name}");
    }
    let notices = String::from_utf8(unpack(&file("notices.txt").body)).unwrap();
    assert!(notices.contains("Apache License"));
    assert_eq!(file("nothing.js").status, 404);
}
