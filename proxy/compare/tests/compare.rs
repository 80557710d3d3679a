//! `carve compare`, and the service and `compare` with the real programs.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

use qr_core::Level;
use serde_json::Value;
use service_kit::testing::{Process, certificate, eventually};

use crate::support::{
    Fake, Reply, command, legacy_node, picture, png_answer, qr_service, qr_service_on, routes,
    text_of,
};

/// Runs `carve compare` with one request per line of `texts` on standard input.
fn compare(new: &str, old: &str, texts: &[u8], more: &[&str]) -> Output {
    let mut command = command("compare", &[]);
    command.args(["-", "--new", new, "--old", old]).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = texts.split(|&byte| byte == b'\n').map(|line| match line {
        b"" => String::new(),
        line => format!("/qrcode?text={}", percent_encode(line, NON_ALPHANUMERIC)),
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    // The command may exit without reading its input.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn exits_0_if_all_texts_match() {
    let (new, old) = (Fake::correct(), Fake::correct());
    let output = compare(&new.url(), &old.url(), b"one\n\ntwo\nthree", &[]);
    let printed = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.ends_with("3 requests: 3 match\n"), "{printed}");
    assert_eq!(printed.lines().count(), 4);
    assert!(output.stderr.is_empty(), "the progress bar is for terminals");
}

#[test]
fn reports_a_difference_with_its_line_and_exits_1() {
    let new = Fake::correct();
    let old = Fake::start(|head| {
        let size_px = if text_of(head) == "two" { 250 } else { 200 };
        Reply::Keep(png_answer(&picture(&text_of(head), Level::L, size_px)))
    });
    let output = compare(&new.url(), &old.url(), b"one\ntwo\nthree\n", &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    assert!(text.starts_with("line 2: mismatch in size: "), "{text}");
    assert!(text.ends_with("3 requests: 2 match, 1 mismatch (1 size)\n"), "{text}");
    let output = compare(&new.url(), &old.url(), b"one\ntwo\nthree\n", &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["requests"], &report["results"]["match"]), (&3.into(), &2.into()));
    assert_eq!(report["kinds"], serde_json::json!({ "size": 1 }));
    assert_eq!(report["differences"][0]["line"], 2);
    assert!(report["new"]["p99_seconds"].as_f64() >= report["new"]["p50_seconds"].as_f64());
    assert_eq!(report["new"]["mean_bytes"].as_f64(), {
        let sizes = ["one", "two", "three"].map(|text| picture(text, Level::L, 200).len());
        Some(sizes.iter().sum::<usize>() as f64 / 3.0)
    });
}

#[test]
fn an_unreachable_side_is_a_difference() {
    let new = Fake::correct();
    let output = compare(&new.url(), "http://127.0.0.1:1", b"a\n", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).ends_with("1 requests: 1 old_error\n"), "{}", printed(&output));
}

#[test]
fn wrong_usage_exits_2_with_one_line() {
    let url = "http://127.0.0.1:1";
    for (new, texts, more) in [
        (url, b"\n\n".as_slice(), [].as_slice()),
        ("127.0.0.1:1", b"a", &[]),
        (url, b"a", &["--request-timeout", "0s"]),
        (url, &[b'x'; 70_000], &[]),
    ] {
        let output = compare(new, url, texts, more);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    }
    let missing = ["/nowhere", "--new", url, "--old", url];
    let output = command("compare", &[]).args(missing).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere"));
}

#[test]
fn a_failure_of_its_own_exits_2_and_is_no_difference() {
    // The report cannot be written.
    let (new, old) = (Fake::correct(), Fake::correct());
    let mut command = command("compare", &[]);
    command.args(["-", "--new", &new.url(), "--old", &old.url()]);
    let (lines, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"/qrcode?text=a\n").unwrap();
    drop(writer);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = command.stdin(lines).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");

    // The judge is a program that dies.
    let routes = tempfile::tempdir().unwrap();
    let judge = "path = \"/qrcode\"\njudge = { kind = \"exec\", command = [\"false\"] }\n";
    std::fs::write(routes.path().join("qrcode.toml"), judge).unwrap();
    let folder = routes.path().to_str().unwrap();
    let output = compare(&new.url(), &old.url(), b"a\n", &["--routes", folder]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).ends_with("1 requests: 1 unjudged\n"), "{}", printed(&output));
}

#[test]
fn the_real_programs_agree_on_a_file_of_difficult_texts() {
    let (new, (old, _data)) = (qr_service(), legacy_node());
    let (new, old) = (format!("http://{}", new.addr), format!("http://{}", old.addr));
    let texts = [
        "https://example.com/?t=all&u=1#top".as_bytes(),
        "麻杏石甘口服液".as_bytes(),
        b"\xff\xfe",
        b"%41+%2B",
        &[b'7'; 513],
        &[b'A'; 512],
        " ".as_bytes(),
    ];
    let output = compare(&new, &old, &texts.join(&b'\n'), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
}

#[test]
fn a_side_may_be_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}/qr.sock", folder.path().display());
    let service = qr_service_on(&format!("127.0.0.1:0,{socket}"));
    let port = format!("http://{}", service.addr);
    for (new, old) in [(&socket, &port), (&port, &socket)] {
        let output = compare(new, old, "one\ntwo\nä".as_bytes(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        assert!(printed(&output).ends_with("3 requests: 3 match\n"), "{}", printed(&output));
    }
    drop(service);
    let output = compare(&socket, &port, b"one", &["--json"]);
    assert!(printed(&output).contains("connect"), "{}", printed(&output));
}

#[test]
fn a_side_may_be_behind_tls_and_below_a_path_with_a_certificate_that_is_believed() {
    let folder = routes(&[("report", "path = \"/report\""), ("moved", "path = \"/moved\"")]);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("base")).unwrap();
    fs::create_dir_all(at("other")).unwrap();
    certificate(folder.path(), "localhost");
    certificate(&at("other"), "localhost");
    // The form in which `openssl s_server -HTTP` sends files.
    let answer = |first: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {first}\r\nContent-Type: a/b\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    fs::write(at("base/report"), answer("200 OK", "42")).unwrap();
    fs::write(at("base/moved"), answer("302 Found\r\nLocation: https://x/base/a", "")).unwrap();
    let addr = service_kit::free_address().unwrap();
    let mut server = Command::new("openssl");
    server.args(["s_server", "-quiet", "-HTTP", "-cert", "cert.pem", "-key", "key.pem", "-accept"]);
    let _server = Process::start(server.arg(addr.to_string()).current_dir(folder.path()));
    eventually("it listens", || TcpStream::connect(addr).is_ok());

    let near = Fake::start(move |head| match head.starts_with("GET /moved") {
        true => Reply::Close(answer("302 Found\r\nLocation: /a", "").into()),
        false => Reply::Close(answer("200 OK", "42").into()),
    });
    fs::write(at("requests"), "/report\n/moved\n").unwrap();
    for (authorities, host, code, results) in [
        ("cert.pem", "localhost", 0, "2 match"),
        ("cert.pem", "127.0.0.1", 1, "2 old_error"),
        ("other/cert.pem", "localhost", 1, "2 old_error"),
    ] {
        let far = format!("https://{host}:{}/base", addr.port());
        fs::write(at("carve.toml"), format!("app.authorities = \"{authorities}\"")).unwrap();
        let mut command = command("compare", &[("SHADOW_ROUTES", folder.path().to_str().unwrap())]);
        command.arg(at("requests")).args(["--new", &near.url(), "--old", &far]);
        let output = command.output().unwrap();
        let said = printed(&output);
        assert_eq!(output.status.code(), Some(code), "{said} {output:?}");
        assert!(said.ends_with(&format!("2 requests: {results}\n")), "{said}");
        assert_eq!(said.contains("certificate"), code == 1, "{said}");
    }
}
