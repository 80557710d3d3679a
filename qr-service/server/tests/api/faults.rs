//! What is refused, and how.

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
        ("pdf?text=a&dark=036", 400, "dark contradictory"),
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
