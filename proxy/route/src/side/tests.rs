use super::*;

#[test]
fn a_side_is_a_port_or_a_socket() {
    for (text, server) in [("http://app", "app:80"), ("unix:/run/qr.sock", "unix:/run/qr.sock")] {
        assert_eq!(text.parse::<SideUrl>().expect(text).server(), server);
    }
    for (text, shown) in [
        ("https://app", "https://app:443"),
        ("https://[::1]:8443/a/b/", "https://[::1]:8443/a/b"),
        ("http://app/v1", "http://app:80/v1"),
    ] {
        let url = text.parse::<SideUrl>().expect(text);
        assert_eq!((url.to_string().as_str(), url.far().is_some()), (shown, true));
    }
    let long = format!("unix:/{}", "a".repeat(106));
    for (text, problem) in [
        ("x:1", "\"x:1\": must be http://HOST:PORT or unix:/PATH"),
        ("https://a/b?c", "\"https://a/b?c\": must be http://HOST:PORT or unix:/PATH"),
        ("http://a//b", "\"http://a//b\": must be"),
        ("unix:qr.sock", "\"unix:qr.sock\": must be unix:/PATH, from the root"),
        ("unix:/a b", "\"unix:/a b\": the path of a socket must not have ' '"),
        (&long, "the path has 107 bytes, and that of a Unix socket at most 106"),
    ] {
        let error = text.parse::<SideUrl>().expect_err(text).to_string();
        assert!(error.contains(problem), "{error}");
    }
}
