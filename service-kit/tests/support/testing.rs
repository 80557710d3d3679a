//! Starts a service as a process and sends HTTP requests to it over real sockets.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
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

/// Reads a head with the empty line that ends it.
pub fn read_head(stream: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, format!("after {head:?}")));
        }
    }
    Ok(head)
}

/// A header's value in a head; empty if the header is missing.
pub fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let found = headers.find(|(header, _)| header.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.trim())
}

/// Reads one answer from a connection that stays open; returns its status, head and body.
pub fn read_answer(stream: &mut impl BufRead, is_head: bool) -> (u16, String, Vec<u8>) {
    let head = read_head(stream).unwrap();
    let length = if is_head { 0 } else { header(&head, "content-length").parse().unwrap_or(0) };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head[9..12].parse().unwrap(), head, body)
}

/// Reads one answer from a connection that stays open; returns its status.
pub fn read_status(stream: &mut impl BufRead, is_head: bool) -> u16 {
    read_answer(stream, is_head).0
}

/// A request that [`serve`] has received, and its connection.
pub struct Asked {
    /// Counts the connection's requests from 0.
    pub number: usize,
    /// The lines before the body.
    pub head: String,
    /// The body comes from here, and the answer goes to the stream inside.
    pub stream: BufReader<TcpStream>,
}

impl Asked {
    /// The path and query.
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// A header's value; empty if the header is missing.
    pub fn header(&self, name: &str) -> &str {
        header(&self.head, name)
    }

    /// Reads the body, whose length the head says.
    pub fn body(&mut self) -> io::Result<Vec<u8>> {
        let mut body = vec![0; self.header("content-length").parse().unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    /// Answers with these bytes.
    pub fn answer(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes.as_ref())
    }
}

/// The error with which `answer` of [`serve`] closes the connection.
pub const CLOSE: ErrorKind = ErrorKind::ConnectionAborted;

/// Serves HTTP/1 on a free port until the process ends. `answer` gets each request, after which the connection stays
/// open unless it returns an error.
pub fn serve(answer: impl Fn(&mut Asked) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    serve_on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
}

/// Does so at the listener's address.
pub fn serve_on(
    listener: TcpListener,
    answer: impl Fn(&mut Asked) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let (addr, answer) = (listener.local_addr().unwrap(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || answer_all(stream, &*answer));
        }
    });
    addr
}

fn answer_all(stream: TcpStream, answer: &dyn Fn(&mut Asked) -> io::Result<()>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut asked = Asked { number: 0, head: String::new(), stream: BufReader::new(stream) };
    loop {
        asked.head = read_head(&mut asked.stream)?;
        answer(&mut asked)?;
        asked.number += 1;
    }
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

/// Panics unless a text has all of these parts.
#[track_caller]
pub fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in {text}");
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
        thread::sleep(Duration::from_millis(10));
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
    thread::scope(|scope| {
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
