//! A route with `cache` in its file: nginx answers repeated requests, but never with an answer from before a rollback.

use std::fs;

use carve::local::http::HttpReply;
use carve::local::{Share, Stack};
use contract::{Target, case, run};
use service_kit::testing::repository;

use crate::support::{get, start};

/// A stack whose route `qrcode` has a cache. Nothing is mirrored, since the shadow would ask the sides too.
fn cached() -> (Stack, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read_to_string(repository().join("proxy/routes/qrcode.toml")).unwrap();
    fs::write(folder.path().join("qrcode.toml"), format!("cache = \"1m\"\n{file}")).unwrap();
    let front = "proxy/routes/carve.toml";
    fs::copy(repository().join(front), folder.path().join("carve.toml")).unwrap();
    (start(|it| it.routes = folder.path().to_owned()), folder)
}

/// Makes nginx keep a picture, which it does at the second request.
fn keep(stack: &Stack, text: &str) {
    for _ in 0..2 {
        assert!(ask(stack, text, &[]).1, "{text} was not kept");
    }
    assert!(!ask(stack, text, &[]).1, "{text} is kept");
}

/// The number of requests of the route that qr-service has answered.
fn asked(stack: &Stack) -> u64 {
    let metrics = format!("http://{}/metrics", stack.settings().addresses.of("new_admin"));
    let metrics = get(&metrics, &[]).text();
    let of_route = metrics.lines().filter(|line| {
        line.starts_with("http_requests_total{") && line.contains("route=\"/qrcode\"")
    });
    of_route.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// Asks for a picture. Also returns whether nginx had to ask qr-service.
fn ask(stack: &Stack, text: &str, headers: &[(&str, &str)]) -> (HttpReply, bool) {
    let before = asked(stack);
    let answer = get(&format!("{}/qrcode?text={text}", stack.url()), headers);
    (answer, asked(stack) > before)
}

#[test]
fn nginx_answers_what_it_has_kept() {
    let (stack, _folder) = cached();
    let (first, was_asked) = ask(&stack, "a", &[]);
    assert!(was_asked && first.status == 200);
    let (second, was_asked) = ask(&stack, "a", &[]);
    assert!(was_asked && second.status == 200);
    let (again, was_asked) = ask(&stack, "a", &[]);
    assert!(!was_asked, "kept");
    assert_eq!((again.status, &again.body), (200, &first.body));
    for name in ["content-type", "etag", "cache-control", "x-served-by"] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    assert!(ask(&stack, "b", &[]).1, "another text");
    let (same, was_asked) = ask(&stack, "a", &[("If-None-Match", first.header("etag"))]);
    assert_eq!((same.status, was_asked, same.body.len()), (304, false, 0));
    for headers in [("Authorization", "Basic YTpi"), ("Host", "other.example")] {
        assert!(ask(&stack, "a", &[headers]).1, "{headers:?}");
    }
    // An answer without a lifetime is not kept.
    for _ in 0..3 {
        let (refused, was_asked) = ask(&stack, "", &[]);
        assert_eq!((refused.status, was_asked), (400, true));
    }
}

#[test]
fn what_was_kept_before_a_rollback_is_not_served_after_it() {
    let (stack, _folder) = cached();
    let set = |percent| stack.set_split("qrcode", Share::percent(percent).unwrap()).unwrap();
    keep(&stack, "a");
    set(0);
    let (old, was_asked) = ask(&stack, "a", &[]);
    assert_eq!((old.served_by(), was_asked), ("legacy-node", false));
    set(99);
    let by_new = [("X-Route-Arm", "new")];
    for _ in 0..3 {
        assert!(ask(&stack, "a", &by_new).1, "no cache during a ramp");
    }
    set(100);
    keep(&stack, "a");
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn the_contract_holds_for_what_was_kept() {
        let (stack, _folder) = cached();
        let cases = case::all().unwrap();
        for _ in 0..3 {
            let report =
                run(&Target::new(&stack.url()).unwrap(), &cases, &contract::Options::default());
            assert_eq!(report.counts(), (cases.len(), 0), "{report}");
        }
    }
}
