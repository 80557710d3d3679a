use super::*;

#[test]
fn a_key_is_the_path_without_dot_segments() {
    for (path, expected) in [
        ("/p/x", Some("/p/x")),
        ("//p/x", Some("/p/x")),
        ("/p/x/", Some("/p/x/")),
        ("/p//x", Some("/p//x")),
        ("/p/./x", Some("/p/x")),
        ("/p/a/../x", Some("/p/x")),
        ("/p/a/%2E%2e/x", Some("/p/x")),
        ("/q/../p/x", Some("/p/x")),
        ("/p/x/..", None),
        ("/p/x/.", Some("/p/x/")),
        ("/p/%2F%41", Some("/p/%2F%41")),
        ("/p/", None),
        ("/p", None),
        ("/", None),
        ("/px", None),
        ("/p/../x", None),
        ("/p/...", Some("/p/...")),
    ] {
        assert_eq!(key(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn n_is_1_to_250_in_digits() {
    for (query, expected) in [
        ("", Some(1)),
        ("a=2", Some(1)),
        ("n=1", Some(1)),
        ("a&n=250&n=x", Some(250)),
        ("n=007", Some(7)),
        ("n=0", Some(0)),
        ("n=251", None),
        ("n=256", None),
        ("n=99999999999999999999", None),
        ("n", None),
        ("n=", None),
        ("n=-1", None),
        ("n=+1", None),
        ("n=1.9", None),
        ("n=2x", None),
        ("n=%31", None),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
}
