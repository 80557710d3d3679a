use super::*;

#[test]
fn a_side_is_a_port_or_a_socket() {
    for (text, server) in [("http://app", "app:80"), ("unix:/run/qr.sock", "unix:/run/qr.sock")] {
        assert_eq!(text.parse::<SideUrl>().expect(text).server(), server);
    }
    for (text, shown, host) in [
        ("https://app", "https://app:443", "app"),
        ("https://[::1]:8443/a/b/", "https://[::1]:8443/a/b", "[::1]"),
        ("http://app/v1", "http://app:80/v1", "app"),
    ] {
        let url = text.parse::<SideUrl>().expect(text);
        assert_eq!((url.to_string().as_str(), url.far().map(FarUrl::host)), (shown, Some(host)));
    }
    let long = format!("unix:/{}", "a".repeat(106));
    for (text, problem) in [
        ("x:1", "\"x:1\": must be http://HOST:PORT or unix:/PATH"),
        ("https://a/b?c", "\"https://a/b?c\": must be http://HOST:PORT or unix:/PATH"),
        ("http://a//b", "\"http://a//b\": must be"),
        ("unix:qr.sock", "\"unix:qr.sock\": must be unix:/PATH, from the root"),
        ("unix:/a b", "\"unix:/a b\": the path of a socket must not contain ' '"),
        (&long, "the path has 107 bytes, but a Unix socket's path has at most 106"),
    ] {
        let error = text.parse::<SideUrl>().expect_err(text).to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_location_below_the_path_of_a_side_is_told_without_it() {
    for (url, location, outside) in [
        ("https://a:1/base", "https://a/base/b?c=d", Some("/b?c=d")),
        ("https://a:1/base", "/base/b", Some("/b")),
        ("https://a:1/base", "/base", None),
        ("https://a:1/base", "/basement", None),
        ("https://a:1/base", "/other/?to=https://a/base/", None),
        ("https://a:1/base", "https://a", None),
        ("https://a:1", "https://a/b", None),
    ] {
        let url: SideUrl = url.parse().expect(url);
        assert_eq!(url.far().and_then(|far| far.outside(location)), outside, "{location}");
    }
}
