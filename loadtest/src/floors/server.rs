//! The rows, and how their servers are started.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use stack::settings::repository;
use tempfile::TempDir;

use crate::server::{Cores, built};

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How a server is started.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// qr-service's example of a static answer.
    Static,
    /// A program of `loadtest/floors/go`.
    Go(&'static str),
    /// A script for Node.
    Node,
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// qr-service.
    Service,
}

/// A row of the table.
#[derive(Debug)]
pub struct Floor {
    /// Its name.
    pub name: &'static str,
    /// A line that describes it.
    pub about: &'static str,
    /// Whether its answer is the same as that of all others.
    pub is_static: bool,
    /// The path and query that it is asked for.
    pub target: &'static str,
    way: Way,
}

const fn floor(name: &'static str, way: Way, about: &'static str) -> Floor {
    Floor { name, about, is_static: true, target: "/qrcode", way }
}

/// Every row.
pub static FLOORS: [Floor; 7] = [
    floor("axum", Way::Static, "axum 0.8, a router with one route, on one thread"),
    floor("net/http", Way::Go("nethttp"), "Go's net/http"),
    floor("fasthttp", Way::Go("fasthttp"), "Go's fasthttp"),
    floor("node", Way::Node, "Node's http"),
    floor("nginx", Way::Nginx, "nginx, `return 200`"),
    floor("haproxy", Way::Haproxy, "HAProxy, `http-request return`"),
    Floor {
        name: "qr-service",
        about: "not a floor: qr-service draws the picture of one link for every request",
        is_static: false,
        target: "/qrcode?text=https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F0123456789",
        way: Way::Service,
    },
];

/// A running server. It ends with this value.
pub struct Server {
    /// Where it listens.
    pub addr: SocketAddr,
    child: Child,
    _folder: TempDir,
}

impl Server {
    /// Starts a row's server on these cores and waits until it listens.
    ///
    /// # Errors
    /// What is missing, or that it does not start.
    pub fn start(floor: &Floor, cores: &Cores) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let addr = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new("setpriv");
        // It ends with this process, however that ends.
        command.args(["--pdeathsig", "KILL", "--", "taskset", "-c", &cores.list()]);
        floor.way.add(&mut command, addr, folder.path())?;
        command.env("GOMAXPROCS", cores.count().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().context("setpriv")?;
        let mut server = Server { addr, child, _folder: folder };
        server.wait()?;
        Ok(server)
    }

    /// The root of its process tree.
    pub fn root(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(self.addr).is_err() {
            if self.child.try_wait()?.is_some() {
                let errors = self.child.stderr.take().map(std::io::read_to_string);
                let errors = errors.transpose()?.unwrap_or_default();
                anyhow::bail!("does not start: {}", errors.trim());
            }
            ensure!(Instant::now() < deadline, "does not listen after {START_TIMEOUT:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A kill would leave nginx' worker behind.
        if let Some(pid) = Pid::from_raw(self.root()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + Duration::from_secs(5);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Way {
    fn add(self, command: &mut Command, addr: SocketAddr, folder: &Path) -> anyhow::Result<()> {
        let at = addr.to_string();
        let here = repository().join("loadtest/floors");
        // nginx and HAProxy read a copy with this address.
        let conf = |name: &str| -> anyhow::Result<PathBuf> {
            let text = fs::read_to_string(here.join(name)).with_context(|| name.to_owned())?;
            let text = text.replace("ADDRESS", &at).replace("BODY", &"Z".repeat(420));
            let file = folder.join(name);
            fs::write(&file, text)?;
            Ok(file)
        };
        match self {
            Way::Static => {
                command.arg(built("examples/static_answer")?).arg(at);
            }
            Way::Go(name) => {
                let program = repository().join("target/floors").join(name);
                let is_built = program.is_file();
                ensure!(is_built, "{} is not built (make floors builds it)", program.display());
                command.arg(program).arg(at);
            }
            Way::Node => {
                command.arg("node").arg(here.join("node.mjs")).arg(at);
            }
            Way::Nginx => {
                command.args(["nginx", "-e", "stderr", "-p"]).arg(folder);
                command.arg("-c").arg(conf("nginx.conf")?);
            }
            Way::Haproxy => {
                command.args(["haproxy", "-db", "-f"]).arg(conf("haproxy.cfg")?);
            }
            Way::Service => {
                command.arg(built("qr-service")?).env("QR_WORKER_THREADS", "1");
                command.env("QR_ADDR", at).env("QR_ADMIN_ADDR", "127.0.0.1:0");
            }
        }
        Ok(())
    }
}
