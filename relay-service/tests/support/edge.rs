//! nginx between clients and both relays, with the configuration of `proxy/`.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use route::Route;
use service_kit::free_addresses;
use service_kit::testing::{Process, Service, eventually, exchange, get};

use super::clients::rest;
use super::{Legacy, relay_service, write_configuration};

/// nginx, two homes, and both sides; all end when dropped.
pub(crate) struct Edge {
    pub(crate) nginx: Process,
    pub(crate) addr: SocketAddr,
    pub(crate) homes: Vec<Service>,
    _old: Legacy,
    pub(crate) new: Service,
    pub(crate) folder: tempfile::TempDir,
}

impl Edge {
    pub(crate) fn start(share: &str) -> Self {
        Self::start_with(share, &[])
    }

    /// With settings of relay-service.
    pub(crate) fn start_with(share: &str, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (Legacy::start(), relay_service(settings));
        let share_file = folder.path().join("share");
        std::fs::write(&share_file, share).unwrap();
        let admins = free_addresses(2).unwrap();
        let homes: Vec<Service> = [(admins[0], admins[1]), (admins[1], admins[0])]
            .map(|admins| home(&share_file, (&old.admin_addr, &new), admins, &[]))
            .into();
        // In this order: a port of four digits could match the beginning of a port that was put in before it.
        let file = include_str!("../../../proxy/routes/relay.toml")
            .replace("127.0.0.1:3002", &old.proxy_addr)
            .replace("127.0.0.1:42092", &homes[0].addr.to_string())
            .replace("127.0.0.1:42093", &homes[0].admin_addr.to_string())
            .replace("127.0.0.1:42094", &homes[1].addr.to_string())
            .replace("127.0.0.1:42095", &homes[1].admin_addr.to_string())
            .replace("127.0.0.1:42090", &new.addr.to_string());
        let addr = write_configuration(folder.path(), &[Route::parse("relay", &file).unwrap()]);
        let mut nginx = Command::new("nginx");
        nginx.args(["-e", "stderr", "-p"]).arg(folder.path()).args(["-c", "nginx.conf"]);
        // As `carve up` starts it.
        nginx.stdout(Stdio::null());
        let nginx = Process::start(&mut nginx);
        let edge = Edge { nginx, addr, homes, _old: old, new, folder };
        eventually("nginx listens", || TcpStream::connect(addr).is_ok());
        edge
    }

    fn share_file(&self) -> PathBuf {
        self.folder.path().join("share")
    }

    /// Changes the share; both homes follow within moments.
    pub(crate) fn set_share(&self, share: &str) {
        let file = self.share_file();
        let next = file.with_extension("next");
        std::fs::write(&next, share).unwrap();
        std::fs::rename(&next, &file).unwrap();
    }

    /// Stops the route as `carve rollback` does: nginx looks for this file at each request.
    pub(crate) fn stop(&self) {
        std::fs::write(self.folder.path().join("stop/relay"), "").unwrap();
    }

    /// A receiver that waits, with more lines for its head.
    pub(crate) fn receive(&self, key: &str, more: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.addr).unwrap();
        write!(stream, "GET /p/{key} HTTP/1.0\r\n{more}\r\n").unwrap();
        stream
    }

    pub(crate) fn send(&self, key: &str, more: &str) -> String {
        let head = format!("PUT /p/{key} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}");
        exchange(self.addr, &format!("{head}content-length: 5\r\n\r\nhello"))
    }

    /// Waits until `count` keys wait on the new side.
    pub(crate) fn wait_for_waiting(&self, count: usize) {
        let line = format!("relay_waiting_keys {count}\n");
        eventually("they wait", || get(self.new.admin_addr, "/metrics").contains(&line));
    }

    /// Sends to a waiting receiver, and returns the side that served both.
    pub(crate) fn complete(&self, key: &str, receiver: TcpStream) -> String {
        let lines = self.send(key, "");
        assert!(lines.contains("received successfully."), "{key}: {lines}");
        let answer = rest(receiver).to_ascii_lowercase();
        assert!(answer.ends_with("\r\n\r\nhello"), "{key}: {answer}");
        served_by(&answer)
    }
}

/// Starts a home with its own and the other home's admin listener, and more settings.
pub(crate) fn home(
    share_file: &Path,
    (old_admin, new): (&str, &Service),
    (admin, other): (SocketAddr, SocketAddr),
    settings: &[(&str, &str)],
) -> Service {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relay-home"));
    command.env("HOME_ADDR", "127.0.0.1:0").env("HOME_ADMIN_ADDR", admin.to_string());
    command.env("HOME_SHARE_FILE", share_file).env("HOME_OTHERS", other.to_string());
    command.env("HOME_OLD_ADMIN_ADDR", old_admin);
    command.env("HOME_NEW_ADMIN_ADDR", new.admin_addr.to_string());
    Service::start(command.envs(settings.iter().copied()))
}

pub(crate) fn served_by(answer: &str) -> String {
    let lines = answer.lines().find_map(|line| line.strip_prefix("x-served-by: "));
    lines.unwrap_or_else(|| panic!("{answer}")).to_owned()
}
