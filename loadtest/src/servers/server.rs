//! Starts the server of a row on given cores.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use carve::local::Stack;
use carve::local::preflight::is_on_path;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::servers::cores::Cores;
use crate::servers::rows::{Row, Way};
use crate::servers::{demonstration, repository};

/// The body of the servers that always answer the same.
pub const BODY: [u8; 420] = [b'Z'; 420];
/// Valgrind is slow to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// A cluster's primary waits for its workers.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// A process on its own cores. Dropping this ends it.
pub struct Process {
    child: Child,
    errors: PathBuf,
}

impl Process {
    /// Starts a command on these cores and waits until `addr` accepts connections. What it writes to its error output
    /// is in `folder`. Fails if something is missing or the process ends; the error has its last output.
    pub fn start(
        command: &Command,
        cores: &Cores,
        folder: &Path,
        addr: SocketAddr,
    ) -> anyhow::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let is_there = program.contains('/') || is_on_path(&program);
        ensure!(is_there, "{program} is not installed");
        let errors = folder.join("errors.log");
        let mut started = Command::new("setpriv");
        // The server ends with this process, however that ends.
        started.args(["--pdeathsig", "TERM", "--", "taskset", "-c", &cores.list(), &program]);
        started.args(command.get_args());
        for (name, value) in command.get_envs() {
            started.env(name, value.unwrap_or_default());
        }
        started.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&errors)?);
        let mut process = Process { child: started.spawn().context("setpriv")?, errors };
        process.wait_until_it_listens(addr)?;
        Ok(process)
    }

    /// The root of its process tree.
    pub fn root(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Ends the process. Returns what it has written to its error output. Fails if that cannot be read.
    pub fn end(self) -> anyhow::Result<String> {
        let errors = self.errors.clone();
        drop(self);
        fs::read_to_string(&errors).with_context(|| errors.display().to_string())
    }

    fn wait_until_it_listens(&mut self, addr: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(addr).is_err() {
            if let Some(status) = self.child.try_wait()? {
                let said = fs::read_to_string(&self.errors).unwrap_or_default();
                bail!("does not start ({status}): {}", said.trim());
            }
            ensure!(Instant::now() < deadline, "does not listen after {START_TIMEOUT:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A kill would leave workers behind.
        if let Some(pid) = Pid::from_raw(self.root()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + STOP_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A row's running server. Dropping this ends it.
pub struct Server {
    /// Its base URL.
    pub url: String,
    /// The address it listens on.
    pub addr: SocketAddr,
    /// Receives the bytes that a plain proxy forwards.
    pub arrivals: TcpListener,
    process: Option<Process>,
    stack: Option<Stack>,
    // Removed last.
    _folder: TempDir,
}

impl Server {
    /// Starts a row's server on `cores` and waits until it listens. Fails if something is missing or the server ends;
    /// the error has its last output.
    pub fn start(row: &Row, cores: &Cores) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let arrivals = TcpListener::bind("127.0.0.1:0")?;
        let to = arrivals.local_addr()?;
        let (mut process, mut stack) = (None, None);
        let addr = match row.way {
            Way::Socket => to,
            Way::Stack(log_share) => {
                let (carve, parts) = (built("carve")?, demonstration());
                let start = || Stack::start(&carve, Some(&parts), |it| it.log_share = log_share);
                let started = cores.keeping(start)?;
                stack.insert(started).settings().addresses.proxy
            }
            _ => {
                let addr = service_kit::free_address()?;
                let place = Site { addr, to, cores: cores.count(), folder: folder.path() };
                let command = place.command(row.way)?;
                process = Some(Process::start(&command, cores, folder.path(), addr)?);
                addr
            }
        };
        let url = format!("http://{addr}");
        Ok(Server { url, addr, arrivals, process, stack, _folder: folder })
    }

    /// The roots of its process trees. For a stack, only the parts that serve requests and log them: not Prometheus or
    /// the supervisor. Fails if one of them has ended.
    pub fn roots(&self) -> anyhow::Result<Vec<i32>> {
        let parts = ["nginx", "edge", "qr-service", "legacy-node"];
        match &self.stack {
            None => Ok(self.process.iter().map(Process::root).collect()),
            Some(stack) => {
                let pid = |part| Ok(stack.supervisor.pid_of(part)?.as_raw_nonzero().get());
                parts.into_iter().map(pid).collect()
            }
        }
    }
}

/// Where a server runs.
struct Site<'a> {
    addr: SocketAddr,
    /// Where a plain proxy sends what it gets.
    to: SocketAddr,
    cores: usize,
    folder: &'a Path,
}

impl Site<'_> {
    /// The command that runs a server in the foreground.
    fn command(&self, way: Way) -> anyhow::Result<Command> {
        let (at, cores, top) = (self.addr.to_string(), self.cores.to_string(), repository());
        let node = |script: &str| {
            let mut command = Command::new("node");
            command.arg(top.join(script)).env("DATA_DIR", self.folder).env("LOG_LEVEL", "warn");
            command
        };
        let any_port = "127.0.0.1:0";
        let mut command;
        match way {
            Way::Example(name) => {
                command = Command::new(built(&format!("examples/{name}"))?);
                command.args([&at, &cores]);
            }
            Way::Built(name) => {
                command = Command::new(there(&format!("target/floors/{name}"))?);
                command.arg(at).env("GOMAXPROCS", cores);
            }
            Way::Service(name, engine) => {
                command = Command::new(built(name)?);
                command.env("QR_ADDR", at).env("QR_ADMIN_ADDR", any_port).env("QR_ENGINE", engine);
                command.env("QR_WORKER_THREADS", cores);
            }
            Way::Relay => {
                command = Command::new(built("relay-service")?);
                command.env("RELAY_ADDR", at).env("RELAY_ADMIN_ADDR", any_port);
                command.env("RELAY_LOG_LEVEL", "warn").env("RELAY_WORKER_THREADS", "1");
            }
            Way::LegacyNode(generator, workers) => {
                command = node("legacy-node/src/server.js");
                command.env("ADDR", at).env("ADMIN_ADDR", any_port).env("QR_IMPL", generator);
                command.env("WORKERS", workers.to_string());
            }
            Way::LegacyRelay => {
                command = node("legacy-node/src/server.js");
                command.env("RELAY_ADDR", at);
                command.envs(["ADDR", "ADMIN_ADDR", "RELAY_PROXY_ADDR"].map(|it| (it, any_port)));
            }
            Way::QuickChart => {
                command = node("loadtest/peers/quickchart.cjs");
                command.env("NODE_PATH", top.join("legacy-node/node_modules"));
                command.env("ADDR", at).env("NODE_ENV", "production");
            }
            Way::Rung(name) => {
                command = Command::new(there("examples/rungs/run")?);
                command.args(name.split(' ')).arg(at).env("DATA_DIR", self.folder);
            }
            Way::Node => {
                command = node("loadtest/floors/node.mjs");
                command.arg(at);
            }
            Way::PipingServer => {
                let program = "target/tools/relay/node_modules/.bin/piping-server";
                there(program)?;
                command = node(program);
                let port = self.addr.port().to_string();
                command.args(["--host", "127.0.0.1", "--http-port", &port]);
            }
            Way::Configured(program, conf) => {
                command = Command::new(program);
                match program {
                    "nginx" => command.args(["-e", "stderr", "-p"]).arg(self.folder).arg("-c"),
                    _ => command.args(["-db", "-q", "-f"]),
                };
                command.arg(self.configuration(conf)?);
            }
            Way::Stack(_) | Way::Socket | Way::Counted(_) => bail!("it is not one process"),
        }
        Ok(command)
    }

    /// Writes a copy of a configuration of `floors/` for this place.
    fn configuration(&self, name: &str) -> anyhow::Result<PathBuf> {
        let file = repository().join("loadtest/floors").join(name);
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let text = text
            .replace("ADDRESS", &self.addr.to_string())
            .replace("RECEIVER", &self.to.to_string())
            .replace("CORES", &self.cores.to_string())
            .replace("BODY", &String::from_utf8_lossy(&BODY));
        let copy = self.folder.join(name);
        fs::write(&copy, text)?;
        Ok(copy)
    }
}

/// A program of the same build. Fails if it is missing, and says how to build it.
pub fn built(name: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let file = here.parent().unwrap_or(Path::new(".")).join(name);
    ensure!(file.is_file(), "{} is not built (make ladder builds it)", file.display());
    Ok(file)
}

/// A file of this repository that `make ladder` builds or installs.
fn there(file: &str) -> anyhow::Result<PathBuf> {
    let path = repository().join(file);
    ensure!(path.is_file(), "{file} is missing (make ladder builds or installs it)");
    Ok(path)
}
