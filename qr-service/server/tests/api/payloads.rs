//! Tests `/v1/payload/`: zxing-cpp reads the text that the fields give.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};

use serde_json::{Value, json};
use service_kit::testing::connect;

use crate::support::{encode, get, of_png, post_json, read, send, start};

const VEVENT: &str = "BEGIN:VEVENT\r\nSUMMARY:s\r\nDTSTART;VALUE=DATE:20260501\r\nEND:VEVENT";
const VCARD: &str = "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Dö;;;;\r\nFN:Dö\r\nEND:VCARD\r\n";
const SWISS: &str = "SPC\n0200\n1\nCH5800791123000889012\nS\nA\n\n\n1\nB\nCH\n\n\n\n\n\n\n\n\nCHF\n\n\n\n\n\n\n\nNON\n\n\nEPD";
const EPC: &str = "BCD\n002\n1\nSCT\n\nW\nDE33100205000001194700\nEUR1.00";

#[test]
fn every_payload_arrives_as_its_text() {
    let service = start(&[]);
    let epc = json!({"beneficiary": "W", "iban": "DE33100205000001194700", "amount": "1"});
    let wifi = json!({"ssid": "a;b", "password": "p:q\\12345"});
    let swiss = json!({"iban": "CH5800791123000889012", "creditor_name": "A", "creditor_postcode": "1",
        "creditor_town": "B"});
    let upi = json!({"payee": "shop@bank", "name": "A B"});
    for (kind, fields, text) in [
        ("wifi", wifi, r"WIFI:T:WPA;S:a\;b;P:p\:q\\12345;;"),
        ("otp", json!({"secret": "JBSWY3DP", "account": "a"}), "otpauth://totp/a?secret=JBSWY3DP"),
        ("mecard", json!({"last_name": "Doe", "phone": "1"}), "MECARD:N:Doe;TEL:1;;"),
        ("sms", json!({"phone": "+1 2", "message": "hi"}), "SMSTO:+12:hi"),
        ("mail", json!({"to": "a@b.c", "subject": "x y"}), "mailto:a@b.c?subject=x%20y"),
        ("geo", json!({"latitude": 52.5, "longitude": 13.25}), "geo:52.5,13.25"),
        ("gs1", json!({"elements": "(10)A-1(21)2"}), "10A-1\u{1d}212"),
        ("event", json!({"summary": "s", "start": "2026-05-01"}), VEVENT),
        ("vcard", json!({"last_name": "Dö"}), VCARD),
        ("epc", epc, EPC),
        ("swiss", swiss, SWISS),
        ("upi", upi, "upi://pay?pa=shop@bank&pn=A%20B&cu=INR"),
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

/// `bic="COBADEFFXXX "` and `amount=" 12.50 "` were refused, and a name kept its space.
#[test]
fn spaces_at_the_ends_of_fields_go_but_not_those_of_a_password() {
    let service = start(&[]);
    let of = |kind: &str, fields: Value| {
        let answer = post_json(service.addr, &format!("/v1/payload/{kind}.png"), &fields);
        assert_eq!(answer.status, 200, "{}", answer.text());
        read(&of_png(&answer.body), "qr").unwrap().text()
    };
    let epc = json!({"beneficiary": " W ", "iban": "DE33100205000001194700 ", "amount": " 12.50 ",
        "bic": "COBADEFFXXX "});
    let expected = "BCD\n002\n1\nSCT\nCOBADEFFXXX\nW\nDE33100205000001194700\nEUR12.50";
    assert_eq!(of("epc", epc), expected);
    let wifi = json!({"ssid": "a ", "password": " 1234567 "});
    assert_eq!(of("wifi", wifi), "WIFI:T:WPA;S:a ;P: 1234567 ;;");
}

#[test]
fn a_gs1_digital_link_is_a_text_that_every_phone_opens() {
    let service = start(&[]);
    let fields = json!({"elements": "(01)09506000134352(10)A/B%1", "domain": "id.example.org"});
    let answer = post_json(service.addr, "/v1/payload/gs1.png", &fields);
    let barcode = read(&of_png(&answer.body), "qr").unwrap();
    assert_eq!(barcode.text(), "https://id.example.org/01/09506000134352/10/A%2FB%251");
    assert_eq!(barcode.symbology_identifier(), "]Q1");
}

#[test]
fn a_plus_sign_in_a_query_stays_one_where_no_space_can_be() {
    let service = start(&[]);
    for (target, text) in [
        ("payload/sms.png?phone=+4917&message=a+b", "SMSTO:+4917:a b"),
        ("payload/sms.png?phone=%2B49+17+1", "SMSTO:+49171:"),
        ("payload/sms.png?phone=(+49)+17", "SMSTO:+4917:"),
        ("payload/mecard.png?last_name=a+b&phone=+49+17", "MECARD:N:a b;TEL:+4917;;"),
        ("payload/mail.png?to=a+b@c.d&subject=x+y", "mailto:a%2Bb@c.d?subject=x%20y"),
        ("payload/geo.png?latitude=+52.5&longitude=-1", "geo:52.5,-1"),
        ("payload/gs1.png?elements=(10)A+B", "10A+B"),
        ("qr.png?text=tel:+4917", "tel:+4917"),
        ("qr.png?text=SMSTO:+4917:a+b", "SMSTO:+4917:a b"),
        ("qr.png?text=1+1", "1 1"),
        ("qr.png?data=YT8+Yg==", "a?>b"),
    ] {
        let answer = get(service.addr, &format!("/v1/{target}"));
        assert_eq!(answer.status, 200, "{target} {}", answer.text());
        let barcode = read(&of_png(&answer.body), "qr").unwrap();
        assert_eq!(barcode.bytes(), text.as_bytes(), "{target}");
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
}

#[test]
fn fields_and_options_are_checked_together() {
    let service = start(&[]);
    let geo = json!({"latitude": 91, "level": "X", "text": "a", "nothing": 1});
    let of_geo = [
        "latitude out-of-range",
        "level not-allowed",
        "longitude missing",
        "nothing unknown",
        "text contradictory",
    ];
    let wifi = json!({"ssid": "n", "password": "short", "size": 0});
    let epc = json!({"beneficiary": "W", "iban": "DE33100205000001194700", "level": "H"});
    let gs1 = json!({"elements": "(01)1", "kind": "micro"});
    for (kind, fields, faults) in [
        ("geo", geo, &of_geo[..]),
        ("wifi", wifi, &["password out-of-range", "size out-of-range"]),
        ("epc", epc, &["level not-allowed"]),
        ("gs1", gs1, &["elements malformed", "gs1 contradictory"]),
    ] {
        let answer = post_json(service.addr, &format!("/v1/payload/{kind}"), &fields);
        assert_eq!(answer.status, 400);
        assert_eq!(answer.faults(), faults, "{kind}");
    }
    for path in ["/v1/payload/x", "/v1/payload/geo.gif", "/v1/payload/"] {
        assert_eq!(get(service.addr, path).status, 404, "{path}");
    }
    let document = get(service.addr, "/v1/openapi.json").json();
    assert_eq!(document["paths"]["/v1/payload/wifi"]["get"], Value::Null);
    assert_eq!(document["components"]["schemas"]["Payload_wifi"]["required"], json!(["ssid"]));
}

#[test]
fn a_payment_is_of_the_level_version_and_mode_that_banks_read() {
    let service = start(&[]);
    let payment = |option: &str, value: Value| {
        let mut fields = json!({"beneficiary": "W", "iban": "DE33100205000001194700"});
        fields[option] = value;
        post_json(service.addr, "/v1/payload/epc", &fields)
    };
    for (option, value, fault) in [
        ("boost", json!(true), "boost not-allowed"),
        ("kind", json!("micro"), "kind not-allowed"),
        ("kind", json!("rmqr"), "kind not-allowed"),
        ("mode", json!("numeric"), "mode not-allowed"),
        ("mode", json!("auto-kanji"), "mode not-allowed"),
        ("gs1", json!(true), "gs1 not-allowed"),
        ("part", json!(1), "part contradictory"),
        ("version_min", json!(14), "version_min out-of-range"),
        ("version_max", json!(14), "version_max out-of-range"),
    ] {
        let answer = payment(option, value);
        assert_eq!((answer.status, answer.faults()), (400, vec![fault.to_owned()]), "{option}");
    }
    let plain = payment("level", json!("M"));
    assert_eq!(plain.header("x-qr-level"), Some("M"));
    for (option, value) in [
        ("boost", json!(false)),
        ("kind", json!("qr")),
        ("mode", json!("byte")),
        ("gs1", json!(false)),
        ("version_max", json!(13)),
    ] {
        let answer = payment(option, value);
        assert_eq!((answer.status, &answer.body), (200, &plain.body), "{option}");
    }
    // The longest payload that the standard allows takes the largest version.
    let long = json!({
        "beneficiary": "W".repeat(70), "iban": "DE33100205000001194700", "amount": "999999999.99",
        "remittance": "r".repeat(140), "information": "i".repeat(47), "bic": "BFSWDE33BER",
    });
    let answer = post_json(service.addr, "/v1/payload/epc", &long);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("x-qr-version"), Some("13"));
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
    let file = |name: &str| {
        let stream = &mut BufReader::new(connect(service.addr));
        send(stream, "GET", &format!("/v1/assets/swagger-ui/{name}"), "", b"")
    };
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
