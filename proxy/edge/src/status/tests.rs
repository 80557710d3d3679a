use service_kit::testing::serve;

use super::*;

/// Asks a server that answers with this head and body.
fn asked(status: &'static str, body: &'static str) -> anyhow::Result<(StubStatus, Connections)> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    let addr = serve(move |asked| asked.answer(format!("{head}{body}")));
    ask(&format!("http://{addr}/stub_status"))
}

#[test]
fn only_an_nginx_that_is_gone_refuses_and_only_its_status_counts() {
    const BODY: &str = "Active connections: 9 \nserver accepts handled requests\n 18 16 70 \n\
                        Reading: 6 Writing: 17 Waiting: 10 \n";
    let (reading, connections) = asked("200 OK", BODY).unwrap();
    assert_eq!((reading.requests, reading.open, connections.waiting), (70, 23, 10));
    assert!(reading.at.elapsed() < Duration::from_secs(60));
    for (status, body) in [("404 Not Found", BODY), ("200 OK", "ok\n")] {
        assert!(!is_refused(&asked(status, body).unwrap_err()), "{status} {body}");
    }
    let nobody = service_kit::free_address().unwrap();
    assert!(is_refused(&ask(&format!("http://{nobody}/")).unwrap_err()));
}

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
