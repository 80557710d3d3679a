//! Tests which requests are answered with what, and which are refused with which faults: `requests.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, from_str};

use crate::support::{get, of_png, post_json, read, start};

#[derive(Deserialize)]
struct Group {
    what: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    ask: String,
    /// Fields that are posted as JSON.
    post: Option<Value>,
    #[serde(default = "ok")]
    status: u16,
    /// The parameter and code of each fault.
    #[serde(default)]
    faults: Vec<String>,
    /// Parts of the body.
    #[serde(default)]
    told: Vec<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Another target with the same picture.
    same: Option<String>,
    /// What zxing-cpp reads in the picture.
    reads: Option<String>,
    /// The symbology that it reads.
    identifier: Option<String>,
}

fn ok() -> u16 {
    200
}

#[test]
fn every_request_has_its_answer_or_its_faults() {
    let service = start(&[]);
    let groups: Vec<Group> = from_str(include_str!("requests.json")).unwrap();
    for (what, case) in
        groups.iter().flat_map(|it| it.cases.iter().map(move |case| (&it.what, case)))
    {
        let ask = &case.ask;
        let answer = match &case.post {
            Some(fields) => post_json(service.addr, ask, fields),
            None => get(service.addr, ask),
        };
        let at = format!("{what}: {ask} {:?}", case.post);
        assert_eq!(answer.status, case.status, "{at} {}", String::from_utf8_lossy(&answer.body));
        if case.status != 200 {
            assert_eq!(answer.faults(), case.faults, "{at}");
        }
        for part in &case.told {
            assert!(answer.text().contains(part), "{at}: {part}: {}", answer.text());
        }
        for (name, value) in &case.headers {
            assert_eq!(answer.header(name), Some(&**value), "{at}");
        }
        if let Some(same) = &case.same {
            let other = get(service.addr, same);
            assert_eq!((other.status, &other.body), (200, &answer.body), "{at}");
        }
        if let Some(text) = &case.reads {
            let code = read(&of_png(&answer.body), "qr").unwrap();
            assert_eq!(code.bytes(), text.as_bytes(), "{at}");
            let identifier = case.identifier.as_ref();
            assert!(identifier.is_none_or(|it| *it == code.symbology_identifier()), "{at}");
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_with_a_level_and_not_repeated() {
    let service = start(&[]);
    let answer = get(service.addr, &format!("/v1/qr.png?text={}", "a".repeat(2500)));
    assert_eq!((answer.status, answer.faults()), (422, vec!["text too-long".to_owned()]));
    assert_eq!(answer.json()["faults"][0]["suggestion"], "use level L");
    assert!(!answer.text().contains("aaaa"), "{}", answer.text());
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
