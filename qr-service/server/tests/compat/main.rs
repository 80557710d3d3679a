//! Tests the paths of other QR services, over real sockets: accepted, default and bad values of each parameter, URLs
//! found in programs, and clients that are not ours.

#![cfg(feature = "api")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod captions;
mod google;
mod goqr;
mod pictures;
mod quickchart;
mod show;
#[path = "../api/support.rs"]
#[allow(dead_code, reason = "the API's tests use all of it")]
mod support;
mod wild;

use std::collections::BTreeMap;

use crate::support::{Picture, get, get_with, padded, read, request, start};

#[test]
fn without_the_switch_there_are_no_such_paths() {
    let service = start(&[]);
    for path in ["/v1/create-qr-code/?data=a", "/v1/read-qr-code/", "/qr?text=a", "/qr/batch"] {
        assert_eq!(get(service.addr, path).status, 404, "{path}");
    }
    assert_eq!(get(service.addr, "/chart?cht=qr&chs=150x150&chl=a").status, 404);
    let service = start(&[("QR_COMPAT", "google")]);
    assert_eq!(get(service.addr, "/chart?cht=qr&chs=150x150&chl=a").status, 200);
    assert_eq!(get(service.addr, "/qr?text=a").status, 404);
    assert_eq!(get(service.addr, "/qrcode?text=a").status, 200);
}

#[test]
fn a_wrong_switch_ends_the_program_before_it_listens() {
    for (name, value, says) in [
        ("QR_COMPAT", "goqr,bitly", "use goqr, quickchart or google"),
        ("QR_COMPAT", "goqr,goqr", "once"),
        ("QR_COMPAT", "", "use goqr, quickchart or google"),
        ("QR_SHOW_HOST", "qr.example.com:80", "without a port"),
        ("QR_SHOW_HOST", "", "without a port"),
    ] {
        let mut command =
            service_kit::testing::on_free_ports(env!("CARGO_BIN_EXE_qr-service"), "QR_");
        let output = command.env(name, value).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{value}: {error}");
        assert!(error.contains(name) && error.contains(says), "{error}");
    }
}

/// Each query, with how its line begins.
#[test]
fn bad_values_get_400_and_a_line_that_names_the_parameter() {
    let service = start(&[("QR_COMPAT", "goqr,quickchart,google")]);
    let refused: BTreeMap<String, Vec<(String, String)>> =
        serde_json::from_str(include_str!("refusals.json")).unwrap();
    let long = |query: &str, count, says: &str| {
        (query.replace("LONG", &"a".repeat(count)), says.to_owned())
    };
    for (path, mut cases) in refused {
        cases.push(match &*path {
            "/chart?" => long("cht=qr&chs=150x150&chl=LONG", 3000, "chl: "),
            "/qr?" => long("text=LONG", 3000, "text: "),
            _ => long("data=LONG&ecc=H", 2000, "data: "),
        });
        if path == "/qr?" {
            cases.push(long(
                "text=a&caption=LONG",
                501,
                "caption: it has more than 500 characters",
            ));
        }
        for (query, says) in cases {
            let answer = get(service.addr, &format!("{path}{query}"));
            assert_eq!(answer.status, 400, "{path}{query}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            // QuickChart says it in a header, with a picture without a code.
            let line = match &*path {
                "/qr?" => answer.header("x-quickchart-error").unwrap_or_default(),
                _ => answer.text(),
            };
            assert!(line.starts_with(&says) && line.len() > 14, "{query}: {line}");
            if path == "/qr?" {
                assert_eq!(answer.header("content-type"), Some("image/png"));
                let image = image::load_from_memory(&answer.body).unwrap().into_luma8();
                let (width, height, grey) = (image.width(), image.height(), image.into_raw());
                assert!(read(&padded(&Picture { width, height, grey }), "qr").is_none());
            }
        }
    }
}

#[test]
fn requests_are_counted_as_such_and_no_log_has_their_text() {
    let environment = [
        ("QR_COMPAT", "goqr,quickchart,google"),
        ("QR_SHOW_HOST", "qr.example"),
        ("QR_ACCESS_LOG", "all"),
        ("QR_LOG_LEVEL", "trace"),
    ];
    let mut service = start(&environment);
    for target in [
        "/v1/create-qr-code/?data=sesame&size=9x9",
        "/qr?text=sesame",
        "/chart?cht=qr&chl=sesame&chs=0x0",
    ] {
        get(service.addr, target);
    }
    show::get_from(service.addr, "qr.example", "/sesame", "");
    for (method, status) in [("OPTIONS", 200), ("PUT", 405)] {
        for target in ["/qr", "/qr/batch", "/chart", "/v1/create-qr-code/", "/v1/read-qr-code/"] {
            let origin = "origin: https://a.example\r\n";
            let answer = request(service.addr, method, target, origin, b"");
            assert_eq!(answer.status, status, "{method} {target}");
        }
    }
    let metrics = service_kit::testing::get(service.admin_addr, "/metrics");
    for (status, count) in [("200", 2), ("400", 2)] {
        let line = format!(
            "http_requests_total{{route=\"/v1/\",method=\"GET\",status=\"{status}\"}} {count}"
        );
        assert!(metrics.lines().any(|it| it == line), "{line} in {metrics}");
    }
    service.signal("TERM");
    service.wait();
    let log = service.rest_of_log();
    assert!(log.contains("\"route\":\"/v1/\"") && !log.contains("sesame"), "{log}");
}

#[test]
fn a_picture_that_the_client_has_is_not_sent_again() {
    let service = start(&[("QR_COMPAT", "goqr,quickchart,google")]);
    for path in [
        "/v1/create-qr-code/?data=",
        "/qr?text=",
        "/qr?format=svg&text=",
        "/chart?cht=qr&chs=150x150&chl=",
    ] {
        let first = get(service.addr, &format!("{path}a"));
        let tag = first.header("etag").unwrap();
        assert!(tag.starts_with('"') && tag.len() == 18, "{tag}");
        let again = |text: &str| {
            let known = format!("If-None-Match: {tag}\r\n");
            get_with(service.addr, &format!("{path}{text}"), &known)
        };
        let known = again("a");
        assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
        for name in ["etag", "cache-control"] {
            assert_eq!(known.header(name), first.header(name), "{path} {name}");
        }
        let other = again("b");
        assert_eq!(other.status, 200, "{path}");
        assert_ne!(other.header("etag"), Some(tag), "{path}");
        // A refusal has no tag.
        let refused = get(service.addr, path);
        assert_eq!((refused.status, refused.header("etag")), (400, None), "{path}");
    }
}
