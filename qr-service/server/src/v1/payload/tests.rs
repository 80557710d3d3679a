//! Tests the text that each kind makes from its fields, and the fields that it refuses: `cases.json`.

use qr_options::OPTIONS;
use serde::Deserialize;
use serde_json::{from_str, json};

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
    /// Options of the request, and what some are afterwards.
    #[serde(default)]
    options: Map<String, Value>,
    #[serde(default)]
    sets: Map<String, Value>,
    #[serde(default)]
    text: String,
    /// The parameter and code of each fault.
    #[serde(default)]
    refused: Vec<String>,
    /// A part of a fault's detail.
    #[serde(default)]
    told: String,
    /// The most that a fault allows.
    most: Option<f64>,
}

#[test]
fn every_case_is_composed_or_refused() {
    let Cases { bases, groups } = from_str(include_str!("cases.json")).unwrap();
    for Group { what, cases } in groups {
        for Case { kind, base, fields, options, sets, text, refused, told, most } in cases {
            let mut values =
                base.map_or(Map::new(), |base| bases[&base].as_object().unwrap().clone());
            values.extend(fields);
            values.retain(|_, value| !value.is_null());
            let kind = KINDS.iter().find(|it| it.name == kind).unwrap();
            let mut faults = Vec::new();
            let mut options: Options = OPTIONS.read(&options, &mut faults).unwrap();
            kind.apply(&values, &mut options, &mut faults);
            let code = |code| serde_json::to_value(code).unwrap().as_str().unwrap().to_owned();
            let found = faults.iter().map(|it| format!("{} {}", it.parameter, code(it.code)));
            let found: Vec<_> = found.collect();
            assert_eq!(found, refused, "{what}: {values:?}");
            assert!(
                told.is_empty() || faults.iter().any(|it| it.detail.contains(&told)),
                "{told}: {faults:?}"
            );
            let allows = |most| faults.iter().any(|it| it.maximum == Some(most));
            assert!(most.is_none_or(allows), "{most:?}: {faults:?}");
            let set = of_interest(&options);
            for (name, value) in sets {
                assert_eq!(set[&name], value, "{what}: {name} of {values:?}");
            }
            let composed = options.text.unwrap();
            assert!(
                !refused.is_empty() || composed == text,
                "{what}: {composed:?} is not {text:?}"
            );
        }
    }
}

/// The options that a kind may set or take away.
fn of_interest(options: &Options) -> Value {
    json!({
        "level": options.level.map(LevelName::as_str),
        "mode": options.mode.map(Mode::as_str),
        "kind": options.kind.map(options::Kind::as_str),
        "boost": options.boost,
        "gs1": options.gs1,
        "part": options.part,
        "version_min": options.version_min,
        "version_max": options.version_max,
        "logo": options.logo.is_some(),
        "swiss_cross": options.has_swiss_cross,
    })
}

#[test]
fn a_wrong_name_is_not_told_to_be_text_or_data() {
    let unknown = Fault::new("txet", Code::Unknown, "").allowed(["text", "size", "data"]);
    let mut faults = vec![unknown];
    KINDS[0].apply(&Map::new(), &mut Options::default(), &mut faults);
    assert_eq!(faults[0].allowed, ["size"]);
}

#[test]
fn no_field_has_the_name_of_an_option_and_one_kind_has_an_example_of_its_own() {
    let options = Schema::of::<Options>();
    for kind in &KINDS {
        let described = (kind.describe)();
        assert_eq!(described["example"].is_object(), kind.name == "vcard", "{}", kind.name);
        for name in described["properties"].as_object().unwrap().keys() {
            assert!(!options.has(name), "{} {name}", kind.name);
        }
    }
}
