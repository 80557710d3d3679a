//! Runs the commands of `docs/your-own-route.md` as written, and checks that they print what the guide
//! says: the start, both answers of `make compare`, the walk to 100 %, and each refusal.
//!
//! All blocks ```` ```sh ```` run in order in one shell with job control, as for a person. Each line
//! of the block ```` ```text ```` that follows must be printed; `...` stands for left out lines, and at
//! the end of a line for its rest. If make reports an error there, it must exit with 2, else with 0.
//!
//! What differs from a person's shell:
//!
//! - Ports and folders are free ones ([`Guide::here`]), so that the test disturbs nobody.
//! - `cargo build` does nothing and `cargo run` starts a binary that `cargo test` has built: a build in
//!   the profile of `make up` takes minutes.
//! - Steps are held for 5 s and wait up to a minute for data. In so short a time one stall of the
//!   machine is the 99th percentile, so that gate has a margin.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::built;
use rustix::process::{Pid, Signal, kill_process};
use stack::Addresses;
use stack::settings::repository;
use tempfile::TempDir;

/// How long a block may take to print what the guide says.
const PATIENCE: Duration = Duration::from_secs(90);

/// A block of commands, and the lines that it prints.
#[derive(Default)]
struct Block {
    commands: String,
    prints: Vec<String>,
}

fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for fenced in guide.split("\n```").skip(1).step_by(2) {
        let (language, text) = fenced.split_once('\n').unwrap();
        match language {
            "sh" => blocks.push(Block { commands: text.to_owned(), ..Block::default() }),
            "text" => {
                let block = blocks.last_mut().unwrap();
                block.prints.extend(text.lines().map(str::to_owned));
            }
            other => panic!("a block is sh or text, not {other:?}"),
        }
    }
    blocks
}

/// A line without what differs from run to run: figures with a point or with three digits and more,
/// what a gate measured, make's line, spaces.
fn without_figures(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let next = |index: usize| words.get(index + 1).copied().unwrap_or_default();
    let words = words.iter().enumerate().map(|(index, word)| {
        let varies = next(index) == "must" || word.starts_with("[Makefile:");
        let mut text = String::new();
        let mut rest = *word;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let figure = rest[start..].split(|c: char| c != '.' && !c.is_ascii_digit());
            let figure = figure.into_iter().next().unwrap();
            let after = &rest[start + figure.len()..];
            let is_share = after.starts_with('%');
            let digits = figure.trim_end_matches('.');
            let long = digits.contains('.') || digits.len() >= 3;
            text += &rest[..start];
            text += if varies || (long && !is_share) { "#" } else { figure };
            rest = after;
        }
        text + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_printed(wanted: &str, lines: &[String]) -> bool {
    let start = wanted.strip_suffix("...");
    let wanted = without_figures(start.unwrap_or(wanted));
    lines.iter().map(|line| without_figures(line)).any(|line| match start {
        Some(_) => line.starts_with(&wanted),
        None => line == wanted,
    })
}

/// A shell that runs the guide's commands, with all that they start.
struct Guide {
    folder: TempDir,
    addresses: Addresses,
    shell: Child,
    lines: Receiver<String>,
    /// All that was printed since the last block began.
    printed: Vec<String>,
}

impl Guide {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("your-own-route-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        let cargo = folder.path().join("cargo");
        let binaries = built("stack").parent().unwrap().to_owned();
        let script = format!(
            "#!/usr/bin/env bash\nset -e\n[ \"$1\" = run ] || exit 0\n\
             while [ \"$1\" != --bin ]; do shift; done\nname=$2\n\
             while [ \"$1\" != -- ]; do shift; done\nshift\nexec '{}'/\"$name\" \"$@\"\n",
            binaries.display()
        );
        fs::write(&cargo, script).unwrap();
        fs::set_permissions(&cargo, Permissions::from_mode(0o755)).unwrap();
        let addresses = Addresses::free().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc"]).current_dir(repository());
        shell.env("STACK_RUN_DIR", folder.path().join("run")).env("CARGO", &cargo);
        // As on make's command line, but for every make.
        let ours = ["STACK", "RAMP"]
            .map(|name| format!("{name}={}", built(&name.to_ascii_lowercase()).display()));
        shell.env("MAKEFLAGS", format!("-- {}", ours.join(" "))).env_remove("MAKELEVEL");
        for (variable, address, _) in addresses.listeners() {
            shell.env(variable, address.to_string());
        }
        for name in ["RAMP_NGINX_DIR", "RAMP_PROXY_ADMIN_ADDR", "RAMP_PROMETHEUS_URL"] {
            shell.env_remove(name);
        }
        shell.stdin(Stdio::piped()).stdout(writer.try_clone().unwrap()).stderr(writer);
        shell.process_group(0);
        let mut shell = shell.spawn().unwrap();
        // Whatever becomes of this test, its standard input ends, and then all that it started.
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
        Guide { folder, addresses, shell, lines, printed: Vec::new() }
    }

    /// The guide's commands with ports and folders of this test, and short steps. The two servers get
    /// the ports of the sides that `make up` does not start here.
    fn here(&self, commands: &str) -> String {
        let at = &self.addresses;
        let routes = self.folder.path().join("routes");
        let mut commands = commands.replace("/tmp/report-routes", &routes.display().to_string());
        for (port, address) in [("4000", at.old), ("4001", at.new), ("42081", at.shadow_admin)] {
            commands = commands.replace(port, &address.port().to_string());
        }
        let timeout = "new.timeout = \"3s\"\n";
        commands.replace("--hold 30s", "--hold 5s --patience 60s").replace(
            timeout,
            &format!("{timeout}gates.failures.proof = 0.05\ngates.pair-failures.proof = 0.2\n"),
        )
    }

    /// Runs a block's commands and waits until all that the guide says is printed.
    fn run(&mut self, block: &Block) {
        const END: &str = "@@ exit code ";
        self.printed.clear();
        let commands = self.here(&block.commands);
        let stdin = self.shell.stdin.as_mut().unwrap();
        writeln!(stdin, "{{\n{commands}\n}} </dev/null; code=$?; echo; echo '{END}'$code").unwrap();
        let fails = block.prints.iter().any(|line| line.starts_with("make: ***"));
        let mut missing: Vec<&String> =
            block.prints.iter().filter(|line| line.trim() != "...").collect();
        let expected = if fails { "2" } else { "0" };
        let mut ended = false;
        let deadline = Instant::now() + PATIENCE;
        while !ended || !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                let printed = self.printed.join("\n");
                panic!("{commands}\ndid not print {missing:#?}\nin time:\n{printed}");
            };
            missing.retain(|wanted| !is_printed(wanted, std::slice::from_ref(&line)));
            if let Some(code) = line.strip_prefix(END) {
                assert_eq!(code, expected, "{commands}\n{}", self.printed.join("\n"));
                ended = true;
            }
            self.printed.push(line);
        }
    }
}

impl Drop for Guide {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.shell);
        // It may wait for a command, and a signal ends that too. Both would end it twice.
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

#[test]
fn the_guide_does_and_prints_what_it_says() {
    let text = fs::read_to_string(repository().join("docs/your-own-route.md")).unwrap();
    let blocks = blocks(&text);
    let commands: String = blocks.iter().map(|block| block.commands.as_str()).collect();
    let mut guide = Guide::new();
    for replaced in ["/tmp/report-routes", "--hold 30s", "new.timeout = \"3s\"\n", "4000", "42081"]
    {
        assert!(commands.contains(replaced), "the guide has no {replaced} to replace");
    }
    for block in &blocks {
        guide.run(block);
    }
}

#[test]
fn figures_that_vary_are_no_difference_and_others_are() {
    let printed = |wanted: &str, line: &str| is_printed(wanted, &[line.to_owned()]);
    assert!(printed("  pass  requests  162.2, must be >= 100", "pass requests 99, must be >= 100"));
    assert!(printed("old 29, new 28; ...", "old 29, new 28; new 200, 998 bytes"));
    assert!(!printed("old 29, new 28; ...", "old 29, new 27; new 200, 998 bytes"));
    assert!(!printed("100% of report", "25% of report") && !printed("100% of a", "200% of a"));
    assert!(printed("make: *** [Makefile:9: up] Error 3", "make: *** [Makefile:73: up] Error 3"));
    assert!(!printed("make: *** [Makefile:9: up] Error 3", "make: *** [Makefile:9: up] Error 4"));
}
