//! Tests which requests are refused, and with which faults.

use serde_json::json;

use crate::support::{get, post_json, start};

#[test]
fn all_faults_of_a_request_are_listed_at_once() {
    let service = start(&[]);
    let query = "/v1/qr.png?text=a&size=5000&level=X&mask=x&dark=blue&colour=1&ecc=H&boost=1&margin=2&margin=3\
        &light=%FF&width_mm=9&data=%&version_min=0&mode=";
    let answer = get(service.addr, query);
    assert_eq!(answer.status, 400);
    let expected = [
        "boost malformed",
        "colour unknown",
        "dark malformed",
        "data malformed",
        "ecc unknown",
        "level not-allowed",
        "light malformed",
        "margin repeated",
        "mask malformed",
        "mode not-allowed",
        "size out-of-range",
        "version_min out-of-range",
        "width_mm contradictory",
    ];
    assert_eq!(answer.faults(), expected);
    let problem = answer.json();
    let fault = |name: &str| {
        let faults = problem["faults"].as_array().unwrap();
        faults.iter().find(|fault| fault["parameter"] == name).unwrap().clone()
    };
    assert_eq!(
        (&fault("size")["minimum"], &fault("size")["maximum"]),
        (&json!(1.0), &json!(4096.0))
    );
    assert_eq!(fault("level")["allowed"], json!(["L", "M", "Q", "H"]));
    assert_eq!(fault("ecc")["suggestion"], "use level");
    // Hyphens and capitals do not matter.
    let other = get(service.addr, "/v1/qr.png?text=a&Data-URI=b").json();
    assert_eq!(other["faults"][0]["suggestion"], "use data");
    // The same in JSON.
    let body = json!({"text": "a", "size": 5000, "level": "X", "mask": "x", "dark": "blue", "colour": 1, "boost": 1,
        "width_mm": 9, "version_min": 0, "mode": "", "margin": 1.5, "title": ["a"]});
    let expected = [
        "boost malformed",
        "colour unknown",
        "dark malformed",
        "level not-allowed",
        "margin malformed",
        "mask malformed",
        "mode not-allowed",
        "size out-of-range",
        "title malformed",
        "version_min out-of-range",
        "width_mm contradictory",
    ];
    assert_eq!(post_json(service.addr, "/v1/qr.png", &body).faults(), expected);
}

#[test]
fn what_contradicts_itself_or_does_not_fit_is_refused_with_the_parameter() {
    let service = start(&[]);
    let long = "a".repeat(2500);
    for (query, status, fault) in [
        ("png?", 400, "text missing"),
        ("png?text=", 400, "text out-of-range"),
        ("png?data=", 400, "data out-of-range"),
        ("png?data=YQ=x", 400, "data malformed"),
        ("png?text=a&data=YQ", 400, "data contradictory"),
        ("png?text=a&size=200&scale=3", 400, "scale contradictory"),
        ("png?text=a&format=svg", 400, "format contradictory"),
        ("txt?text=a&dark=036", 400, "dark contradictory"),
        ("json?text=a&margin=4", 400, "margin contradictory"),
        ("png?text=a&title=t", 400, "title contradictory"),
        ("svg?text=a&ink=dark", 400, "ink contradictory"),
        ("svg?text=a&compression=fast", 400, "compression contradictory"),
        ("png?text=a&compression=smallest&shape=dots", 400, "compression contradictory"),
        ("png?text=a&kind=micro&boost=true", 400, "boost contradictory"),
        ("png?text=a&kind=micro&eci=26", 400, "eci contradictory"),
        ("png?text=a&kind=micro&level=H", 400, "level not-allowed"),
        ("png?text=a&kind=micro&mask=4", 400, "mask out-of-range"),
        ("png?text=a&kind=rmqr&level=L", 400, "level not-allowed"),
        ("png?text=a&kind=rmqr&rmqr_height=8", 400, "rmqr_height not-allowed"),
        ("png?text=a&kind=rmqr&rmqr_height=7&rmqr_width=27", 400, "rmqr_width contradictory"),
        ("png?text=a&rmqr_height=7", 400, "rmqr_height contradictory"),
        ("png?text=a&version_min=5&version_max=4", 400, "version_min contradictory"),
        ("png?data=YQ&mode=kanji", 400, "mode contradictory"),
        ("png?text=a&filename=a%2Fb", 400, "filename malformed"),
        ("png?text=a%ZZ", 400, "text malformed"),
        ("png?text=a&x%ZZ=1", 400, "query malformed"),
        ("png?text=abc&mode=numeric", 422, "mode not-allowed"),
        ("png?text=%C3%A9&eci=3", 422, "eci not-allowed"),
        ("png?text=0123456789012345678901234567890&version_max=1&level=H", 422, "text too-long"),
        (&format!("png?text={long}"), 422, "text too-long"),
        ("png?text=abcdefghijklmnopq&kind=micro", 422, "text too-long"),
        ("png?text=a&part=2", 422, "part out-of-range"),
        ("png?text=a&size=20", 422, "size size"),
        ("svg?text=a&size=20", 422, "size size"),
        ("png?text=a&margin=100&scale=30", 422, "scale size"),
    ] {
        let answer = get(service.addr, &format!("/v1/qr.{query}"));
        assert_eq!((answer.status, answer.faults()), (status, vec![fault.to_owned()]), "{query}");
    }
    let too_long = get(service.addr, &format!("/v1/qr.png?text={long}")).json();
    assert_eq!(too_long["faults"][0]["suggestion"], "use level L");
    assert!(!too_long.to_string().contains("aaaa"), "{too_long}");
    let narrow = get(service.addr, "/v1/qr.png?text=0123456789012345678901&version_max=1&level=H");
    assert_eq!(narrow.json()["faults"][0]["suggestion"], "use version_max 2");
}

#[test]
fn numbers_that_json_has_not_are_refused() {
    let service = start(&[]);
    for number in ["nan", "NaN", "inf", "-inf", "infinity", "1e999", ""] {
        for target in [
            "/v1/qr.pdf?text=a&width_mm",
            "/v1/qr.eps?text=a&width_mm",
            "/v1/payload/geo?longitude=1&latitude",
        ] {
            let name = target.rsplit(['&', '?']).next().unwrap();
            let answer = get(service.addr, &format!("{target}={number}"));
            assert_eq!(answer.faults(), [format!("{name} malformed")], "{target} {number}");
        }
    }
}

#[test]
fn what_follows_an_address_with_an_open_query_may_belong_to_it() {
    let service = start(&[]);
    let open = "/v1/qr?text=https://a.example/?id=1";
    for (more, faults) in [
        ("&filename=x.png", vec!["filename unknown"]),
        ("&size=300&b=2", vec!["b unknown", "size unknown"]),
        ("&text=b", vec!["text unknown"]),
    ] {
        let answer = get(service.addr, &format!("{open}{more}"));
        assert_eq!(answer.faults(), faults, "{more}");
        assert!(answer.text().contains("%26"), "{}", answer.text());
    }
    for right in [
        open,
        "/v1/qr?size=300&text=https://a.example/?id=1",
        "/v1/qr?text=https%3A%2F%2Fa.example%2F%3Fid%3D1&filename=x.png",
        "/v1/qr?text=https://a.example/&filename=x.png",
        "/v1/qr?text=why?&filename=x.png",
    ] {
        assert_eq!(get(service.addr, right).status, 200, "{right}");
    }
    // With POST, the address is a string of its own.
    let body = json!({"text": "https://a.example/?id=1", "filename": "x.png"});
    assert_eq!(post_json(service.addr, "/v1/qr", &body).status, 200);
}

#[test]
fn what_people_write_instead_is_taken_or_told() {
    let service = start(&[]);
    let asked = |target: &str| get(service.addr, &format!("/v1/{target}"));
    for (target, same) in [
        ("qr?text=a&level=h", "qr?text=a&level=H"),
        ("qr?text=a&format=SVG", "qr.svg?text=a"),
        ("qr.SVG?text=a&light=transparent", "qr.svg?text=a&light=0000"),
        ("qr?text=a&size=+300&boost=%20true", "qr?text=a&size=300&boost=true"),
        (
            "payload/epc?beneficiary=W&iban=DE33100205000001194700&amount=12,50",
            "payload/epc?beneficiary=W&iban=DE33100205000001194700&amount=12.50",
        ),
        (
            "payload/event?summary=s&start=2026-05-01T16:30:00.000Z",
            "payload/event?summary=s&start=2026-05-01T16:30Z",
        ),
        (
            "payload/event?summary=s&start=2026-05-01T00:30+02:00",
            "payload/event?summary=s&start=2026-04-30T22:30Z",
        ),
    ] {
        let (answer, expected) = (asked(target), asked(same));
        assert_eq!((answer.status, expected.status), (200, 200), "{target} {}", answer.text());
        assert_eq!(answer.body, expected.body, "{target}");
    }
    for (target, said) in [
        ("qr.jpg?text=a", "png, svg, pdf, eps, txt, json"),
        ("payload/geo.gif?latitude=1&longitude=1", "png, svg, pdf, eps, txt, json"),
        ("payload/telegram?text=a", "wifi, vcard, mecard"),
        ("qr?url=a", "use text"),
        ("payload/geo?lat=1&lng=2", "use longitude"),
        ("payload/sms?phone=1&body=a", "use message"),
        ("payload/mail?to=a@b.c&body=a", "use message"),
        ("payload/vcard?last_name=a&title=CTO", "use job_title"),
        ("payload/vcard?last_name=a&org=b", "use organization"),
        ("payload/mecard?name=a", "use last_name"),
        ("payload/epc?name=W&iban=DE33100205000001194700", "use beneficiary"),
        (
            "payload/epc?beneficiary=W&iban=DE33100205000001194700&amount=1.234,50",
            "between thousands",
        ),
    ] {
        let answer = asked(target);
        assert!((400..405).contains(&answer.status), "{target}");
        assert!(answer.text().contains(said), "{target} {}", answer.text());
    }
    let number = post_json(service.addr, "/v1/payload/sms", &json!({"phone": 49170}));
    assert!(number.text().contains("in quotation marks"), "{}", number.text());
    let both = asked("payload/vcard.svg?last_name=a&title=CTO&job_title=CTO");
    assert!(both.text().contains("<title>CTO</title>"), "{}", both.text());
}

#[test]
fn modules_too_small_to_print_are_refused_with_a_width_that_works() {
    let service = start(&[]);
    let target = format!("/v1/qr.pdf?level=H&text={}", "a".repeat(300));
    let answer = get(service.addr, &format!("{target}&width_mm=12"));
    assert_eq!((answer.status, answer.faults()), (422, vec!["width_mm unreadable".to_owned()]));
    let least = answer.json()["faults"][0]["minimum"].as_f64().unwrap();
    assert!(answer.text().contains(" mm wide"), "{}", answer.text());
    assert_eq!(get(service.addr, &format!("{target}&width_mm={least}")).status, 200);
}
