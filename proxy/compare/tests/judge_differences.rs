//! All differences between two answers, each with its place.

use compare::judge::{Digest, Verdict};
use http::{HeaderMap, HeaderValue};

use crate::judge_support::{GET, answer, compare, differences, judge, shown};

#[test]
fn all_differences_are_found_each_with_its_place() {
    let found = |settings: &str, old: &str, new: &str| -> (usize, Vec<String>) {
        let verdict = compare(settings, old.as_bytes(), new.as_bytes());
        let found = differences(&verdict);
        let listed = found.listed().iter().map(|it| format!("{} {}", it.kind, it.place));
        (found.count(), listed.collect())
    };
    let places = |places: &[&str]| (places.len(), places.iter().map(ToString::to_string).collect());
    let old = r#"{"a":1,"b/c":[1,{"d":2},3],"e":4}"#;
    let new = r#"{"a":2,"b/c":[1,{"d":3}],"f":4}"#;
    let expected = places(&["json /a", "json /b~1c/1/d", "json /b~1c/2", "json /e", "json /f"]);
    assert_eq!(found("json", old, new), expected);
    let lines = places(&["text line 1", "text line 3", "text line 4"]);
    assert_eq!(found("text", "a\nb\nc", "x\nb\ny\nz"), lines);
    assert_eq!(found("bytes", "abc", "axx"), places(&["body offset 1"]));

    // A long array neither hides the other fields nor makes the list long.
    let array = |n: usize| {
        format!("{{\"a\":[{}],\"b\":{n}}}", vec![format!("{{\"x\":{n}}}"); 1000].join(","))
    };
    let verdict = compare("json", array(1).as_bytes(), array(2).as_bytes());
    let found = differences(&verdict);
    assert_eq!((found.count(), found.listed().len()), (1001, 6));
    assert_eq!(found.listed()[5].place, "/b");
    let fields: Vec<(&str, usize)> =
        found.fields().iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(fields, [("json /a/*/x", 1000), ("json /b", 1)]);
    // If keys are ids, the number of counted fields stays limited.
    let ids = |from: usize| {
        let members: Vec<String> = (from..from + 200).map(|id| format!("\"{id}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    let verdict = compare("json", ids(0).as_bytes(), ids(1000).as_bytes());
    let found = differences(&verdict);
    assert_eq!((found.count(), found.listed().len(), found.fields().len()), (400, 50, 51));
    assert_eq!(found.fields()["others"], 350);
}

#[test]
fn headers_and_body_may_both_differ() {
    let (mut old, new) = (HeaderMap::new(), HeaderMap::new());
    old.insert("location", HeaderValue::from_static("/a"));
    let verdict = judge("json").compare(&GET, &answer(200, &old, b"1"), &answer(200, &new, b"2"));
    let found = differences(&verdict);
    let places: Vec<&str> = found.listed().iter().map(|it| it.place.as_str()).collect();
    assert_eq!((places, found.kind().as_str()), (vec!["location", ""], "header"));
    // All other differences may follow from the status.
    let verdict = judge("json").compare(&GET, &answer(200, &old, b"1"), &answer(404, &new, b"2"));
    assert_eq!((differences(&verdict).count(), shown(&verdict).0), (1, "status"));
}

#[test]
fn bodies_that_are_not_kept_are_compared_by_their_digests() {
    let headers = HeaderMap::new();
    let whole = answer(200, &headers, b"");
    let verdict = |old: &[u8], new: &[u8]| {
        judge("bytes").compare_digests((&whole, &Digest::of(old)), (&whole, &Digest::of(new)))
    };
    let long = vec![b'x'; 200_000];
    let mut other = long.clone();
    other[70_000] = b'y';
    let mut in_pieces = Digest::default();
    long.chunks(777).for_each(|piece| in_pieces.push(piece));
    assert_eq!(in_pieces.whole(), Digest::of(&long).whole());
    assert_eq!(verdict(&long, &long), Verdict::Same);
    for (new, place) in [
        (&other[..], "65536 to 131071"),
        (&long[..131_072], "131072 to 196607"),
        (&long[..199_999], "196608 to 199999"),
        (b"", "0 to 65535"),
    ] {
        let lengths = format!("old 200000 bytes, new {} bytes", new.len());
        let detail = format!("{lengths}, the first difference at offset {place}");
        assert_eq!(shown(&verdict(&long, new)), ("body", &*detail));
    }
    assert!(!judge("bytes").needs_bodies() && judge("text").needs_bodies());
}
