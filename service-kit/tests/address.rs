//! Addresses as people type them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use service_kit::ListenAddr;

#[test]
fn an_address_is_a_port_or_a_path() {
    for text in ["127.0.0.1:80", "[::1]:0", "unix:/run/qr.sock", "unix:/home/é/a.b_c~d"] {
        assert_eq!(text.parse::<ListenAddr>().unwrap().to_string(), text);
    }
}

#[test]
fn what_is_no_address_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "must be IP:PORT or unix:/PATH"),
        ("localhost:80", "must be IP:PORT or unix:/PATH"),
        ("/run/qr.sock", "must be IP:PORT or unix:/PATH"),
        ("unix:", "from the root"),
        ("unix:qr.sock", "from the root"),
        ("unix:/", "this is a folder"),
        ("unix:/run/", "this is a folder"),
        ("unix:/run/a b", "must not contain ' '"),
        ("unix:/run/a;b", "must not contain ';'"),
        ("unix:/run/$a", "must not contain '$'"),
    ] {
        let error = text.parse::<ListenAddr>().unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn a_path_may_be_as_long_as_the_system_allows() {
    let of = |bytes: usize| format!("unix:/{}", "a".repeat(bytes - 1)).parse::<ListenAddr>();
    assert!(of(106).is_ok());
    let error = of(107).unwrap_err();
    assert_eq!(error, "the path has 107 bytes, but a Unix socket's path has at most 106");
}
