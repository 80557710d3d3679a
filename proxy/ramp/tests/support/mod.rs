//! A real nginx from `proxy/`, in front of two servers that only say who they are.

#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub(crate) mod prometheus;

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ramp::{Nginx, Share, Split};
use rustix::process::{Pid, Signal, kill_process};
use stack::{Addresses, Settings};
use tempfile::TempDir;

/// A process that ends with this value.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.0.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Its exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            // Not killed: nginx' workers would stay.
            self.signal(Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

/// nginx and its backends, on free ports, in a folder of their own.
pub(crate) struct Place {
    pub(crate) settings: Settings,
    nginx: Option<Process>,
    _backends: Process,
    folder: TempDir,
}

impl Place {
    /// With nothing on Rust, and nothing mirrored.
    pub(crate) fn new() -> Self {
        let readable = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(readable).tempdir().unwrap();
        let settings = Settings {
            root: stack::settings::repository().to_owned(),
            run_dir: folder.path().to_owned(),
            addresses: Addresses::free().unwrap(),
            split: Some(Share::NONE),
            split_key: None,
            mirror: None,
            engine: None,
            old_workers: 1,
            qr_service: PathBuf::new(),
            shadow: PathBuf::new(),
        };
        stack::render::render(&settings).unwrap();
        let backends = start_backends(&settings);
        let mut place = Place { settings, nginx: None, _backends: backends, folder };
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
        self.settings.nginx()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.nginx().dir.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub(crate) fn served(&self) -> Split {
        self.nginx().served().unwrap()
    }

    /// The share, where the file and nginx agree on it.
    pub(crate) fn share(&self) -> String {
        let split = ramp::current(&self.nginx().dir).unwrap();
        assert_eq!(split, self.served(), "the file and what is served");
        split.share_percent.to_string()
    }

    /// The program, told where everything is.
    pub(crate) fn ramp(&self, args: &[&str]) -> Command {
        let at = &self.settings.addresses;
        let mut command = Command::new(env!("CARGO_BIN_EXE_ramp"));
        command
            .args(args)
            .env("RAMP_NGINX_DIR", self.nginx().dir)
            .env("RAMP_PROXY_ADMIN_ADDR", at.proxy_admin.to_string())
            .env("RAMP_PROMETHEUS_URL", format!("http://{}", at.prometheus))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.ramp(args).output().unwrap()
    }

    /// Its stdout; panics where it fails.
    pub(crate) fn succeeds(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Its stderr; panics where it ends with another code.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        stderr(&output)
    }

    /// As if `nginx -t` took some time: what is under way can be looked at.
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

    /// Status and body of a GET through the proxy.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let url = format!("http://{}{path}", self.settings.addresses.proxy);
        ramp::http::get(&url, Duration::from_secs(10)).unwrap()
    }

    /// For each key whether the Rust side answered; over kept connections, many requests at a time.
    pub(crate) fn served_by_new(&self, keys: &[String]) -> Vec<bool> {
        let proxy = self.settings.addresses.proxy;
        thread::scope(|scope| {
            let parts: Vec<_> = keys
                .chunks(keys.len().div_ceil(2).max(1))
                .map(|keys| scope.spawn(move || ask_all(proxy, keys)))
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        })
    }
}

fn start_nginx(dir: &std::path::Path, conf: &str) -> Process {
    let log = File::create(dir.join(format!("{conf}.log"))).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--", "nginx", "-e", "stderr", "-p"]).arg(dir);
    command.arg("-c").arg(dir.join(conf)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Process(command.spawn().unwrap())
}

/// Each answers with who it is: Rust's with the status that `&status=` asks for, the legacy app's
/// with whether it is the fallback.
fn start_backends(settings: &Settings) -> Process {
    let dir = settings.run_dir.join("backends");
    fs::create_dir_all(&dir).unwrap();
    let statuses = [400, 404, 500, 502, 503, 504]
        .map(|status| format!("if ($arg_status = {status}) {{ return {status} new; }}"));
    let server = |address: SocketAddr, name: &str, before: &str| {
        format!("server {{ listen {address}; location / {{ {before} return 200 {name}; }} }}\n")
    };
    let at = &settings.addresses;
    let conf = format!(
        "daemon off; pid backends.pid; error_log stderr; worker_rlimit_nofile 4096;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; keepalive_requests 1000000;\n{}{}}}\n",
        server(at.new, "new", &statuses.join("\n")),
        server(at.old, "old", "if ($http_x_route_fallback = 1) { return 200 fallback; }")
    );
    fs::write(dir.join("backends.conf"), conf).unwrap();
    let process = start_nginx(&dir, "backends.conf");
    assert!(eventually(|| TcpStream::connect(at.old).is_ok()), "backends start");
    process
}

/// Requests in flight on a connection; small enough for the buffers between.
const BATCH: usize = 100;
/// nginx closes a connection after 10,000.
const A_CONNECTION: usize = 9000;

fn ask_all(proxy: SocketAddr, keys: &[String]) -> Vec<bool> {
    let mut answers = Vec::with_capacity(keys.len());
    for keys in keys.chunks(A_CONNECTION) {
        let mut stream = TcpStream::connect(proxy).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        for keys in keys.chunks(BATCH) {
            let request =
                |key: &String| format!("GET /qrcode?text={key} HTTP/1.1\r\nHost: a\r\n\r\n");
            stream.write_all(keys.iter().map(request).collect::<String>().as_bytes()).unwrap();
            answers.extend(read_answers(&mut stream, keys.len()));
        }
    }
    answers
}

/// Who answered, of the next answers on the connection.
fn read_answers(stream: &mut TcpStream, count: usize) -> Vec<bool> {
    const HEAD_END: &str = "\r\n\r\n";
    let mut text = String::new();
    let mut answers = Vec::new();
    let mut buffer = [0; 64 * 1024];
    while answers.len() < count {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "closed after {} of {count}", answers.len());
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        while let Some(end) = text.find(HEAD_END) {
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            let body = &text[end + HEAD_END.len()..];
            let Some(name) = ["new", "old"].into_iter().find(|name| body.starts_with(name)) else {
                break;
            };
            answers.push(name == "new");
            text.drain(..end + HEAD_END.len() + name.len());
        }
    }
    assert_eq!(text, "", "nothing is left");
    answers
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Looks again until `holds`, for 20 s.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}
