use super::*;

#[test]
fn what_is_no_unit_is_refused_and_quoted() {
    for text in ["", "1", "0s", "2h", "1us", "s"] {
        let error = text.parse::<Time>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
    for text in ["", "k", "-1", "1g", "2048m", "é"] {
        let error = text.parse::<Size>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
    for text in [
        "",
        "x:1",
        "https://x:1",
        "http://",
        "http://x/a",
        "http://x:99999",
        "http://x;y",
        "http://a@b",
        "http://[::1",
    ] {
        let error = text.parse::<BaseUrl>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}

#[test]
fn a_network_is_an_address_with_as_many_bits_as_it_has() {
    for (text, is_one) in [
        ("10.0.0.0/32", true),
        ("10.0.0.1", true),
        ("::1/128", true),
        ("10.0.0.0/33", false),
        ("::/129", false),
        ("10.0.0.0/x", false),
        ("x", false),
        ("", false),
    ] {
        assert_eq!(text.parse::<Network>().is_ok(), is_one, "{text}");
    }
}

#[test]
fn units_are_written_as_nginx_reads_them() {
    assert_eq!("1500ms".parse::<Time>().expect("a time").to_string(), "1500ms");
    assert_eq!("16k".parse::<Size>().expect("a size").to_string(), "16k");
    for (text, authority) in [
        ("http://127.0.0.1:3000/", "127.0.0.1:3000"),
        ("http://app", "app:80"),
        ("http://[::1]:80", "[::1]:80"),
        ("http://[::1]", "[::1]:80"),
    ] {
        assert_eq!(text.parse::<BaseUrl>().expect(text).authority(), authority);
    }
}
