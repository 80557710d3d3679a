use super::*;
use crate::judge::{ExecSettings, JsonSettings, TextSettings};

#[test]
fn the_least_is_a_path() {
    let route = Route::parse("report", "path = \"/report\"").expect("valid");
    assert_eq!(route.file.share, Share::NONE);
    assert_eq!(route.file.key, Key::Request);
    assert_eq!((route.body(), route.fallback()), (Body::None, Fallback::Both));
    let writes = Route::parse("order", "path = \"/order\"\nmethods = [\"POST\"]").expect("valid");
    assert_eq!((writes.body(), writes.fallback()), (Body::Buffered, Fallback::None));
    assert_eq!(route.sent_headers(), ["accept", "accept-language"]);
    assert_eq!(writes.sent_headers()[2..], ["content-encoding", "content-type"]);
    assert!(route.compared_headers().iter().any(|name| name == "location"));
    assert_eq!(route.file.judge, JudgeSettings::Bytes {});
}

#[test]
fn a_mistake_is_one_line_that_names_line_and_field() {
    let mistakes: Vec<(String, String)> =
        serde_json::from_str(include_str!("mistakes.json")).expect("pairs");
    for (text, problem) in &mistakes {
        let error = format!("{:#}", Route::parse("report", text).expect_err(text));
        assert!(error.contains(problem) && error.lines().count() == 1, "{text}: {error}");
    }
    for name in ["", "Report", "1st", "a_b", "other", "admin", "a b"] {
        assert!(Route::parse(name, "path = \"/a\"").is_err(), "{name}");
    }
}

#[test]
fn valid_settings_that_are_probably_not_intended_are_warned_of() {
    for (text, warnings) in [
        ("", &[] as &[&str]),
        ("new.timeout = \"3s\"", &["old.timeout is 10s and new.timeout 3s: an answer that takes"]),
        ("methods = [\"any\"]", &["max_body is not set: a body longer than 16k gets 413"]),
        ("methods = [\"GET\", \"POST\"]\nmax_body = \"1m\"", &[]),
        ("methods = [\"any\"]\nbody = \"none\"", &[]),
        ("ignore_headers = [\"Content-Type\"]", &[]),
        (
            "compare_headers = [\"etag\"]\nignore_headers = [\"ETag\", \"Location\"]",
            &["ignore_headers: \"Location\" is not compared anyway"],
        ),
    ] {
        let route = Route::parse("report", &format!("path = \"/report\"\n{text}")).expect(text);
        let said = route.warnings();
        assert!(said.len() == warnings.len(), "{text}: {said:?}");
        assert!(said.iter().zip(warnings).all(|(it, start)| it.starts_with(start)), "{said:?}");
    }
}

#[test]
fn a_judge_is_a_name_or_a_table_with_its_settings() {
    let judge = |text: &str| {
        let route = Route::parse("report", &format!("path = \"/a\"\njudge = {text}"));
        route.expect(text).file.judge
    };
    let ignore = || vec!["a".to_owned()];
    assert_eq!(judge("\"qr\""), JudgeSettings::Qr {});
    let text = judge("{ kind = \"text\", ignore = [\"a\"] }");
    assert_eq!(text, JudgeSettings::Text(TextSettings { ignore: ignore() }));
    let json = judge("{ kind = \"json\", ignore = [\"a\"], tolerance = 0.5 }");
    assert_eq!(json, JudgeSettings::Json(JsonSettings { ignore: ignore(), tolerance: 0.5 }));
    let exec = judge("{ kind = \"exec\", command = [\"a\"] }");
    let JudgeSettings::Exec(ExecSettings { timeout, start_timeout, .. }) = exec else {
        panic!("{exec:?}")
    };
    assert_eq!((timeout, start_timeout), (Time::seconds(1), Time::seconds(5)));
}

/// The larger of 10 % and 5 ms, unless the file says otherwise.
#[test]
fn a_side_is_slower_only_beyond_a_margin() {
    let route = |text: &str| {
        Route::parse("report", &format!("path = \"/a\"\n{text}")).expect(text).file.shadow
    };
    let usual = route("shadow.fresh_parameter = \"a-b_1\"").slower;
    let own = route("shadow.slower = { percent = 25, time = \"20ms\" }").slower;
    let ms = std::time::Duration::from_millis;
    for (old, by_default, by_file) in
        [(0, 5, 20), (20, 25, 40), (100, 110, 125), (1000, 1100, 1250)]
    {
        assert_eq!((usual.allows(ms(old)), own.allows(ms(old))), (ms(by_default), ms(by_file)));
    }
}
