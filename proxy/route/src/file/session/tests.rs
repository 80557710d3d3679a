use crate::file::Route;

const LEAST: &str = "path = \"/p/*\"\njudge = \"session\"\n\
    old.url = \"http://127.0.0.1:1\"\nnew.url = \"http://127.0.0.1:2\"\n\
    homes = [{ url = \"http://127.0.0.1:3\", admin = \"http://127.0.0.1:4\" }]\n";

#[test]
fn the_least_has_no_limit_and_waits_an_hour() {
    let route = Route::parse("relay", LEAST).expect("valid");
    assert!(route.is_session());
    assert_eq!(route.max_body().to_string(), "0");
    assert_eq!(route.file.idle_timeout.to_string(), "3600s");
    let limited = Route::parse("relay", &format!("max_body = \"1m\"\n{LEAST}")).expect("valid");
    assert_eq!(limited.max_body().to_string(), "1m");
}

#[test]
fn a_contradiction_is_one_line_that_names_both_keys() {
    for key in [
        "methods = [\"GET\"]",
        "key = \"client\"",
        "compare_headers = []",
        "ignore_headers = []",
        "fallback = \"none\"",
        "fallback_limit = 1",
        "rescue_limit = 1",
        "body = \"buffered\"",
        "shadow.percent = 1",
        "old.timeout = \"1s\"",
        "new.timeout = \"1s\"",
        "old.connect_timeout = \"1s\"",
        "new.connect_timeout = \"1s\"",
        "old.retry_500 = true",
        "new.retry_500 = true",
    ] {
        let text = format!("{key}\n{LEAST}");
        let error = format!("{:#}", Route::parse("relay", &text).expect_err(key));
        let name = key.split(" = ").next().unwrap_or(key).replace(".percent", "");
        let is_named = error.contains(&name) && error.contains("judge = \"session\"");
        assert!(is_named && error.lines().count() == 1, "{key}: {error}");
    }
    for (text, problem) in [
        (LEAST.replace("homes", "#"), "homes: judge = \"session\" needs at least one"),
        (LEAST.replace("old.url", "#"), "old.url: judge = \"session\" needs it"),
        (
            LEAST.replace("http://127.0.0.1:2", "unix:/run/new.sock"),
            "new.url: judge = \"session\" needs http://HOST:PORT",
        ),
        (LEAST.replace("\"session\"", "\"bytes\""), "homes: only a route with judge = \"session\""),
        (LEAST.replace(", admin", ", adm"), "line 5: unknown field `adm`"),
        (
            "path = \"/a\"\nmax_body = \"0\"".to_owned(),
            "max_body: 0: no limit needs judge = \"session\"",
        ),
        ("path = \"/a\"\ncache = \"0\"".to_owned(), "cache: 0: leave the key out"),
        (format!("cache = \"1m\"\n{LEAST}"), "cache contradicts judge = \"session\""),
        (
            "path = \"/a\"\nidle_timeout = \"1s\"".to_owned(),
            "idle_timeout: only a route with judge =",
        ),
    ] {
        let error = format!("{:#}", Route::parse("relay", &text).expect_err(problem));
        assert!(error.contains(problem) && error.lines().count() == 1, "{problem}: {error}");
    }
}
