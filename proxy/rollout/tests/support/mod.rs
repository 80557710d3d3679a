//! A real nginx with the files of `proxy/`, in front of two servers that answer with the name of their side.

pub(crate) mod api;
pub(crate) mod gateway;
pub(crate) mod homes;
pub(crate) mod prometheus;

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rollout::{Nginx, Route, Share, Split, SplitChange};
use route::render::{OF_THE_APP, SHARED, Upstreams};
use service_kit::testing::holds_within;
pub(crate) use service_kit::testing::{Process, built};
use tempfile::TempDir;

/// The addresses of a test, on free ports.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) proxy: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) new: SocketAddr,
    pub(crate) old: SocketAddr,
    pub(crate) shadow: SocketAddr,
    pub(crate) prometheus: SocketAddr,
}

impl Addresses {
    fn free() -> Self {
        // None of them is a default address, so `write_configuration` cannot replace an address twice.
        let mut free = service_kit::free_addresses(6).unwrap().into_iter();
        let mut next = || free.next().unwrap();
        Addresses {
            proxy: next(),
            admin: next(),
            new: next(),
            old: next(),
            shadow: next(),
            prometheus: next(),
        }
    }
}

/// nginx and its backends on free ports, in a temporary folder.
pub(crate) struct Place {
    pub(crate) at: Addresses,
    nginx: Option<Process>,
    _backends: Process,
    folder: TempDir,
}

impl Place {
    /// Starts with one route, with 0% on the new side.
    pub(crate) fn new() -> Self {
        Place::with(&routes()[..1])
    }

    /// Starts with these routes, with 0% on the new side.
    pub(crate) fn with(routes: &[Route]) -> Self {
        Place::within(&std::env::temp_dir(), routes)
    }

    /// As [`Place::new`], with more lines in the route's file.
    pub(crate) fn with_lines(lines: &str) -> Self {
        Place::with(&[route_with(lines)])
    }

    /// As [`Place::with`], in a temporary folder below `parent`.
    pub(crate) fn within(parent: &Path, routes: &[Route]) -> Self {
        let readable = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(readable).tempdir_in(parent).unwrap();
        let at = Addresses::free();
        write_configuration(&folder.path().join("nginx"), &at, routes);
        let backends = start_backends(folder.path(), &at);
        let mut place = Place { at, nginx: None, _backends: backends, folder };
        place.start_nginx();
        place
    }

    pub(crate) fn start_nginx(&mut self) {
        let dir = self.nginx().dir;
        self.nginx = Some(start_nginx(&dir, "nginx.conf"));
        let nginx = self.nginx();
        assert!(eventually(|| nginx.served().is_ok()), "nginx starts");
    }

    pub(crate) fn stop_nginx(&mut self) {
        self.nginx = None;
    }

    pub(crate) fn nginx(&self) -> Nginx {
        self.nginx_of("qrcode")
    }

    pub(crate) fn nginx_of(&self, route: &str) -> Nginx {
        let dir = self.folder.path().join("nginx");
        Nginx::here(dir, route.to_owned(), self.at.admin)
    }

    /// A file outside nginx' folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file in nginx' folder, or the route's file of this name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let of_nginx = self.nginx().dir.join(name);
        if of_nginx.is_file() { of_nginx } else { self.nginx().route_dir().join(name) }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub(crate) fn served(&self) -> Split {
        self.nginx().served().unwrap()
    }

    /// The share. Panics if the file and nginx do not agree on it.
    pub(crate) fn share(&self) -> String {
        self.share_of("qrcode")
    }

    pub(crate) fn share_of(&self, route: &str) -> String {
        let nginx = self.nginx_of(route);
        let split = rollout::current(&nginx.route_dir()).unwrap();
        assert_eq!(split, nginx.served().unwrap(), "split.conf and /split");
        split.share_percent.to_string()
    }

    /// The program, with the settings of this place.
    pub(crate) fn ramp(&self, args: &[&str]) -> Command {
        let mut command = Command::new(built("carve"));
        command
            .args(args)
            .env("RAMP_NGINX_DIR", self.nginx().dir)
            .env("RAMP_PROXY_ADMIN_ADDR", self.at.admin.to_string())
            .env("RAMP_PROMETHEUS_URL", format!("http://{}", self.at.prometheus))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.ramp(args).output().unwrap()
    }

    /// Starts the program, whose output nobody reads.
    pub(crate) fn start(&self, args: &[&str]) -> Process {
        Process(self.ramp(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Runs the program and returns its stdout; panics if it fails.
    pub(crate) fn succeeds(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs the program and returns its stderr; panics if it ends with another code.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        stderr(&output)
    }

    /// Runs the command with an `nginx -t` that takes a second, so that a test can act in the middle of a change.
    pub(crate) fn with_slow_nginx(&self, command: &mut Command) -> Process {
        let bin = self.folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let path = std::env::var("PATH").unwrap();
        let script =
            format!("#!/bin/sh\ntouch \"$0.asked\"\nsleep 1\nPATH='{path}' exec nginx \"$@\"\n");
        fs::write(bin.join("nginx"), script).unwrap();
        fs::set_permissions(bin.join("nginx"), Permissions::from_mode(0o755)).unwrap();
        let asked = bin.join("nginx.asked");
        let _ = fs::remove_file(&asked);
        command.env("PATH", format!("{}:{path}", bin.display()));
        let process =
            Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(eventually(|| asked.exists()), "nginx -t is asked");
        process
    }

    /// The status and body of a GET through the proxy.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let url = format!("http://{}{path}", self.at.proxy);
        rollout::http::get(&url, Duration::from_secs(10)).unwrap()
    }

    /// Whether nginx sends all requests of the route to the old side.
    pub(crate) fn is_stopped(&self) -> bool {
        let url = format!("http://{}/stop/qrcode", self.at.admin);
        rollout::http::get(&url, Duration::from_secs(1)).is_ok_and(|(_, body)| body == "stopped\n")
    }

    /// How many of 100 keys the new side answers.
    pub(crate) fn new_answers(&self) -> usize {
        let keys: Vec<String> = (0..100).map(|key| key.to_string()).collect();
        self.served_by_new(&keys).into_iter().filter(|new| *new).count()
    }

    /// Whether the new side answers, for each key. The requests are pipelined.
    pub(crate) fn served_by_new(&self, keys: &[String]) -> Vec<bool> {
        self.served_by_new_at("/qrcode?text=", keys)
    }

    /// Whether the new side answers, for each key, which is appended to `start`, the beginning of a path and query.
    pub(crate) fn served_by_new_at(&self, start: &str, keys: &[String]) -> Vec<bool> {
        let proxy = self.at.proxy;
        thread::scope(|scope| {
            let parts: Vec<_> = keys
                .chunks(keys.len().div_ceil(2).max(1))
                .map(|keys| scope.spawn(move || ask_all(proxy, start, keys)))
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        })
    }
}

/// The two routes of these tests.
pub(crate) fn routes() -> Vec<Route> {
    let qrcode = include_str!("../../../routes/qrcode.toml");
    let report = "path = \"/report/*\"\nkey = \"query\"\n[shadow]\npercent = 0\n";
    vec![Route::parse("qrcode", qrcode).unwrap(), Route::parse("report", report).unwrap()]
}

/// The first route, with more lines in its file.
pub(crate) fn route_with(lines: &str) -> Route {
    Route::parse("qrcode", &format!("{}\n{lines}", routes()[0].text)).unwrap()
}

/// Writes the files of `proxy/` with this test's addresses.
fn write_configuration(dir: &Path, at: &Addresses, routes: &[Route]) {
    fs::create_dir_all(dir.join("edge")).unwrap();
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let addresses =
        [("127.0.0.1:8080;", format!("{};", at.proxy)), ("127.0.0.1:8081", at.admin.to_string())];
    let files = ["nginx.conf", "listen.conf", "listen-admin.conf"];
    for file in files.into_iter().chain(SHARED).chain(OF_THE_APP) {
        let mut text = fs::read_to_string(source.join(file)).unwrap();
        for (default, address) in &addresses {
            text = text.replace(default, address);
        }
        fs::write(dir.join(file), text).unwrap();
    }
    let url = |address: SocketAddr| format!("http://{address}");
    let upstreams = Upstreams {
        old: url(at.old).parse().unwrap(),
        new: url(at.new).parse().unwrap(),
        shadow: url(at.shadow).parse().unwrap(),
        prometheus: url(at.prometheus).parse().unwrap(),
        resolved: Vec::new(),
        addresses: Default::default(),
    };
    let carve = route::CarveFile::of(&source.join("routes")).unwrap();
    for (name, text) in route::render::all(&carve, routes, &upstreams) {
        fs::write(dir.join(name), text).unwrap();
    }
    rollout::prepare(dir, routes, &SplitChange::share(Share::NONE)).unwrap();
    rollout::prepare_stops(dir, None).unwrap();
}

/// Starts nginx as the image does (`proxy/start.sh`): nginx' master has another child besides its workers.
fn start_nginx(dir: &Path, conf: &str) -> Process {
    const BESIDE: &str = r#"(while kill -0 $$ 2>/dev/null; do sleep 1; done) & exec nginx "$@""#;
    let log = File::create(dir.join(format!("{conf}.log"))).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--", "sh", "-c", BESIDE, "sh", "-e", "stderr", "-p"]);
    command.arg(dir).arg("-c").arg(dir.join(conf));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Process(command.spawn().unwrap())
}

/// Starts both sides. Each answers with its name. The new side answers with the status in `&status=`; the old side
/// answers `fallback` to a fallback.
fn start_backends(folder: &Path, at: &Addresses) -> Process {
    let dir = folder.join("backends");
    fs::create_dir(&dir).unwrap();
    let statuses = [400, 404, 500, 502, 503, 504]
        .map(|status| format!("if ($arg_status = {status}) {{ return {status} new; }}"));
    let server = |address: SocketAddr, name: &str, before: &str| {
        format!("server {{ listen {address}; location / {{ {before} return 200 {name}; }} }}\n")
    };
    let conf = format!(
        "daemon off; pid backends.pid; error_log stderr; worker_rlimit_nofile 4096;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; keepalive_requests 1000000;\n{}{}}}\n",
        server(at.new, "new", &statuses.join("\n")),
        server(at.old, "old", "if ($http_x_route_fallback = 1) { return 200 fallback; }")
    );
    fs::write(dir.join("backends.conf"), conf).unwrap();
    let process = start_nginx(&dir, "backends.conf");
    assert!(eventually(|| TcpStream::connect(at.old).is_ok()), "the backends start");
    process
}

/// The number of requests in flight on a connection, few enough for the buffers.
const BATCH: usize = 100;

fn ask_all(proxy: SocketAddr, start: &str, keys: &[String]) -> Vec<bool> {
    let mut answers = Vec::with_capacity(keys.len());
    while answers.len() < keys.len() {
        let mut stream = TcpStream::connect(proxy).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let before = answers.len();
        // nginx closes a connection after 10,000 requests, and after a reload at any request.
        while answers.len() < keys.len() && ask_batch(&mut stream, start, keys, &mut answers) {}
        assert!(answers.len() > before, "closed without an answer");
    }
    answers
}

/// Asks for the next keys. Returns false once the connection is closed; the unanswered keys are then asked again.
fn ask_batch(
    stream: &mut TcpStream,
    start: &str,
    keys: &[String],
    answers: &mut Vec<bool>,
) -> bool {
    const HEAD_END: &str = "\r\n\r\n";
    let end = keys.len().min(answers.len() + BATCH);
    let request = |key: &String| format!("GET {start}{key} HTTP/1.1\r\nHost: a\r\n\r\n");
    let requests: String = keys[answers.len()..end].iter().map(request).collect();
    if stream.write_all(requests.as_bytes()).is_err() {
        return false;
    }
    let mut text = String::new();
    let mut buffer = [0; 64 * 1024];
    while answers.len() < end {
        let length = stream.read(&mut buffer).unwrap_or(0);
        if length == 0 {
            return false;
        }
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        while let Some(head) = text.find(HEAD_END) {
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            let body = &text[head + HEAD_END.len()..];
            let Some(name) = ["new", "old"].into_iter().find(|name| body.starts_with(name)) else {
                break;
            };
            answers.push(name == "new");
            text.drain(..head + HEAD_END.len() + name.len());
        }
    }
    assert_eq!(text, "", "nothing is left");
    true
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Tries until `holds`, for at most 20 s.
pub(crate) fn eventually(holds: impl FnMut() -> bool) -> bool {
    holds_within(Duration::from_secs(20), holds)
}

/// Waits until `status` shows the text.
pub(crate) fn says(place: &Place, what: &str) {
    let said = || place.succeeds(&["status"]);
    assert!(eventually(|| said().contains(what)), "{what}: {}", said());
}

/// The built-in gates, with an overlap and proofs that fit steps of seconds.
pub(crate) fn gates(place: &Place) -> PathBuf {
    let own =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/gates.toml")).unwrap();
    let file = place.beside("gates.toml");
    let short = own
        .replace("overlap = \"10s\"", "overlap = \"500ms\"")
        .replace("block = \"5s\"", "block = \"50ms\"")
        .replace("\nproof = 0.005\n", "\nproof = 0.05\n")
        .replace("\nproof = 0.02\n", "\nproof = 0.2\n");
    assert_ne!(own, short);
    fs::write(&file, short).unwrap();
    file
}
