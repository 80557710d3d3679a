use super::*;

#[test]
fn without_a_file_nothing_is_limited() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = CarveFile::of(folder.path()).expect("no file");
    assert_eq!(file, CarveFile::parse("").expect("an empty one"));
    assert_eq!((file.app.max_body, file.app.timeout, file.front.drain), (Size(0), None, None));
    assert!(file.app.websocket && !file.app.buffering && file.front.underscores);
}

#[test]
fn a_client_chooses_by_a_header_or_a_cookie_or_not_at_all() {
    let by = |text: &str| {
        let file = CarveFile::parse(&format!("front.choose.by = \"{text}\""));
        file.expect(text).front.choose.by
    };
    assert_eq!(by("none"), ChooseBy::None);
    assert_eq!(by("header:X-A"), ChooseBy::Key(Key::Header("X-A".to_owned())));
    assert_eq!(by("cookie:b"), ChooseBy::Key(Key::Cookie("b".to_owned())));
}

#[test]
fn every_mistake_has_a_line_with_the_file_and_the_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |text: &str| {
        fs::write(folder.path().join(CARVE_FILE), text).expect("a file");
        format!("{:#}", CarveFile::of(folder.path()).expect_err(text))
    };
    let mistakes: Vec<(String, String)> =
        serde_json::from_str(include_str!("mistakes.json")).expect("pairs");
    for (text, problem) in &mistakes {
        let error = said(text);
        assert!(error.contains(&format!("carve.toml: {problem}")), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let listen = said(
        "[front]\nlisten = [{ address = \"0.0.0.0:1\", tls = true }, { address = \"0.0.0.0:1\", redirect = true }]\n\
         [headers.request]\n\"a b\" = \"1\"\n\"a!b\" = \"1\"\nX-A = \"$x\"\nX-B = \"1\"\nx-b = \"2\"\n\
         X_Route-Fallback = \"1\"\nconnection = \"\"\n[headers.response]\nX-Request-Id = \"1\"\n",
    );
    for problem in [
        "front.listen: 0.0.0.0:1: tls needs a certificate and a key, front.tls",
        "front.listen: 0.0.0.0:1: it is listed twice",
        "headers: X-A: \"$x\": must be visible ASCII without",
        "headers: \"a b\" is not a header's name",
        "headers: \"a!b\" is not a header's name",
        "headers: X-B: it is listed twice",
        "headers: X_Route-Fallback: nginx sets it itself",
        "headers: connection: nginx sets it itself",
        "headers: X-Request-Id: nginx sets it itself",
    ] {
        assert!(listen.lines().any(|line| line.contains(problem)), "{problem}: {listen}");
    }
    let certificate = "tls = { certificate = \"c\", key = \"a$b\" }";
    for (listeners, problem) in [
        ("{ address = \"0.0.0.0:1\", redirect = true }", "front.listen: 0.0.0.0:1: redirect needs"),
        (
            "{ address = \"0.0.0.0:1\", redirect = true, tls = true }",
            "front.listen: 0.0.0.0:1: redirect needs",
        ),
        ("", "\"a$b\": it has a character with a meaning"),
    ] {
        let error = said(&format!("[front]\n{certificate}\nlisten = [{listeners}]"));
        assert!(error.contains(problem), "{error}");
    }
    let both = said("[front]\nmax_line = \"512\"\nrequests_per_address = 0\n");
    let lines: Vec<&str> = both.lines().collect();
    assert!(lines[0].ends_with("carve.toml: front.max_line: 512: must be 1k to 1m"), "{both}");
    assert!(lines[1].ends_with("front.requests_per_address: 0: must be 1 to 1000000"), "{both}");
    assert_eq!(lines.len(), 2);
}
