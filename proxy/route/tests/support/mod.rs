//! A real nginx with the files of `proxy/`, before any app.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use route::render::{self, OF_THE_APP, SHARED, Upstreams};
use route::{CarveFile, Route, SideUrl};
use rustix::process::Signal;
pub(crate) use service_kit::testing::Process;
use service_kit::testing::holds_within;
use tempfile::TempDir;

/// Starts an app of `apps/` on an address.
pub(crate) fn app(file: &str, address: SocketAddr) -> Process {
    let program = if file.ends_with(".py") { "python3" } else { "node" };
    let mut command = Command::new(program);
    command.arg(format!("{}/tests/apps/{file}", env!("CARGO_MANIFEST_DIR")));
    let process = Process::start(command.arg(address.to_string()));
    assert!(eventually(|| TcpStream::connect(address).is_ok()), "{file} starts");
    process
}

/// The settings of a front.
pub(crate) struct Setup {
    pub(crate) carve: CarveFile,
    pub(crate) routes: Vec<Route>,
    pub(crate) old: SideUrl,
    pub(crate) new: SideUrl,
}

impl Setup {
    /// One route, `report`, and sides at these addresses.
    pub(crate) fn of(carve: CarveFile, route: &str, [old, new]: [SocketAddr; 2]) -> Self {
        let [old, new] = [old, new].map(|at| format!("http://{at}").parse().unwrap());
        Setup { carve, routes: vec![Route::parse("report", route).unwrap()], old, new }
    }
}

/// nginx on free ports, in a temporary folder.
pub(crate) struct Front {
    pub(crate) addr: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) setup: Setup,
    addresses: BTreeMap<String, Vec<SocketAddr>>,
    nginx: Option<Process>,
    folder: TempDir,
}

impl Front {
    /// Starts with 0% of each route on the new side.
    pub(crate) fn start(setup: Setup) -> Self {
        Front::start_at(setup, BTreeMap::new())
    }

    /// Like [`Front::start`], with the addresses of names.
    pub(crate) fn start_at(setup: Setup, addresses: BTreeMap<String, Vec<SocketAddr>>) -> Self {
        let [addr, admin] = [(); 2].map(|()| service_kit::free_address().unwrap());
        let readable = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(readable).tempdir().unwrap();
        for name in ["edge", "stop"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut front = Front { addr, admin, setup, addresses, nginx: None, folder };
        front.write();
        for route in &front.setup.routes {
            front.split(&route.name, 0, false);
        }
        let log = File::create(front.at("nginx.log")).unwrap();
        let mut command = Command::new("nginx");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin")).stderr(log);
        command.args(["-e", "stderr", "-p"]).arg(front.folder.path());
        front.nginx = Some(Process::start(command.arg("-c").arg(front.at("nginx.conf"))));
        let says = || fs::read_to_string(front.at("nginx.log")).unwrap();
        let listens = |at: SocketAddr| eventually(|| TcpStream::connect(at).is_ok());
        assert!(listens(front.addr) && listens(front.admin), "{}", says());
        // nginx listens before it handles signals, so a reload before this would end it.
        assert_eq!(ask(front.admin, "GET /livez", "", b"").status, 200);
        front
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes nginx' files again.
    pub(crate) fn write(&self) {
        let proxy = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for name in SHARED {
            fs::copy(proxy.join(name), self.at(name)).unwrap();
        }
        let conf = fs::read_to_string(proxy.join("nginx.conf")).unwrap();
        fs::write(
            self.at("nginx.conf"),
            conf.replace("worker_processes auto", "worker_processes 2"),
        )
        .unwrap();
        fs::write(self.at("listen.conf"), format!("listen {};", self.addr)).unwrap();
        fs::write(self.at("listen-admin.conf"), format!("listen {};", self.admin)).unwrap();
        for name in OF_THE_APP {
            fs::write(self.at(name), "").unwrap();
        }
        let nobody = "http://127.0.0.1:9".parse().unwrap();
        let Setup { carve, routes, old, new } = &self.setup;
        let upstreams = Upstreams {
            old: old.clone(),
            new: new.clone(),
            shadow: nobody,
            prometheus: "http://127.0.0.1:9".parse().unwrap(),
            resolved: Vec::new(),
            addresses: self.addresses.clone(),
        };
        for (name, text) in render::all(carve, routes, &upstreams) {
            fs::write(self.at(name), text).unwrap();
        }
    }

    /// Writes the files of a route that ramp writes.
    pub(crate) fn split(&self, route: &str, percent: u8, is_held: bool) {
        let name = route.replace('-', "_");
        let split = match percent {
            0 => format!("map \"\" ${name}_split {{ default old; }}\n"),
            100 => format!("map \"\" ${name}_split {{ default new; }}\n"),
            _ => format!("split_clients $request_id ${name}_split {{ {percent}% new; * old; }}\n"),
        };
        let is_ramped = u8::from(is_held || (1..100).contains(&percent));
        let text = format!(
            "map \"\" ${name}_state {{ default '{percent}'; }}\n{split}\
             map \"\" ${name}_sampled {{ default \"\"; }}\nmap \"\" ${name}_ramped {{ default {is_ramped}; }}\n\
             map \"\" ${name}_given {{ default {}; }}\nmap \"\" ${name}_key_hash {{ default \"\"; }}\n",
            u8::from(percent > 0 || is_held)
        );
        let folder = self.at("routes").join(route);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("split.conf"), text).unwrap();
    }

    pub(crate) fn reload(&self) {
        self.nginx.as_ref().unwrap().signal(Signal::HUP);
    }

    /// Reloads, and waits until the workers have this share of the route.
    pub(crate) fn reload_to(&self, route: &str, percent: u8) {
        self.reload();
        let state = || ask(self.admin, &format!("GET /split/{route}"), "", b"").body;
        let is_everywhere = || (0..4).all(|_| state().trim() == percent.to_string());
        assert!(eventually(is_everywhere), "{route}: {}", state());
    }

    /// Sends so many percent of the route `report` to the new side.
    pub(crate) fn share(&self, percent: u8) {
        self.split("report", percent, false);
        self.reload_to("report", percent);
    }

    pub(crate) fn ask(&self, line: &str, headers: &str) -> Answer {
        ask(self.addr, line, headers, b"")
    }
}

/// An answer as received.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// A header's value; empty if the header is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        header(&self.head, name)
    }
}

/// The value of a header among these lines, which an app may have echoed.
pub(crate) fn header<'a>(lines: &'a str, name: &str) -> &'a str {
    let mut headers = lines.lines().filter_map(|line| line.split_once(": "));
    headers.find(|(header, _)| header.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
}

/// Sends a request over a new connection, and reads the answer.
pub(crate) fn ask(addr: SocketAddr, line: &str, headers: &str, body: &[u8]) -> Answer {
    let mut stream = connect(addr);
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    let host = if headers.starts_with("Host: ") { "" } else { "Host: app.example\r\n" };
    let head = format!("{line} HTTP/1.1\r\n{host}Connection: close\r\n{length}{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // nginx does not read a body that it refuses.
    let _ = stream.write_all(body);
    read(stream)
}

pub(crate) fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Reads until the connection ends.
pub(crate) fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// A client's WebSocket.
pub(crate) struct WebSocket(BufReader<TcpStream>);

impl WebSocket {
    /// Opens a WebSocket. If the app does not accept it, the error is the head of the answer.
    pub(crate) fn open(addr: SocketAddr, path: &str) -> Result<Self, String> {
        let mut stream = connect(addr);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: app.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut socket = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if socket.read_line(&mut head).unwrap() == 0 {
                break;
            }
        }
        // The example of RFC 6455, section 1.3.
        let is_accepted = header(&head, "sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        if head.starts_with("HTTP/1.1 101") && is_accepted { Ok(Self(socket)) } else { Err(head) }
    }

    /// Sends a text, and returns the answer.
    pub(crate) fn echo(&mut self, text: &str) -> String {
        let mask = [1, 2, 3, 4];
        let mut frame = vec![0x81, 0x80 | text.len() as u8];
        frame.extend(mask);
        frame.extend(text.bytes().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
        self.0.get_mut().write_all(&frame).unwrap();
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let mut text = vec![0; usize::from(head[1])];
        self.0.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }
}

/// Tries until `holds`, for at most 20 s.
pub(crate) fn eventually(holds: impl FnMut() -> bool) -> bool {
    holds_within(Duration::from_secs(20), holds)
}
