//! `carve doctor` with a real app in Node: directly, behind an nginx with the usual faults of proxies, and behind the
//! stack of `carve up`.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use service_kit::testing::{Process, certificate, eventually, has_all, repository};

use crate::support::{Site, said};

const APP: &str = r#"
const { createServer } = require("http");
const { createHash } = require("crypto");
const pages = {
  "/": (request, response) => response.setHeader("Set-Cookie", `id=${Math.random()}; Path=/`).end("hello"),
  "/random": (request, response) => response.setHeader("X-Time", `${Math.random()}`).end(`${Math.random()}`),
  "/moved": (request, response) => {
    const scheme = request.headers["x-forwarded-proto"] ?? "http";
    response.writeHead(302, { Location: `${scheme}://${request.headers.host}${request.prefix}/` }).end();
  },
  "/secure": (request, response) => {
    const location = `https://${request.headers.host}${request.prefix}/secure`;
    if (request.headers["x-forwarded-proto"] !== "https") return response.writeHead(301, { Location: location }).end();
    response.setHeader("X-App", "1").setHeader("Set-Cookie", `id=1; Path=${request.prefix}/`).end("secure");
  },
  "/events": (request, response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n"),
  "/upload": async (request, response) => {
    let size = 0;
    for await (const part of request) size += part.length;
    response.end(`${size}`);
  },
};
for (const port of process.argv.slice(1)) {
  const server = createServer({ maxHeaderSize: 32768 }, (request, response) => {
    request.prefix = request.url.match(/^\/below(?=\/)/)?.[0] ?? "";
    const page = pages[request.url.slice(request.prefix.length)];
    (page ?? ((_, response) => response.writeHead(404).end()))(request, response);
  });
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_carve"));
    command.args(["doctor", "--app", app, "--proxy", proxy, "--lasting", "4s"]).args(arguments);
    let output = command.output().unwrap();
    (output.status.code(), said(&output))
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
    assert!(broken.contains("name it in trusted_proxies of carve.toml"), "{broken}");
    assert_eq!(after("POST /upload of 1m, with its length"), answers("200", "413"));
    assert_eq!(after("POST /upload of 1m, chunked"), answers("200", "413"));
    let lasts = "it lasts longer than 4 s, through the proxy it ends";
    assert!(after("stream /events").starts_with(lasts), "{broken}");
    let open = "at the app it is open and answers, through the proxy it is not opened: 404";
    assert!(after("WebSocket /live").starts_with(open), "{broken}");
    let same = ["GET /random", "HEAD /moved", "GET, compressed, /nothing"];
    let same = same.map(|it| format!("same     {it}\n"));
    has_all(&broken, &same.each_ref().map(String::as_str));

    let (code, away) = doctor(&url(3), &url(2), &["/"]);
    assert!(code == Some(2) && away.contains("does not answer"), "{away}");
    let (code, usage) = doctor(&url(0), &url(2), &["login"]);
    assert!(code == Some(2) && usage.contains("\"login\": a path must begin with /"), "{usage}");
    let (code, header) = doctor(&url(0), &url(2), &["--header", "Cookie"]);
    assert!(code == Some(2) && header.contains("must be NAME: VALUE"), "{header}");
}

#[test]
fn what_the_stacks_own_settings_explain_is_no_difference() {
    let site = Site::new();
    let routes = site.path("routes");
    let run = |args: &[&str]| {
        let output = site.run(args);
        (output.status.code(), said(&output))
    };
    let free = service_kit::free_addresses(2).unwrap();
    let [app, tls] = [free[0], free[1]].map(|address| address.port());
    let carve = |trusted: &str| {
        let text = format!(
            "[front]\ntls = {{ certificate = \"cert.pem\", key = \"key.pem\" }}\n\
             listen = [{{ address = \"127.0.0.1:{tls}\", tls = true }}]\ntrusted_proxies = [{trusted}]\n\
             [headers.response]\nStrict-Transport-Security = \"max-age=300\"\nX-App = \"\"\n"
        );
        site.write("routes/carve.toml", &text);
    };
    carve("");
    site.write("routes/report.toml", "path = \"/report\"\n");
    // The certificate of the guide.
    let guide = fs::read_to_string(repository().join("docs/your-own-route.md")).unwrap();
    let made = &guide[guide.find("openssl req").unwrap()..];
    let made = made[..made.find("cat >").unwrap()]
        .replace("/tmp/report-routes", &routes.display().to_string());
    assert!(Command::new("sh").args(["-c", &made]).status().unwrap().success());

    let _app = Process::start(Command::new("node").args(["-e", APP, &app.to_string()]));
    listens(free[0]);
    let old = format!("http://127.0.0.1:{app}/below");
    let mut up = site.carve(&["up", "--foreground", routes.to_str().unwrap(), "--old", &old]);
    let _up = Process::start(up.args(["--new", &old]).stdout(Stdio::null()));
    eventually("the stack", || run(&["status"]).0 == Some(0));

    let pages = ["/", "/moved", "/secure", "/nothing", "--websocket", "/live", "--lasting", "2s"];
    let pages = [&["doctor"], &pages[..]].concat();
    let (code, plain) = run(&pages);
    assert_eq!(code, Some(0), "{plain}");
    let balanced =
        "GET from a load balancer with TLS /secure\n           the proxy does not believe";
    assert!(plain.contains(&format!("note     {balanced}")), "{plain}");
    assert!(plain.contains("same     WebSocket /live\n"), "{plain}");

    let certificate_file = routes.join("cert.pem").display().to_string();
    let url = format!("https://localhost:{tls}");
    let curl = ["-sS", "--cacert", &certificate_file, &url];
    let curl = Command::new("curl").args(curl).output().unwrap();
    assert_eq!(curl.stdout, b"hello", "{curl:?}");
    for url in [url.as_str(), &format!("https://127.0.0.1:{tls}")] {
        let (code, secure) =
            run(&[&pages, &["--proxy", url, "--ca", &certificate_file][..]].concat());
        assert_eq!(code, Some(0), "{secure}");
        assert!(!secure.contains("note "), "{secure}");
    }

    carve("\"10.0.0.0/8\"");
    certificate(&routes, "localhost");
    assert_eq!(run(&["apply"]).0, Some(0));
    let (code, balancer) = run(&pages);
    assert_eq!(code, Some(1), "{balancer}");
    let differs = "DIFFERS  GET from a load balancer with TLS /secure\n";
    has_all(&balancer, &[differs, "trusted_proxies of carve.toml", "\n1 of 21"]);
    let (code, refused) = run(&["doctor", "--proxy", &url, "--ca", &certificate_file]);
    assert_eq!(code, Some(1), "{refused}");
    assert!(refused.contains("the server's certificate is one of an authority"), "{refused}");
}
