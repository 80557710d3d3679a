//! The command line itself, as far as it needs no nginx.

use std::process::Command;

/// Runs a command and returns its exit code, standard output and standard error.
fn carve(args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carve"));
    let output = command.args(args).env_clear().envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_bad_value_is_named_in_one_line_with_the_variable_of_its_own_command() {
    for (args, variable, value) in [
        (["edge", "--log", "x"].as_slice(), "EDGE_ADMIN_ADDR", "nowhere"),
        (&["shadow"], "SHADOW_ADMIN_ADDR", "nowhere"),
        (&["serve"], "RAMP_ADMIN_ADDR", "nowhere"),
        (&["edge", "--log", "x"], "EDGE_LOG_LEVEL", "loud"),
        (&["shadow"], "SHADOW_LOG_LEVEL", "loud"),
        (&["up"], "STACK_SPLIT", "101"),
        (&["split", "5"], "RAMP_PROXY_ADMIN_ADDR", "8081"),
    ] {
        let (code, _, said) = carve(args, &[(variable, value)]);
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{args:?}: {said}");
        assert!(said.starts_with("carve: ") && said.contains(variable), "{args:?}: {said}");
    }
    for args in [["split", "101"].as_slice(), &["split"], &["split", "qrcode"], &["compare"]] {
        let (code, _, said) = carve(args, &[]);
        assert_eq!(code, Some(2), "{args:?}: {said}");
    }
}

#[test]
fn every_mistake_of_a_folder_of_routes_is_said_at_once_with_its_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let shown = folder.path().display().to_string();
    for (name, text) in
        [("a", "path = \"/a\"\n\nkey = \"\"\n"), ("b", "pfad = \"/b\"\n"), ("c", "path = \"/c\"\n")]
    {
        std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    }
    let (code, _, said) = carve(&["check", &shown], &[]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 2), "{said}");
    for (line, place) in lines.iter().zip(["a.toml: line 3: key:", "b.toml: line 1:"]) {
        assert!(line.contains(place), "{said}");
    }
    for name in ["a", "b"] {
        std::fs::remove_file(folder.path().join(format!("{name}.toml"))).unwrap();
    }
    let (code, said, _) = carve(&["check", &shown, "--json"], &[]);
    assert_eq!((code, said.trim()), (Some(0), r#"[{"path":"/c","route":"c"}]"#));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "fish", "zsh"] {
        let (code, script, said) = carve(&["completions", shell], &[]);
        assert_eq!(code, Some(0), "{said}");
        assert!(script.contains("rollback") && script.contains("carve"), "{shell}");
    }
}
