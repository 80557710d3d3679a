//! Starts the server of a row on given cores.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use stack::settings::repository;
use stack::{Options, Part, Share, Stack};
use tempfile::TempDir;

use crate::rows::{Row, Way};

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running server. It ends with this value.
pub struct Server {
    /// Its base URL.
    pub url: String,
    /// The address it listens on.
    pub addr: SocketAddr,
    /// The target of its requests, up to the text.
    pub target: &'static str,
    held: Held,
}

/// Starts a whole stack on these cores.
///
/// # Errors
/// What is missing, or the last words of the part that did not start.
pub(crate) fn start_stack(options: &Options, cores: &Cores) -> anyhow::Result<Stack> {
    // Processes inherit the cores of the thread that starts them.
    let mine = sched_getaffinity(None)?;
    sched_setaffinity(None, &cores.set())?;
    let stack = Stack::start(&built("qr-service")?, options);
    sched_setaffinity(None, &mine)?;
    stack
}

/// One process or a whole stack.
enum Held {
    Process { child: Child, _data: TempDir },
    Stack(Box<Stack>),
}

impl Server {
    /// Starts a row's server on `cores` and waits until it listens.
    ///
    /// # Errors
    /// What is missing, or the server's last words.
    pub fn start(row: &Row, cores: &Cores) -> anyhow::Result<Self> {
        match row.way {
            Way::Stack { log_share } => Self::start_stack(row, log_share, cores),
            _ => Self::start_process(row, cores).with_context(|| row.name),
        }
    }

    fn start_process(row: &Row, cores: &Cores) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let addr = service_kit::free_address()?;
        let mut command = Command::new("setpriv");
        // The server ends with this process, however that ends.
        command.args(["--pdeathsig", "KILL", "--", "taskset", "-c", &cores.list()]);
        let at = addr.to_string();
        match row.way {
            Way::Static => {
                command.arg(built("examples/static_answer")?).arg(&at);
            }
            Way::Service | Way::Article => {
                let (program, engine) = match row.way {
                    Way::Article => ("axum-article", "reference"),
                    _ => ("qr-service", "default"),
                };
                command.arg(built(program)?).env("QR_ENGINE", engine);
                command.env("QR_ADDR", &at).env("QR_ADMIN_ADDR", "127.0.0.1:0");
                command.env("QR_WORKER_THREADS", cores.count().to_string());
            }
            Way::LegacyNode { generator, workers } => {
                command.arg("node").arg(repository().join("legacy-node/src/server.js"));
                command.env("ADDR", &at).env("ADMIN_ADDR", "127.0.0.1:0");
                command.env("DATA_DIR", data.path()).env("QR_IMPL", generator);
                // Like qr-service, it does not log requests that succeed.
                command.env("LOG_LEVEL", "warn").env("WORKERS", workers.to_string());
            }
            Way::QuickChart => {
                command.arg("node").arg(repository().join("loadtest/peers/quickchart.cjs"));
                command.env("NODE_PATH", repository().join("legacy-node/node_modules"));
                command.env("ADDR", &at).env("NODE_ENV", "production");
            }
            Way::Stack { .. } => bail!("the stack is not one process"),
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().context("setpriv")?;
        let held = Held::Process { child, _data: data };
        let mut server = Server { url: format!("http://{addr}"), addr, target: row.target, held };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn start_stack(row: &Row, log_share: Share, cores: &Cores) -> anyhow::Result<Self> {
        let stack = start_stack(&Options { log_share, ..Options::default() }, cores)?;
        let addr = stack.settings().addresses.proxy;
        let url = stack.url();
        Ok(Server { url, addr, target: row.target, held: Held::Stack(Box::new(stack)) })
    }

    /// The roots of its process trees. Of a stack, only the parts that serve requests: not Prometheus,
    /// nginx' exporter or supervisord.
    ///
    /// # Errors
    /// If one of them has ended.
    pub fn roots(&self) -> anyhow::Result<Vec<i32>> {
        match &self.held {
            Held::Process { child, .. } => Ok(vec![child.id().cast_signed()]),
            Held::Stack(stack) => [Part::Nginx, Part::QrService, Part::LegacyNode]
                .into_iter()
                .map(|part| Ok(stack.pid_of(part)?.as_raw_nonzero().get()))
                .collect(),
        }
    }

    fn wait_until_it_listens(&mut self) -> anyhow::Result<()> {
        let Held::Process { child, .. } = &mut self.held else { return Ok(()) };
        // A full pipe would block the server.
        let output = child.stdout.take().context("no output")?;
        thread::spawn(move || BufReader::new(output).lines().for_each(drop));
        let errors = child.stderr.take().context("no output")?;
        let said = thread::spawn(move || {
            BufReader::new(errors).lines().map_while(Result::ok).collect::<Vec<_>>().join("\n")
        });
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(self.addr).is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("does not start ({status}): {}", said.join().unwrap_or_default());
            }
            ensure!(Instant::now() < deadline, "does not listen after {START_TIMEOUT:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Held::Process { child, .. } = &mut self.held {
            // SIGTERM first, so that a cluster's primary ends its workers.
            if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let deadline = Instant::now() + Duration::from_secs(12);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A list of cores, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

impl Cores {
    /// All cores.
    pub fn all() -> Self {
        Cores((0..thread::available_parallelism().map_or(1, usize::from)).collect())
    }

    /// The number of cores.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The list in `taskset -c`'s format.
    pub fn list(&self) -> String {
        self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// Keeps this thread and all that it starts to these cores, but for servers, which get their own: who samples a
    /// server's memory should take no time from it.
    ///
    /// # Errors
    /// If the kernel does not allow these cores.
    pub fn keep_to(&self) -> anyhow::Result<()> {
        sched_setaffinity(None, &self.set()).with_context(|| format!("cores {}", self.list()))
    }

    fn set(&self) -> CpuSet {
        let mut set = CpuSet::new();
        self.0.iter().for_each(|&core| set.set(core));
        set
    }

    /// Whether both lists have a core in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().any(|core| other.0.contains(core))
    }
}

impl std::str::FromStr for Cores {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be a list of cores such as 0 or 0,1");
        let cores: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        let cores = cores.with_context(problem)?;
        let there = thread::available_parallelism().map_or(1, usize::from);
        let most = cores.iter().max().copied().unwrap_or(0);
        ensure!(most < there.max(1), "{text:?}: this machine has cores 0 to {}", there - 1);
        Ok(Cores(cores))
    }
}

/// A program of the same build.
///
/// # Errors
/// If it is missing, and how to build it.
pub fn built(name: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let file = here.parent().unwrap_or(Path::new(".")).join(name);
    ensure!(file.is_file(), "{} is not built (make ladder builds it)", file.display());
    Ok(file)
}
