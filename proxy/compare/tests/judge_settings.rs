//! The settings that a route file may have, and the errors for others.

use std::time::Duration;

use compare::judge::Judge;
use route::{ExecSettings, ImageSettings, JsonSettings, JudgeSettings, TextSettings, Time};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Route {
    judge: JudgeSettings,
}

fn read(judge: &str) -> Result<JudgeSettings, String> {
    let route: Result<Route, _> = toml::from_str(&format!("judge = {judge}"));
    route.map(|route| route.judge).map_err(|error| error.to_string())
}

/// Whether the schema allows these settings, as JSON.
fn allowed_by_schema(judge: &str) -> bool {
    let schema = schemars::schema_for!(JudgeSettings).to_value();
    let file: toml::Table = toml::from_str(&format!("judge = {judge}")).unwrap();
    jsonschema::is_valid(&schema, &serde_json::to_value(&file["judge"]).unwrap())
}

#[test]
fn settings_are_a_name_or_a_table() {
    let exec = ExecSettings::new(["./judge.py", "--strict"]);
    #[rustfmt::skip]
    let rows = [
        (r#""bytes""#, JudgeSettings::Bytes {}),
        (r#"{ kind = "bytes" }"#, JudgeSettings::Bytes {}),
        (r#""text""#, JudgeSettings::Text(TextSettings::default())),
        (r#"{ kind = "text", ignore = ["a+"] }"#,
            JudgeSettings::Text(TextSettings { ignore: vec!["a+".to_owned()] })),
        (r#""qr""#, JudgeSettings::Qr {}),
        (r#""json""#, JudgeSettings::Json(JsonSettings::default())),
        (r#"{ kind = "json", ignore = ["/a"], tolerance = 1e-9 }"#,
            JudgeSettings::Json(JsonSettings { ignore: vec!["/a".to_owned()], tolerance: 1e-9 })),
        (r#"{ tolerance = 0, kind = "json" }"#, JudgeSettings::Json(JsonSettings::default())),
        (r#""image""#, JudgeSettings::Image(ImageSettings::default())),
        (r#"{ kind = "image", tolerance = 3, share = 0.01 }"#,
            JudgeSettings::Image(ImageSettings { tolerance: 3, share: 0.01 })),
        (r#"{ kind = "exec", command = ["./judge.py", "--strict"] }"#,
            JudgeSettings::Exec(exec.clone())),
        (r#"{ kind = "exec", command = ["./judge.py", "--strict"], timeout = "250ms", start_timeout = "10s", max_memory_mib = 64 }"#,
            JudgeSettings::Exec(ExecSettings {
                timeout: Time(Duration::from_millis(250)),
                start_timeout: Time::seconds(10),
                max_memory_mib: Some(64),
                ..exec
            })),
    ];
    for (text, expected) in rows {
        assert_eq!(read(text), Ok(expected.clone()), "{text}");
        assert!(allowed_by_schema(text), "{text}");
        Judge::new(&expected, Vec::new()).unwrap();
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    #[rustfmt::skip]
    let rows = [
        (r#""jsn""#, "unknown variant `jsn`, expected one of `bytes`, `text`, `json`"),
        (r#"{ kind = "jsn" }"#, "unknown variant `jsn`"),
        (r#"{ ignore = ["/a"] }"#, "missing field `kind`"),
        (r#"{ kind = "bytes", ignore = ["/a"] }"#, "unknown field `ignore`"),
        (r#"{ kind = "json", ignored = ["/a"] }"#, "unknown field `ignored`, expected `ignore` or `tolerance`"),
        (r#"{ kind = "image", tolerance = 256 }"#, "invalid value: integer `256`, expected u8"),
        (r#""exec""#, "missing field `command`"),
        (r#"{ kind = "exec", command = "./judge.py" }"#, "expected a sequence"),
        (r#"{ kind = "exec", command = ["a"], timeout = "soon" }"#, "\"soon\": must be a time such as 1s"),
        ("1", "expected the name of a judge, or a table with the name as `kind`"),
    ];
    for (text, why) in rows {
        let error = read(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
        assert!(!allowed_by_schema(text) || text.contains("soon"), "{text}");
    }
}

#[test]
fn values_out_of_range_are_named() {
    #[rustfmt::skip]
    let rows = [
        (r#"{ kind = "json", tolerance = -1 }"#, "tolerance = -1 is not from 0 to below 1"),
        (r#"{ kind = "json", tolerance = 1 }"#, "tolerance = 1 is not from 0 to below 1"),
        (r#"{ kind = "json", tolerance = nan }"#, "tolerance = NaN"),
        (r#"{ kind = "json", ignore = [""] }"#, "an empty path"),
        (r#"{ kind = "json", ignore = ["/a", "b"] }"#, "`b`, which does not begin with /"),
        (r#"{ kind = "json", ignore = ["/a~2"] }"#, "`/a~2`, where ~ is not followed by 0 or 1"),
        (r#"{ kind = "json", ignore = ["/a~"] }"#, "`/a~`, where ~ is not followed by 0 or 1"),
        (r#"{ kind = "text", ignore = ["(a"] }"#, "ignore has `(a`: unclosed group"),
        (r#"{ kind = "text", ignore = ["a*"] }"#, "ignore has `a*`, which matches an empty text"),
        (r#"{ kind = "text", ignore = ["(a{1000}){1000}"] }"#, "exceeds size limit"),
        (r#"{ kind = "image", tolerance = 255 }"#, "tolerance = 255 would accept any pixel"),
        (r#"{ kind = "image", share = 1 }"#, "share = 1 is not from 0 to below 1"),
        (r#"{ kind = "exec", command = [] }"#, "command names no program"),
        (r#"{ kind = "exec", command = ["a"], timeout = "61s" }"#, "timeout is 61s; it must be at most 60s"),
        (r#"{ kind = "exec", command = ["a"], start_timeout = "2min" }"#, "start_timeout is 120s"),
        (r#"{ kind = "exec", command = ["a"], max_memory_mib = 0 }"#, "max_memory_mib is 0"),
    ];
    for (text, why) in rows {
        let error = Judge::new(&read(text).unwrap(), Vec::new()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}
