//! The paths of other QR services through nginx: they are off without the switch, and otherwise the app answers them.

use std::process::{Command, Output};

use service_kit::testing::repository;

/// Who answers each path, on a stack with this environment: lines of status and `X-Served-By`.
const ASK: &str = r#"
ask() { curl -sS -o "$STACK_DIR/answer" -w '%{http_code} %header{x-served-by} %{content_type}\n' "$@"; }
ask "$STACK_URL/qr?text=hello"
ask -H 'content-type: application/json' -d '[{"text": "a"}]' "$STACK_URL/qr/batch"
ask -H 'content-type: application/json' -d '{"text": "a"}' "$STACK_URL/api/validate-qr"
ask "$STACK_URL/qr-read?url=http://127.0.0.1/"
ask "$STACK_URL/chart?cht=qr&chs=150x150&chl=hello"
ask "$STACK_URL/v1/create-qr-code/?data=hello"
ask -H 'host: qr.example' -H 'accept: image/png' "$STACK_URL/qrcode?text=https://example.com"
ask "$STACK_URL/qrs"
"#;

fn with(environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carve"));
    command.env_remove("QR_COMPAT").env_remove("QR_SHOW_HOST");
    command
        .envs(environment.iter().copied())
        .env("STACK_PARTS", repository().join("deploy/demonstration.toml"))
        .args(["with", "--", "sh", "-c", ASK])
        .output()
        .unwrap()
}

#[test]
fn nginx_passes_the_paths_on_that_are_switched_on() {
    let text = |output: &Output| {
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let off = text(&with(&[]));
    assert_eq!(off.len(), 8, "{off:?}");
    for (line, served) in off.iter().zip(["404 legacy-node"; 5]) {
        assert!(line.starts_with(served), "{off:?}");
    }
    assert!(off[5].starts_with("404 qr-service"), "{off:?}");
    let on =
        text(&with(&[("QR_COMPAT", "goqr,quickchart,google"), ("QR_SHOW_HOST", "qr.example")]));
    let expected = [
        "200 qr-service image/png",
        "200 qr-service application/zip",
        "200 qr-service application/json",
        "400 qr-service application/json",
        "200 qr-service image/png",
        "200 qr-service image/png",
        "200 qr-service image/png",
    ];
    assert_eq!(on[..7], expected);
    assert!(on[7].starts_with("404 legacy-node"), "{on:?}");
    let wrong = with(&[("QR_COMPAT", "bitly")]);
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && error.contains("QR_COMPAT"), "{error}");
}
