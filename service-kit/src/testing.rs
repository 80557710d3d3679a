//! A service as a process, over real sockets: for tests, which fail by panicking.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A running service; killed when dropped.
pub struct Service {
    /// Its process.
    pub child: Child,
    /// Where it listens, by its own word.
    pub addr: SocketAddr,
    /// Where its health and metrics are.
    pub admin_addr: SocketAddr,
    log: BufReader<ChildStdout>,
}

impl Service {
    /// Starts it, and waits until it says that it listens.
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
        let addr = |name: &str| listening[name].as_str().unwrap().parse().unwrap();
        Service { addr: addr("addr"), admin_addr: addr("admin_addr"), child, log }
    }

    /// A new connection to it.
    pub fn connect(&self) -> TcpStream {
        connect(self.addr)
    }

    /// Sends it a signal, by its name without SIG.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for its end; gives the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// What was logged until the process ended.
    pub fn rest_of_log(&mut self) -> String {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended, as it was told.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A new connection.
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
    // A reset after the answer is an end like another.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// GET on a connection of its own: head and body.
pub fn get(addr: SocketAddr, path: &str) -> String {
    exchange(addr, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
}

/// Looks again until `holds`; panics with `what` where that takes too long.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
