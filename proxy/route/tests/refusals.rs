//! What requests cost that an app refuses early or drops: their client hears why, and no other client notices.

use route::CarveFile;

use crate::support::{Front, Setup, app, ask};

/// Plain nginx 1.22 answers 502 to half of these: it goes on writing after the app has closed. Some of them still meet
/// the moment between its last look for an answer and its next write.
#[test]
fn an_app_s_early_refusal_of_a_buffered_upload_reaches_the_client() {
    let address = service_kit::free_address().unwrap();
    let _app = app("app.mjs", address);
    let route = "path = \"/report/*\"\nmethods = [\"POST\"]\nmax_body = \"8m\"";
    let carve = CarveFile::parse("app.buffering = true").unwrap();
    let front = Front::start(Setup::of(carve, route, [address; 2]));
    let body = vec![b'x'; 5_000_000];
    for path in ["/refuse", "/report/refuse"] {
        let mut refused = 0;
        for _ in 0..40 {
            let answer = ask(front.addr, &format!("POST {path}"), "", &body);
            refused += usize::from(answer.status == 413 && answer.body.contains("too large"));
            assert_eq!(front.ask("GET /", "").status, 200);
        }
        assert!(refused >= 36, "{path}: {refused} of 40");
    }
}

#[test]
fn requests_that_every_server_of_a_fallback_drops_fail_alone() {
    let [one, two, gone] = [(); 3].map(|()| service_kit::free_address().unwrap());
    let _apps = [one, two].map(|address| app("app.mjs", address));
    let route = "path = \"/report/*\"\nfallback = \"new-to-old\"";
    let setup = Setup::of(CarveFile::default(), route, [gone; 2]);
    let setup = Setup { old: "http://app.example:80".parse().unwrap(), ..setup };
    let front = Front::start_at(setup, [("app.example:80".to_owned(), vec![one, two])].into());
    front.share(100);
    for _ in 0..10 {
        // 503 if nginx had asked one of them over a kept connection, and so looked for a third.
        assert!(matches!(front.ask("GET /report/drop", "").status, 502 | 503));
        assert_eq!(front.ask("GET /report/a", "").status, 200);
    }
}
