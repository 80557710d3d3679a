use super::*;

/// Clients' caches hold tags, so a tag changes only with [`qr_core::OUTPUT_VERSION`].
#[test]
fn tags_of_an_output_version_stay() {
    assert_eq!(qr_core::OUTPUT_VERSION, 1, "add the tag of the new version here");
    assert_eq!(Tags::new(Engine::Default).of("a"), "\"42caf20920714142\"");
}

#[test]
fn a_list_of_tags_is_compared_weakly_and_a_star_is_any() {
    let tag = quoted(10);
    for (values, expected) in [
        (&["\"000000000000000a\""][..], true),
        (&["W/\"000000000000000a\""], true),
        (&["\"b\" ,\t\"000000000000000a\""], true),
        (&["\"b\"", "\"000000000000000a\""], true),
        (&["*"], true),
        (&["\"b\", \"0000000000000001\""], false),
        (&["000000000000000a"], false),
        (&[""], false),
        (&[], false),
    ] {
        let values = values.iter().map(|it| (IF_NONE_MATCH, HeaderValue::from_static(it)));
        assert_eq!(is_known(&values.collect(), &tag), expected);
    }
}
