//! How the servers of the rows are started.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use stack::settings::repository;
use tempfile::TempDir;

use super::answer::BODY;
use super::rows::{Column, Floor, Way};
use crate::server::{Cores, built};

const START_TIMEOUT: Duration = Duration::from_secs(30);

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
    pub fn start(floor: &Floor, column: Column, cores: &Cores) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let addr = service_kit::free_address()?;
        let mut command = Command::new("setpriv");
        // It ends with this process, however that ends.
        command.args(["--pdeathsig", "KILL", "--", "taskset", "-c", &cores.list()]);
        let place = Place { addr, column, cores, folder: folder.path() };
        place.add(floor.way, &mut command)?;
        command.env("GOMAXPROCS", cores.count().to_string()).env("RUST_BACKTRACE", "0");
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

/// Where a server runs, and how.
struct Place<'a> {
    addr: SocketAddr,
    column: Column,
    cores: &'a Cores,
    folder: &'a Path,
}

impl Place<'_> {
    fn add(&self, way: Way, command: &mut Command) -> anyhow::Result<()> {
        let here = repository().join("loadtest/floors");
        match way {
            Way::Rust(name) => {
                let profile = if self.column.tuned { "tuned" } else { "release" };
                let program = format!("target/floors/rust/{profile}/{name}");
                command.arg(there(&program, "make floors builds it")?);
                self.add_arguments(command);
            }
            Way::Go(name) => {
                let program = format!("target/floors/{name}");
                command.arg(there(&program, "make floors builds it")?);
                self.add_arguments(command);
            }
            Way::GoHyper => {
                let [column, _] = self.column.words();
                let program = format!("target/floors/gohyper-{column}");
                command.arg(there(&program, "make floors builds it")?);
                self.add_arguments(command);
            }
            Way::Node => {
                command.arg("node").arg(here.join("node.mjs"));
                self.add_arguments(command);
            }
            Way::Bun => {
                let program = "target/tools/floors/node_modules/.bin/bun";
                command.arg(there(program, "make floors installs it from npm")?);
                command.arg(here.join("bun.mjs"));
                self.add_arguments(command);
            }
            Way::Nginx(conf) => {
                command.args(["nginx", "-e", "stderr", "-p"]).arg(self.folder);
                command.arg("-c").arg(self.conf(&here.join(conf))?);
            }
            Way::Haproxy => {
                command.args(["haproxy", "-q", "-db", "-f"]);
                command.arg(self.conf(&here.join("haproxy.cfg"))?);
            }
            Way::H2o => {
                fs::write(self.folder.join("body.png"), BODY)?;
                command.args(["h2o", "-c"]).arg(self.conf(&here.join("h2o.conf"))?);
            }
            Way::Kit => {
                command.arg(built("examples/floor")?);
                self.add_arguments(command);
            }
            Way::Service => {
                command.arg(built("qr-service")?).env("QR_ADMIN_ADDR", "127.0.0.1:0");
                command.env("QR_ADDR", self.addr.to_string());
                command.env("QR_WORKER_THREADS", self.cores.count().to_string());
            }
        }
        Ok(())
    }

    fn add_arguments(&self, command: &mut Command) {
        command.arg(self.addr.to_string()).arg(self.cores.count().to_string());
        command.args(self.column.words());
    }

    /// Writes a copy of a configuration for this place and column.
    fn conf(&self, file: &Path) -> anyhow::Result<PathBuf> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let text = lines_of(&text, self.column)
            .replace("ADDRESS", &self.addr.to_string())
            .replace("HOST", &self.addr.ip().to_string())
            .replace("PORT", &self.addr.port().to_string())
            .replace("CORES", &self.cores.count().to_string())
            .replace("FOLDER", &self.folder.display().to_string())
            .replace("BODY", &String::from_utf8_lossy(&BODY));
        let copy = self.folder.join(file.file_name().unwrap_or_default());
        fs::write(&copy, text)?;
        Ok(copy)
    }
}

/// Leaves out comments, and lines that end with a comment of another column's name.
fn lines_of(text: &str, column: Column) -> String {
    let words = column.words();
    let mut kept = String::new();
    for line in text.lines() {
        let (line, comment) = line.split_once('#').unwrap_or((line, ""));
        let column = matches!(comment.trim(), "documented" | "tuned" | "timeouts" | "forever");
        if !column || words.contains(&comment.trim()) {
            kept += line.trim_end();
            kept.push('\n');
        }
    }
    kept
}

/// A file of this repository that has to be built or installed.
fn there(file: &str, how: &str) -> anyhow::Result<PathBuf> {
    let path = repository().join(file);
    ensure!(path.is_file(), "{file} is missing ({how})");
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::COLUMNS;

    #[test]
    fn a_configuration_has_the_lines_of_its_column() {
        let text = "# about\nboth;\n  bare; # documented\nfast; # tuned\nslow; # timeouts\n";
        let of = |at: usize| lines_of(text, COLUMNS[at]).replace('\n', "");
        assert_eq!(of(0), "both;  bare;");
        assert_eq!(of(1), "both;  bare;slow;");
        assert_eq!(of(2), "both;fast;");
    }
}
