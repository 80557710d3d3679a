//! Tests that the service gives the same bytes and faults as the bindings, for the cases that all their tests draw.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Answer, get, post_json, start};

fn result_of(answer: &Answer) -> Value {
    if answer.status != 200 {
        return json!({"faults": answer.faults()});
    }
    let hash: Vec<String> =
        Sha256::digest(&answer.body).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"media_type": answer.header("content-type"), "sha256": hash.concat()})
}

#[test]
fn the_service_has_the_bytes_and_the_faults_of_the_bindings() {
    let service = start(&[]);
    let cases = include_str!("../../../options/cases.json");
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    // Only the service decodes logos and draws letters in a PNG.
    let has_letters = |it: &Value| it["caption"].is_string() && it["format"].is_null();
    let of_both = |it: &&Value| it["options"]["logo"].is_null() && !has_letters(&it["options"]);
    let cases: Vec<&Value> = cases.iter().filter(of_both).collect();
    assert!(cases.len() > 30);
    for case in cases {
        let options = &case["options"];
        let mut expected = case.clone();
        expected.as_object_mut().unwrap().remove("options");
        if let Some(faults) = expected.get_mut("faults").and_then(Value::as_array_mut) {
            faults.sort_by_key(Value::to_string);
        }
        let given = options.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        let pair = |(name, value): (&String, &Value)| {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            let escaped: Vec<String> = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
            format!("{name}={}", escaped.concat())
        };
        let query = given.map(pair).collect::<Vec<_>>().join("&");
        let by_query = get(service.addr, &format!("/v1/qr?{query}"));
        assert_eq!(result_of(&by_query), expected, "{options}");
        let by_json = post_json(service.addr, "/v1/qr", options);
        assert_eq!(result_of(&by_json), expected, "{options}");
    }
}
