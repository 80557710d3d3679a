use super::*;

#[test]
fn the_counters_are_read_from_the_answer() {
    let body = "Active connections: 291 \nserver accepts handled requests\n 18 16 31070465 \n\
                Reading: 6 Writing: 179 Waiting: 106 \n";
    let connections = Connections { refused: 2, reading: 6, writing: 179, waiting: 106 };
    assert_eq!(parse(body), Some((31_070_465, connections)));
    for other in [
        "",
        "<html>",
        "Active connections: 1\n",
        &body.replace("31070465", ""),
        &body.replace("31070465", "many"),
        &body.replace("Writing", "Riding"),
        &body.replace("Waiting: 106", ""),
    ] {
        assert_eq!(parse(other), None, "{other}");
    }
}

#[test]
fn a_status_url_has_scheme_host_and_path() {
    for url in ["http://127.0.0.1:8081/stub_status", "http://nginx", "http://[::1]:81/"] {
        assert_eq!(status_url(url).as_deref(), Ok(url));
    }
    for url in ["", "127.0.0.1:8081/x", "https://x/y", "http://me@x/", "http://x:99999/", "/x"] {
        assert!(status_url(url).is_err(), "{url}");
    }
}
