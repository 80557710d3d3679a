//! A shell with job control, as a person has it: runs the commands of documents and waits for their output.
//!
//! Differences from a person's shell:
//!
//! - Ports and folders are free ones, so that tests do not disturb each other.
//! - `cargo build` does nothing and `cargo run` starts a binary that `cargo test` has built: a build in the
//!   profile of `make up` takes minutes. [`Shell::in_bare_debian`] builds all.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use carve::local::{Addresses, Settings};
use rustix::process::{Pid, Signal, kill_process};
use service_kit::testing::repository;
use tempfile::TempDir;

use crate::support::{built, demonstration};

/// A shell and everything that it starts.
pub(crate) struct Shell {
    /// The folder that the stack writes to.
    pub(crate) folder: TempDir,
    /// The addresses that the stack listens on.
    pub(crate) addresses: Addresses,
    shell: Child,
    lines: Receiver<String>,
    /// The lines printed since the last commands began.
    printed: Vec<String>,
    patience: Duration,
}

impl Shell {
    /// A shell in the repository, with the programs of this build.
    pub(crate) fn new() -> Self {
        let folder = temporary_folder();
        let cargo = folder.path().join("cargo");
        let binaries = built("carve").parent().unwrap().to_owned();
        let script = format!(
            "#!/usr/bin/env bash\nset -e\n[ \"$1\" = run ] || exit 0\n\
             name=; while [ \"$1\" != -- ]; do\n\
             case $1 in --bin) name=$2 ;; -p) name=${{name:-$2}} ;; esac; shift; done\n\
             shift\nexec '{}'/\"$name\" \"$@\"\n",
            binaries.display()
        );
        fs::write(&cargo, script).unwrap();
        fs::set_permissions(&cargo, Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("env");
        command.env("CARGO", &cargo).current_dir(repository());
        // Set as on make's command line, but for every call of make.
        let ours = ["CARVE", "LOAD"]
            .map(|name| format!("{name}={}", built(&name.to_ascii_lowercase()).display()));
        command.env("MAKEFLAGS", format!("-- {}", ours.join(" ")));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", binaries.display()));
        Shell::start(command, folder, Duration::from_secs(300))
    }

    /// A shell in a fresh clone of the last commit, in a bare Debian, in which everything must be installed and built.
    pub(crate) fn in_bare_debian() -> Self {
        let mut command = Command::new(repository().join(".ci/bare"));
        // It has no variables of this machine, so `env` sets them inside.
        command.arg("env");
        Shell::start(command, temporary_folder(), Duration::from_secs(45 * 60))
    }

    fn start(mut command: Command, folder: TempDir, patience: Duration) -> Self {
        let settings = Settings::new("run".into(), Addresses::free().unwrap(), built("carve"));
        let settings = settings.with_apps(&demonstration(), true).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let run_dir = ("STACK_RUN_DIR".to_owned(), folder.path().join("run").display().to_string());
        let listeners = settings.listeners().unwrap().into_iter();
        let listeners = listeners.map(|(name, at, _)| (name, at.to_string()));
        for (variable, value) in listeners.chain([run_dir]) {
            command.arg(format!("{variable}={value}"));
        }
        command.args(["bash", "--noprofile", "--norc"]).env_remove("MAKELEVEL");
        for name in ["RAMP_NGINX_DIR", "RAMP_PROXY_ADMIN_ADDR", "RAMP_PROMETHEUS_URL"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(writer.try_clone().unwrap()).stderr(writer);
        command.process_group(0);
        let mut shell = command.spawn().unwrap();
        // However this test ends, its standard input is closed, and then the trap ends everything that the shell
        // started.
        let stdin = shell.stdin.as_mut().unwrap();
        let at_end = "trap 'trap \"\" TERM; kill -- $(jobs -p | sed s/^/-/); make down' EXIT";
        writeln!(stdin, "set -m; {at_end}").unwrap();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let addresses = settings.addresses;
        Shell { folder, addresses, shell, lines, printed: Vec::new(), patience }
    }

    /// Runs commands and waits for their end and for all wanted lines. `is_wanted` gets a wanted line and a printed
    /// one, and says whether they match. Panics if the exit code differs, or if a line is missing after `patience`.
    pub(crate) fn run(
        &mut self,
        commands: &str,
        exit_code: u8,
        wanted: &[&str],
        is_wanted: fn(&str, &str) -> bool,
    ) {
        const END: &str = "@@ exit code ";
        self.printed.clear();
        let stdin = self.shell.stdin.as_mut().unwrap();
        writeln!(stdin, "{{\n{commands}\n}} </dev/null; code=$?; echo; echo '{END}'$code").unwrap();
        let mut missing = wanted.to_vec();
        let mut ended = false;
        let deadline = Instant::now() + self.patience;
        while !ended || !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                let printed = self.printed.join("\n");
                panic!("{commands}\ndid not print {missing:#?}\nin time:\n{printed}");
            };
            missing.retain(|wanted| !is_wanted(wanted, &line));
            if let Some(code) = line.strip_prefix(END) {
                let printed = self.printed.join("\n");
                assert_eq!(code, exit_code.to_string(), "{commands}\n{printed}");
                ended = true;
            }
            self.printed.push(line);
        }
    }
}

/// A folder that nginx' workers, which are not root, may enter.
fn temporary_folder() -> TempDir {
    let mut folder = tempfile::Builder::new();
    folder.prefix("shell-").permissions(Permissions::from_mode(0o755)).tempdir().unwrap()
}

impl Drop for Shell {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.shell);
        // After a panic the shell may still wait for a command, so it needs a signal. The signal also ends the shell,
        // so its standard input stays open meanwhile: both together would run the trap twice.
        let stdin = self.shell.stdin.take().filter(|_| thread::panicking());
        if stdin.is_some() {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while matches!(self.shell.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                eprintln!("the shell {pid:?} does not end");
                let _ = self.shell.kill();
                let _ = self.shell.wait();
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}
