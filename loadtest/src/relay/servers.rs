//! What is measured: relays, and proxies that stand for them.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use stack::settings::repository;
use tempfile::TempDir;

use crate::server::Cores;

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How bytes get from the sender to the receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over one socket, without anything between: the roof.
    Socket,
    /// Through a proxy, to a receiver that listens.
    Haproxy,
    /// Likewise.
    Nginx,
    /// Through legacy-node's relay.
    LegacyNode,
    /// Through npm `piping-server`.
    PipingServer,
    /// Through relay-service.
    Service {
        /// `RELAY_SPLICE`.
        splice: bool,
    },
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it moves bytes.
    pub way: Way,
}

/// Every row. The last but one is compared with the others.
pub const ROWS: [Row; 7] = [
    Row { name: "socket", about: "the sender's socket is the receiver's", way: Way::Socket },
    Row { name: "haproxy", about: "HAProxy as a plain proxy, with splicing", way: Way::Haproxy },
    Row { name: "nginx", about: "nginx as a plain proxy, without buffering", way: Way::Nginx },
    Row { name: "legacy-node", about: "the legacy app's relay", way: Way::LegacyNode },
    Row { name: "piping-server", about: "npm piping-server", way: Way::PipingServer },
    Row {
        name: "copying",
        about: "relay-service with RELAY_SPLICE=false",
        way: Way::Service { splice: false },
    },
    Row { name: "splicing", about: "relay-service", way: Way::Service { splice: true } },
];

impl Way {
    /// Whether it pairs a sender with receivers that ask for their key.
    pub fn is_relay(self) -> bool {
        !matches!(self, Way::Socket | Way::Haproxy | Way::Nginx)
    }
}

/// A running row. It ends with this value.
pub struct Server {
    /// Where senders connect, and a relay's receivers.
    pub addr: SocketAddr,
    /// Where what is sent arrives, if it is no relay.
    pub arrivals: TcpListener,
    child: Option<Child>,
    _folder: TempDir,
}

impl Server {
    /// Starts a row on `cores` and waits until it listens.
    ///
    /// # Errors
    /// What is missing.
    pub fn start(row: &Row, cores: &Cores) -> anyhow::Result<Self> {
        // Not every relay takes port 0, and a port that is free now may be somebody's when it listens.
        let more = || Self::try_start(row, cores);
        more().or_else(|_| more()).or_else(|_| more())
    }

    fn try_start(row: &Row, cores: &Cores) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let arrivals = TcpListener::bind("127.0.0.1:0")?;
        let to = arrivals.local_addr()?;
        if row.way == Way::Socket {
            return Ok(Server { addr: to, arrivals, child: None, _folder: folder });
        }
        if row.way == Way::Haproxy {
            let says = Command::new("haproxy").arg("-v").output();
            says.context("haproxy is missing; install it, on Debian by apt-get install haproxy")?;
        }
        let addr = service_kit::free_address()?;
        let mut command = Command::new("setpriv");
        // It ends with this process, however that ends.
        command.args(["--pdeathsig", "KILL", "--", "taskset", "-c", &cores.list()]);
        add(&mut command, row.way, addr, to, folder.path())?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("setpriv")?;
        let mut server = Server { addr, arrivals, child: Some(child), _folder: folder };
        server.wait().with_context(|| row.name)?;
        Ok(server)
    }

    /// The roots of its process trees; none if it has no process.
    pub fn roots(&self) -> Vec<i32> {
        self.child.iter().map(|child| child.id().cast_signed()).collect()
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(self.addr).is_err() {
            if let Some(child) = &mut self.child {
                let ended = child.try_wait()?;
                ensure!(ended.is_none(), "does not start: {ended:?}");
            }
            ensure!(Instant::now() < deadline, "does not listen after {START_TIMEOUT:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn add(
    command: &mut Command,
    way: Way,
    addr: SocketAddr,
    to: SocketAddr,
    folder: &Path,
) -> anyhow::Result<()> {
    let at = addr.to_string();
    match way {
        Way::Socket => {}
        Way::Service { splice } => {
            command.arg(built("relay-service")?).env("RELAY_ADDR", at);
            command.env("RELAY_ADMIN_ADDR", "127.0.0.1:0").env("RELAY_LOG_LEVEL", "warn");
            command.env("RELAY_WORKER_THREADS", "1").env("RELAY_SPLICE", splice.to_string());
        }
        Way::LegacyNode => {
            command.arg("node").arg(repository().join("legacy-node/src/server.js"));
            command.env("RELAY_ADDR", at).env("DATA_DIR", folder).env("LOG_LEVEL", "warn");
            command.envs(["ADDR", "ADMIN_ADDR", "RELAY_PROXY_ADDR"].map(|it| (it, "127.0.0.1:0")));
        }
        Way::PipingServer => {
            let program = repository().join("target/tools/relay/node_modules/.bin/piping-server");
            ensure!(
                program.exists(),
                "npm's piping-server is missing; make ladder-relay installs it"
            );
            command.arg("node").arg(program).args(["--host", "127.0.0.1"]);
            command.arg("--http-port").arg(addr.port().to_string());
        }
        Way::Haproxy => {
            let file = folder.join("haproxy.cfg");
            std::fs::write(&file, haproxy(addr, to))?;
            command.args(["haproxy", "-db", "-f"]).arg(file);
        }
        Way::Nginx => {
            let file = folder.join("nginx.conf");
            std::fs::write(&file, nginx(addr, to))?;
            command.arg("nginx").arg("-p").arg(folder).arg("-c").arg(file);
        }
    }
    Ok(())
}

/// A program beside this one, or where `make` builds it.
fn built(name: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?.with_file_name(name);
    ensure!(here.exists(), "{} is missing; run it by make", here.display());
    Ok(here)
}

fn haproxy(addr: SocketAddr, to: SocketAddr) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn 4000\ndefaults\n    mode http\n    timeout connect 5s\n    \
         timeout client 60s\n    timeout server 60s\n    option splice-request\nlisten relay\n    \
         bind {addr}\n    server receiver {to}\n"
    )
}

fn nginx(addr: SocketAddr, to: SocketAddr) -> String {
    format!(
        "daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log stderr crit;\n\
         events {{ worker_connections 4000; }}\n\
         http {{ access_log off; client_max_body_size 0; server {{ listen {addr}; location / {{\n\
         proxy_pass http://{to}; proxy_http_version 1.1; proxy_request_buffering off;\n}} }} }}\n"
    )
}
