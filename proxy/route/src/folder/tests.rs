use super::*;

#[test]
fn a_folder_has_one_route_per_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect(name);
    let error = |folder: &Path| format!("{:#}", load(folder).expect_err("no routes"));
    assert!(error(folder.path()).contains("has no route file (NAME.toml)"));
    write("b.toml", "path = \"/b\"");
    write("a.toml", "path = \"/a/*\"");
    write("README.md", "no route");
    write(CARVE_FILE, "[app]\nmax_body = \"1m\"");
    let names: Vec<String> =
        load(folder.path()).expect("valid").1.into_iter().map(|route| route.name).collect();
    assert_eq!(names, ["a", "b"]);
    write("c.toml", "path = \"/b\"");
    assert!(error(folder.path()).contains("c.toml and b.toml have the same path, /b"));
    write("c.toml", "path = \"/c\"\nkey = \"\"");
    assert!(error(folder.path()).contains("c.toml: line 2: key: \"\""));
    write(CARVE_FILE, "[app]\nmax = \"1m\"");
    let all = format!("{:#}", load(folder.path()).expect_err("two mistakes"));
    let lines: Vec<&str> = all.lines().collect();
    assert!(lines[0].contains("carve.toml: line 2: unknown field `max`"), "{all}");
    assert!(lines[1].contains("c.toml: line 2: key") && lines.len() == 2, "{all}");
}
