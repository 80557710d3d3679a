//! Tests that the fast reader for queries without faults gives the same options as the general reader.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use qr_options::options::Options;
use qr_options::parameters::read_query;
use qr_options::{OPTIONS, Parameters};

/// Reads the options with the general reader; `None` if there is a fault.
fn by_values(query: &str) -> Option<String> {
    let mut faults = Vec::new();
    let values = read_query(query, &[&OPTIONS], &mut faults);
    let options: Option<Options> = OPTIONS.read(&values, &mut faults);
    options.filter(|_| faults.is_empty()).map(|options| format!("{options:?}"))
}

fn right(query: &str) -> Option<String> {
    OPTIONS.read_right(query).map(|options: Options| format!("{options:?}"))
}

/// Generates names of options, and a few that are not.
fn name() -> impl Strategy<Value = String> {
    let names: Vec<_> = Options::DEFINITIONS.iter().map(|it| it.name.to_owned()).collect();
    prop_oneof![
        9 => prop::sample::select(names),
        1 => prop::sample::select(vec!["", "texts", "te%78t", "te%7", "Text", "%ff"]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let given =
        vec!["true", "1", "0", "8", "-1", "300", "0.2", "8.0", "1e2", "QQ==", "null", "036", "L"];
    prop_oneof![
        4 => prop::sample::select(given).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["svg", "png", "micro", "byte", "dots", "ascii"]).prop_map(str::to_owned),
        2 => "([a-z+=é]|%[0-9A-Fa-f]{2}){0,9}",
        1 => "[%0-9a-z]{0,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn a_right_query_gives_the_same_options_and_a_wrong_one_none(
        pairs in prop::collection::vec((name(), prop::option::of(value())), 0..4),
    ) {
        let pair = |(name, value): &(String, Option<String>)| match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        };
        let query = pairs.iter().map(pair).collect::<Vec<_>>().join("&");
        prop_assert_eq!(right(&query), by_values(&query), "{}", query);
    }
}

#[test]
fn an_option_may_be_given_once_and_parts_may_be_empty() {
    let options: Options = OPTIONS.read_right("&text=a+%C3%BC%2B&&size=200&level=Q&").unwrap();
    assert_eq!(options.text.as_deref(), Some("a ü+"));
    assert_eq!((options.size, options.level.map(|it| it.as_str())), (Some(200), Some("Q")));
    let options: Options = OPTIONS.read_right("text=tel:+1+2&level=q&size=+200").unwrap();
    assert_eq!(options.text.as_deref(), Some("tel:+1 2"));
    assert_eq!((options.size, options.level.map(|it| it.as_str())), (Some(200), Some("Q")));
    for wrong in [
        "text=a&text=a",
        "text=%C3",
        "text=%2",
        "size=0",
        "size=a",
        "level=x",
        "txt=a",
        "text=a://b?c=d&size=200",
    ] {
        assert!(right(wrong).is_none(), "{wrong}");
    }
}
