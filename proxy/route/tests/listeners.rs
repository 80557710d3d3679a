//! Further ways for clients to connect: TLS, HTTP/2, redirects, gRPC; and the headers that `carve.toml` adds or
//! removes.

use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use route::{CarveFile, Route};
use service_kit::testing::{Process, certificate};

use crate::support::{Front, Setup, app, eventually, header};

/// A front before an app. The folder has the certificate, and these addresses replace `A`, `B`, ...
fn front(file: &str, carve: &str) -> (Process, Front, Vec<SocketAddr>) {
    front_of(file, carve, "path = \"/report\"")
}

fn front_of(file: &str, carve: &str, route: &str) -> (Process, Front, Vec<SocketAddr>) {
    let app_address = service_kit::free_address().unwrap();
    let free = service_kit::free_addresses(2).unwrap();
    let folder = tempfile::tempdir().unwrap().keep();
    certificate(&folder, "app.example");
    let carve = carve.replace("\"A\"", &format!("\"{}\"", free[0]));
    let carve = carve.replace("\"B\"", &format!("\"{}\"", free[1]));
    let process = app(file, app_address);
    let carve = CarveFile::parse_in(&carve, &folder).unwrap();
    (process, Front::start(Setup::of(carve, route, [app_address; 2])), free)
}

/// The output of curl: the head, without the reason in its first line, and the body.
fn curl(args: &[&str]) -> String {
    let output =
        Command::new("curl").args(["-s", "-k", "-i", "--max-time", "20"]).args(args).output();
    String::from_utf8(output.unwrap().stdout).unwrap().replace('\r', "")
}

#[test]
fn clients_speak_tls_and_http_2_and_are_led_there_from_http() {
    let carve = "[front]\ntls = { certificate = \"cert.pem\", key = \"key.pem\" }\n\
                 listen = [{ address = \"A\", tls = true }, { address = \"B\", redirect = true }]\n";
    for file in ["app.mjs", "app.py"] {
        let (_app, front, at) = front(file, carve);
        for version in ["--http2", "--http1.1"] {
            let said = curl(&[version, &format!("https://{}/", at[0])]);
            let expected = if version == "--http2" { "HTTP/2 200" } else { "HTTP/1.1 200" };
            assert!(said.starts_with(expected), "{said}");
            assert_eq!(header(&said, "X-Forwarded-Proto"), "https", "{said}");
            let said = curl(&[version, "-d", "a=b", &format!("https://{}/report", at[0])]);
            assert!(said.contains("\n3 "), "{said}");
        }
        let said = curl(&["-d", "a=b", &format!("http://{}/a?b=c", at[1])]);
        let location = format!("https://127.0.0.1:{}/a?b=c", at[0].port());
        let is_led = said.starts_with("HTTP/1.1 308") && header(&said, "location") == location;
        assert!(is_led, "{said}");
        assert_eq!(front.ask("GET /", "").status, 200, "the address of carve up stays");
    }
}

#[test]
fn http_2_without_tls_reaches_the_app_and_the_route() {
    for file in ["app.mjs", "app.py"] {
        let (_app, _front, at) =
            front(file, "[front]\nlisten = [{ address = \"A\", http2 = true }]\n");
        for path in ["/", "/report"] {
            let url = format!("http://{}{path}", at[0]);
            let said = curl(&["--http2-prior-knowledge", &url]);
            assert!(said.starts_with("HTTP/2 200"), "{said}");
            let said = curl(&["--http2-prior-knowledge", "-d", "a=b", &url]);
            assert!(said.starts_with("HTTP/2 200") && said.contains("\n3 "), "{said}");
        }
    }
}

#[test]
fn grpc_of_the_app_streams_both_ways_with_its_trailers_also_at_the_path_of_a_route() {
    let client = format!("{}/tests/apps/grpc-client.mjs", env!("CARGO_MANIFEST_DIR"));
    let listen = "[front]\nlisten = [{ address = \"A\", http2 = true }]\n";
    for route in [
        "path = \"/report\"",
        "path = \"/chat.Chat/*\"\nmethods = [\"POST\"]",
        "path = \"/chat.Chat/*\"",
    ] {
        let (_app, front, at) = front_of("grpc.mjs", listen, route);
        for percent in [0, 50, 100] {
            front.share(percent);
            let output = Command::new("node").args([&client, &at[0].to_string()]).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(said, "200 127.0.0.1 first second 0\n", "{route} at {percent}%");
        }
    }
}

#[test]
fn a_route_changes_no_answer_whatever_the_method_the_share_and_the_version_of_http() {
    let requests: [&[&str]; 8] = [
        &["-X", "OPTIONS"],
        &["-I"],
        &[],
        &["-X", "GET", "-d", "body"],
        &["-d", "body", "-H", "Expect: 100-continue"],
        &["-X", "DELETE"],
        &["-X", "PROPFIND"],
        &["-X", "PUT", "-d", "body", "-H", "Transfer-Encoding: chunked"],
    ];
    let listen = "[front]\nlisten = [{ address = \"A\", http2 = true }]\n";
    // The status, and what the app says of the body that it got. The rest of an answer to GET are headers.
    let asked = |version: &str, address: SocketAddr, args: &[&str]| {
        let said = curl(&[&[version, &format!("http://{address}/report")], args].concat());
        let said = said.strip_prefix("HTTP/1.1 100 Continue\n\n").unwrap_or(&said);
        let status = said.split(' ').nth(1).unwrap_or_default().to_owned();
        let body = said.split_once("\n\n").map_or("", |(_, body)| body);
        let body = if body.contains("Host: ") || body.contains("host: ") { "" } else { body };
        (status, header(said, "x-body").to_owned(), body.to_owned())
    };
    for route in ["path = \"/report\"", "path = \"/report\"\nmethods = [\"any\"]"] {
        for file in ["app.mjs", "app.py"] {
            let (_app, front, at) = front_of(file, listen, route);
            let direct = front.setup.old.server().parse().unwrap();
            for percent in [0, 50, 100] {
                front.share(percent);
                for args in requests {
                    let expected = asked("--http1.1", direct, args);
                    for (version, address) in
                        [("--http1.1", front.addr), ("--http2-prior-knowledge", at[0])]
                    {
                        // HTTP/2 has no such header.
                        if version != "--http1.1" && args.contains(&"Transfer-Encoding: chunked") {
                            continue;
                        }
                        let said = asked(version, address, args);
                        assert_eq!(said, expected, "{route} {percent}% {file} {version} {args:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn headers_are_added_and_taken_away_of_routes_too() {
    let carve = "[headers.request]\nX-Tenant = \"a b\"\nX-Debug = \"\"\n\
                 Host = \"tenant.example\"\nx-forwarded-proto = \"https\"\nX_Real_IP = \"1\"\n\
                 [headers.response]\nStrict-Transport-Security = \"max-age=60\"\nX-Powered-By = \"\"\n";
    for file in ["app.mjs", "app.py"] {
        let (_app, front, _) = front(file, carve);
        for path in ["/", "/report"] {
            let answer = front.ask(&format!("GET {path}"), "X-Debug: 1\r\nX-Tenant: mine\r\n");
            let got = |name: &str| header(&answer.body, name);
            assert_eq!((got("x-tenant"), got("x-debug")), ("a b", ""), "{path}: {}", answer.body);
            let lines = answer.body.to_lowercase();
            for once in ["host: tenant.example", "x-forwarded-proto: https", "x_real_ip: 1"] {
                let name = once.split_once(' ').unwrap().0;
                let sent: Vec<_> = lines.lines().filter(|line| line.starts_with(name)).collect();
                assert_eq!(sent, [once], "{path}");
            }
            assert_eq!(answer.header("strict-transport-security"), "max-age=60");
            assert_eq!(answer.header("x-powered-by"), "");
        }
    }
}

/// An nginx with TLS for one name, which serves the app below a path.
fn behind_tls(app: SocketAddr, addr: SocketAddr, folder: &std::path::Path) -> Process {
    let conf = format!(
        "daemon off; pid nginx.pid; error_log stderr; events {{ }}\nhttp {{ access_log off;\n\
         client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;\n\
         server {{ listen {addr} ssl default_server; ssl_reject_handshake on; }}\n\
         server {{ listen {addr} ssl; server_name app.example; ssl_certificate cert.pem; ssl_certificate_key key.pem;\n\
         location = /base/moved {{ return 302 https://$host/base/there; }}\n\
         location /base/ {{ proxy_pass http://{app}/; proxy_set_header Host $host;\n\
         proxy_ignore_headers X-Accel-Redirect; }} }} }}\n"
    );
    std::fs::write(folder.join("tls.conf"), conf).unwrap();
    let mut nginx = Command::new("nginx");
    nginx.args(["-e", "stderr", "-p"]).arg(folder).arg("-c").arg(folder.join("tls.conf"));
    let process = Process::start(&mut nginx);
    assert!(eventually(|| TcpStream::connect(addr).is_ok()), "nginx with TLS starts");
    process
}

#[test]
fn a_side_behind_tls_and_below_a_path_is_asked_by_its_name_and_its_certificate_checked() {
    let free = service_kit::free_addresses(2).unwrap();
    let folder = tempfile::tempdir().unwrap().keep();
    certificate(&folder, "app.example");
    let _app = app("app.mjs", free[0]);
    let _tls = behind_tls(free[0], free[1], &folder);
    let url = format!("https://app.example:{}/base", free[1].port());
    for (authorities, status) in [("authorities = \"cert.pem\"", 200), ("", 502)] {
        let setup = Setup {
            carve: CarveFile::parse_in(&format!("[app]\n{authorities}\n"), &folder).unwrap(),
            routes: vec![Route::parse("report", "path = \"/report\"").unwrap()],
            old: url.parse().unwrap(),
            new: url.parse().unwrap(),
        };
        let addresses = [(format!("app.example:{}", free[1].port()), vec![free[1]])].into();
        let front = Front::start_at(setup, addresses);
        for percent in [0, 100] {
            front.share(percent);
            for path in ["/", "/report", "/a%2Fb?c=d"] {
                let answer = front.ask(&format!("GET {path}"), "");
                assert_eq!(answer.status, status, "{path}: {answer:?}");
            }
        }
        if status == 200 {
            let moved = front.ask("GET /moved", "");
            assert_eq!(moved.header("location"), "/there", "{moved:?}");
        }
    }
}
