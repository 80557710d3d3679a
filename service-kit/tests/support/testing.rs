//! Starts a service as a process and sends HTTP requests to it over real sockets.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Returns the path of a program of the same build. Panics if it has not been built.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let file = test.parent().and_then(Path::parent).unwrap().join(name);
    assert!(file.is_file(), "{}: cargo build --workspace --all-targets first", file.display());
    file
}

/// The repository that this program was built in.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A program whose public and admin listeners get free ports. `prefix` begins the names of its variables, and it gets
/// no others.
pub fn on_free_ports(program: &str, prefix: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.envs(["ADDR", "ADMIN_ADDR"].map(|name| (format!("{prefix}{name}"), "127.0.0.1:0")));
    command
}

/// A line of a process's status in bytes, such as `RssAnon:`, memory that is not mapped from a file.
pub fn status_bytes(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// A running service; killed when dropped.
pub struct Service {
    /// The process.
    pub child: Child,
    /// Its first public TCP address, or `admin_addr` if it has none.
    pub addr: SocketAddr,
    /// The address that serves health and metrics.
    pub admin_addr: SocketAddr,
    log: BufReader<ChildStdout>,
}

impl Service {
    /// Starts it and waits until it logs that it listens.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stdout.take().unwrap());
        let listening: Value = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "ended before it listened");
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["msg"] == "listening" {
                break line;
            }
        };
        let addr =
            |name: &str| listening[name].as_str()?.split(',').find_map(|addr| addr.parse().ok());
        let admin_addr = addr("admin_addr").unwrap();
        Service { addr: addr("addr").unwrap_or(admin_addr), admin_addr, child, log }
    }

    /// A new connection to it.
    pub fn connect(&self) -> TcpStream {
        connect(self.addr)
    }

    /// Sends it a signal; `name` is without SIG.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
        if name == "STOP" {
            // The threads stop only once one of them is scheduled and takes the signal.
            eventually("it has stopped", || has_stopped(self.child.id()));
        }
    }

    /// Waits until it ends; returns the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// The log from the last line read to the end of the process.
    pub fn rest_of_log(&mut self) -> String {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects, with a read timeout.
pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends `request` and reads until the server closes.
pub fn exchange(addr: SocketAddr, request: &str) -> String {
    let mut stream = connect(addr);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The server may reset the connection after the answer.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends GET on a new connection; returns head and body.
pub fn get(addr: SocketAddr, path: &str) -> String {
    exchange(addr, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
}

/// Reads one answer from a connection that stays open; returns its status.
pub fn read_status(stream: &mut impl BufRead, is_head: bool) -> u16 {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "closed after {head:?}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = if is_head { 0 } else { length.map_or(0, |length| length.parse().unwrap()) };
    stream.read_exact(&mut vec![0; length]).unwrap();
    head[9..12].parse().unwrap()
}

/// Checks that `--help` explains every setting of a program, and that each variable is `prefix` and the flag in
/// capitals.
pub fn help_explains_settings(program: &clap::Command, prefix: &str) {
    let with_variable = program.get_arguments().filter(|argument| argument.get_env().is_some());
    let settings: Vec<_> = with_variable.collect();
    assert!(!settings.is_empty(), "{} has no settings", program.get_name());
    for setting in settings {
        let flag = setting.get_long().unwrap();
        let variable = setting.get_env().unwrap().to_str().unwrap();
        let of_flag = flag.to_ascii_uppercase().replace('-', "_");
        assert_eq!(variable, format!("{prefix}{of_flag}"));
        assert!(setting.get_help().is_some(), "--{flag} is not explained");
    }
}

/// Polls `holds`; panics with `what` if it stays false for too long.
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_within(Duration::from_secs(20), holds), "never: {what}");
}

/// Polls `holds`; says whether it became true in time.
pub fn holds_within(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A process that gets SIGTERM when this value is dropped: SIGKILL would leave nginx' workers behind.
pub struct Process(pub Child);

impl Process {
    /// Starts it without input.
    pub fn start(command: &mut Command) -> Self {
        Process(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Its exit code.
    pub fn wait(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.signal(Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

/// Writes `cert.pem` for this name, and its `key.pem`.
pub fn certificate(folder: &Path, name: &str) {
    let mut openssl = Command::new("openssl");
    openssl.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(' '));
    openssl.args(["-keyout", "key.pem", "-out", "cert.pem", "-subj", &format!("/CN={name}")]);
    openssl.args(["-addext", &format!("subjectAltName=DNS:{name}")]);
    assert!(openssl.current_dir(folder).output().unwrap().status.success());
}

/// Runs `work`. Returns its result and how long it took, less the time by which a second thread woke too late: a time
/// limit tests the program, not a busy machine.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    const TICK: Duration = Duration::from_millis(5);
    let (ends, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let late = scope.spawn(move || {
            let mut late = Duration::ZERO;
            loop {
                let due = Instant::now() + TICK;
                if ended.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                    return late;
                }
                late += due.elapsed();
            }
        });
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        drop(ends);
        (result, took.saturating_sub(late.join().unwrap()))
    })
}

/// Whether every thread of a process has taken SIGSTOP.
pub fn has_stopped(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut stats = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")));
    // A thread that has ended meanwhile has none.
    stats.all(|stat| stat.map_or(true, |stat| stat.contains(") T ")))
}
