//! `carve doctor` with a real app in Node: directly, and behind an nginx with the usual faults of proxies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

use service_kit::testing::{Process, eventually};

const APP: &str = r#"
const { createServer } = require("http");
const { createHash } = require("crypto");
const pages = {
  "/": (request, response) => response.setHeader("Set-Cookie", `id=${Math.random()}; Path=/`).end("hello"),
  "/random": (request, response) => response.setHeader("X-Time", `${Math.random()}`).end(`${Math.random()}`),
  "/moved": (request, response) => {
    const scheme = request.headers["x-forwarded-proto"] ?? "http";
    response.writeHead(302, { Location: `${scheme}://${request.headers.host}/` }).end();
  },
  "/events": (request, response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n"),
  "/upload": async (request, response) => {
    let size = 0;
    for await (const part of request) size += part.length;
    response.end(`${size}`);
  },
};
for (const port of process.argv.slice(1)) {
  const server = createServer({ maxHeaderSize: 32768 }, (request, response) =>
    (pages[request.url] ?? ((_, response) => response.writeHead(404).end()))(request, response));
  server.on("upgrade", (request, socket) => {
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on("error", () => {});
    // The only frame that arrives is a short masked ping.
    socket.on("data", (frame) => {
      const payload = frame.subarray(6).map((byte, at) => byte ^ frame[2 + (at % 4)]);
      if (frame[0] === 0x89) socket.write(Buffer.concat([Buffer.from([0x8a, payload.length]), payload]));
    });
  });
  server.listen(port, "127.0.0.1");
}
"#;

fn listens(address: SocketAddr) {
    eventually(&address.to_string(), || TcpStream::connect(address).is_ok());
}

/// An nginx as a hasty administrator configures it.
fn nginx(dir: &Path, listen: SocketAddr, app: SocketAddr) -> Process {
    let text = format!(
        "daemon off; master_process off; pid {0}/pid; error_log {0}/log;
        events {{}}
        http {{
            access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
            fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
            client_max_body_size 64k; large_client_header_buffers 4 4k; proxy_read_timeout 2s;
            server {{
                listen {listen};
                location / {{
                    proxy_pass http://{app}; proxy_http_version 1.1; proxy_set_header Host $http_host;
                    proxy_set_header X-Forwarded-Proto $scheme; proxy_hide_header Set-Cookie;
                }}
            }}
        }}",
        dir.display()
    );
    fs::write(dir.join("nginx.conf"), text).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(dir).arg("-c").arg(dir.join("nginx.conf")).args(["-e", "stderr"]);
    Process::start(&mut command)
}

fn doctor(app: &str, proxy: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_carve"))
        .args(["doctor", "--app", app, "--proxy", proxy, "--lasting", "4s"])
        .args(arguments)
        .output()
        .unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

#[test]
fn what_breaks_behind_a_proxy_is_named_and_what_works_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let free = service_kit::free_addresses(4).unwrap();
    let ports = [free[0].port(), free[1].port()].map(|port| port.to_string());
    let _app = Process::start(Command::new("node").args(["-e", APP]).args(&ports));
    let _nginx = nginx(dir.path(), free[2], free[0]);
    free[..3].iter().copied().for_each(listens);
    let url = |at: usize| format!("http://{}", free[at]);
    let ask = ["/", "/random", "/moved", "/nothing", "--websocket", "/live", "--stream", "/events"];
    let ask = [&ask[..], &["--upload", "/upload", "--size", "1m"]].concat();

    let (code, itself) = doctor(&url(0), &url(1), &ask);
    assert_eq!(code, Some(0), "{itself}");
    assert!(itself.ends_with("0 of 25 differ\n"), "{itself}");

    let (code, broken) = doctor(&url(0), &url(2), &ask);
    assert_eq!(code, Some(1), "{broken}");
    let after = |tried: &str| {
        let (_, rest) = broken.split_once(&format!("DIFFERS  {tried}\n")).expect(tried);
        rest.lines().next().unwrap_or_default().trim().to_owned()
    };
    assert_eq!(after("GET /"), "set-cookie is missing: the app sends id=...; Path=/");
    let answers =
        |app: &str, proxy: &str| format!("the app answers {app}, through the proxy it is {proxy}");
    assert_eq!(after("GET with a cookie of 9 kB /random"), answers("200", "400"));
    let moved = after("GET from a load balancer with TLS /moved");
    assert!(moved.starts_with("location: the app sends https://"), "{moved}");
    assert_eq!(after("POST /upload of 1m, with its length"), answers("200", "413"));
    assert_eq!(after("POST /upload of 1m, chunked"), answers("200", "413"));
    assert!(
        after("stream /events").starts_with("it lasts longer than 4 s, through the proxy it ends"),
        "{broken}"
    );
    let live = after("WebSocket /live");
    assert!(
        live.starts_with(
            "at the app it is open and answers, through the proxy it is not opened: 404"
        ),
        "{live}"
    );
    for same in ["GET /random", "HEAD /moved", "GET, compressed, /nothing"] {
        assert!(broken.contains(&format!("same     {same}\n")), "{same}: {broken}");
    }

    let (code, away) = doctor(&url(3), &url(2), &["/"]);
    assert!(code == Some(2) && away.contains("does not answer"), "{away}");
    let (code, usage) = doctor(&url(0), &url(2), &["login"]);
    assert!(code == Some(2) && usage.contains("\"login\": a path must begin with /"), "{usage}");
    let (code, header) = doctor(&url(0), &url(2), &["--header", "Cookie"]);
    assert!(code == Some(2) && header.contains("must be NAME: VALUE"), "{header}");
}
