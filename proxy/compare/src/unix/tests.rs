use super::*;

#[test]
fn the_path_comes_back_from_a_url() {
    for text in ["/run/qr.sock", "/home/\u{e9}/a-b"] {
        let socket: SocketPath = format!("unix:{text}").parse().expect(text);
        let uri: Uri = format!("http://{}/a?b", authority(&socket)).parse().expect(text);
        assert_eq!(uri.host().and_then(path).as_deref(), Some(text));
    }
    assert_eq!(path("localhost"), None);
}
