//! Tests the text that each kind makes from its fields, and the fields that it refuses: `cases.json`.

use serde::Deserialize;
use serde_json::from_str;

use super::*;

#[derive(Deserialize)]
struct Cases {
    /// Fields that the cases of a kind change; null takes one away.
    bases: Map<String, Value>,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    what: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    kind: String,
    base: Option<String>,
    fields: Map<String, Value>,
    #[serde(default)]
    text: String,
    /// The parameter and code of each fault.
    #[serde(default)]
    refused: Vec<String>,
    /// A part of a fault's detail.
    #[serde(default)]
    told: String,
}

#[test]
fn every_case_is_composed_or_refused() {
    let Cases { bases, groups } = from_str(include_str!("cases.json")).unwrap();
    for Group { what, cases } in groups {
        for Case { kind, base, fields, text, refused, told } in cases {
            let mut values =
                base.map_or(Map::new(), |base| bases[&base].as_object().unwrap().clone());
            values.extend(fields);
            values.retain(|_, value| !value.is_null());
            let kind = KINDS.iter().find(|it| it.name == kind).unwrap();
            let mut faults = Vec::new();
            let composed = (kind.compose)(&kind.schema, &values, &mut faults);
            let code = |code| serde_json::to_value(code).unwrap().as_str().unwrap().to_owned();
            let found = faults.iter().map(|it| format!("{} {}", it.parameter, code(it.code)));
            let found: Vec<_> = found.collect();
            assert_eq!(found, refused, "{what}: {values:?}");
            assert!(
                told.is_empty() || faults.iter().any(|it| it.detail.contains(&told)),
                "{told}: {faults:?}"
            );
            assert!(
                !refused.is_empty() || composed == text,
                "{what}: {composed:?} is not {text:?}"
            );
        }
    }
}

#[test]
fn no_field_has_the_name_of_an_option() {
    let options = Schema::of::<Options>();
    for kind in &KINDS {
        let described = (kind.describe)();
        for name in described["properties"].as_object().unwrap().keys() {
            assert!(!options.has(name), "{} {name}", kind.name);
        }
    }
}
