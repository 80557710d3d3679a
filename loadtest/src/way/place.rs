//! A folder with nginx' files, and what stands behind nginx.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use ramp::{Route, Wanted};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Edit, Other, Over, Way};
use crate::server::{Cores, built};

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// What the proxy's files have, in the order of [`Place::addresses`].
const DEFAULTS: [&str; 5] =
    ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:42069", "127.0.0.1:3000", "127.0.0.1:42080"];
/// Which of them is the new side's.
const NEW: usize = 2;

/// A folder and free addresses.
pub struct Place {
    folder: TempDir,
    /// The folder `proxy/` whose files are used.
    source: PathBuf,
    addresses: Vec<SocketAddr>,
}

impl Place {
    /// Takes nginx' files from `source`.
    ///
    /// # Errors
    /// If there is no temporary folder, or too few ports are free.
    pub fn new(source: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        // None of them is a default one, which would be replaced twice.
        let addresses = service_kit::free_addresses(DEFAULTS.len())?;
        Ok(Place { folder, source: source.to_owned(), addresses })
    }

    /// Where nginx listens.
    pub fn proxy(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Writes the files of a way; returns their folder.
    ///
    /// # Errors
    /// If a file cannot be read or written, or lacks what an edit changes.
    pub fn write(&self, way: Way) -> anyhow::Result<PathBuf> {
        let to = self.folder.path().join("nginx");
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        fs::create_dir_all(to.join("edge"))?;
        match way {
            Way::Barest(over) => {
                fs::write(to.join("nginx.conf"), barest_conf(self.proxy(), &self.new_over(over)))?;
                return Ok(to);
            }
            Way::Instead(_) => return Ok(to),
            Way::Ours(_) | Way::Without(_) => {}
        }
        let over = if let Way::Ours(over) = way { over } else { Over::Tcp };
        for entry in fs::read_dir(&self.source)? {
            let from = entry?.path();
            if let (Some("conf"), Some(name)) =
                (from.extension().and_then(|it| it.to_str()), from.file_name())
            {
                fs::write(to.join(name), self.addressed(&fs::read_to_string(&from)?, over))?;
            }
        }
        let file = self.source.join("routes/qrcode.toml");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        ramp::prepare(&to, &[Route::parse("qrcode", &text)?], &Wanted::default())?;
        ramp::prepare_stops(&to, None)?;
        apply(&to, &Edit::Replace("nginx.conf", "worker_processes", "worker_processes 1;"))?;
        // As on `make up`, where `edge pipe` makes JSON of it. The files of another checkout may not have it.
        if fs::read_to_string(to.join("nginx.conf"))?.contains("log_format compact ") {
            let log = "access_log /dev/stdout compact buffer=4k flush=1s;";
            apply(&to, &Edit::Replace("nginx.conf", "access_log /dev/stdout", log))?;
        }
        if let Way::Without(part) = way {
            part.edits.iter().try_for_each(|edit| apply(&to, edit)).context(part.name)?;
        }
        Ok(to)
    }

    /// Starts another proxy with its files in this folder.
    ///
    /// # Errors
    /// If the program is missing.
    pub fn start(&self, other: Other, folder: &Path, cores: &Cores) -> anyhow::Result<Nginx> {
        let command = other.command(folder, self.addresses[0], self.addresses[NEW])?;
        Nginx::spawn(&command, folder, cores)
    }

    /// The new side, as nginx names a server.
    fn new_over(&self, over: Over) -> String {
        match over {
            Over::Tcp => self.addresses[NEW].to_string(),
            Over::Unix => format!("unix:{}", self.folder.path().join("new.sock").display()),
        }
    }

    fn addressed(&self, text: &str, over: Over) -> String {
        let text = text.replace(DEFAULTS[NEW], &self.new_over(over));
        let pairs = DEFAULTS.iter().zip(&self.addresses);
        pairs.fold(text, |text, (from, to)| text.replace(from, &to.to_string()))
    }
}

fn apply(folder: &Path, edit: &Edit) -> anyhow::Result<()> {
    let (Edit::Drop(name, _)
    | Edit::DropBlock(name, _)
    | Edit::Replace(name, ..)
    | Edit::Append(name, _)) = *edit;
    let file = folder.join(name);
    let text = fs::read_to_string(&file).with_context(|| name.to_owned())?;
    let mut lines = Vec::new();
    let (mut found, mut in_block) = (false, false);
    for line in text.lines() {
        let begins = |with: &str| line.trim_start().starts_with(with);
        let kept = match *edit {
            _ if in_block => {
                in_block = line.trim() != "}";
                None
            }
            Edit::Drop(_, with) if begins(with) => None,
            Edit::DropBlock(_, with) if begins(with) => {
                in_block = true;
                None
            }
            Edit::Replace(_, with, other) if begins(with) => Some(other),
            _ => {
                lines.push(line);
                continue;
            }
        };
        found = true;
        lines.extend(kept);
    }
    if let Edit::Append(_, line) = *edit {
        found = true;
        lines.push(line);
    }
    ensure!(found, "{name} has nothing for {edit:?}");
    fs::write(file, lines.join("\n") + "\n").with_context(|| name.to_owned())
}

/// What every configuration here begins with.
const HEAD: &str = "daemon off;\npid nginx.pid;\nerror_log stderr warn;\nworker_processes 1;\n\
    events { worker_connections 4096; }\nhttp {\n    access_log off;\n    keepalive_requests 10000000;\n    \
    client_body_temp_path client_body_temp;\n    proxy_temp_path proxy_temp;\n    \
    fastcgi_temp_path fastcgi_temp;\n    uwsgi_temp_path uwsgi_temp;\n    scgi_temp_path scgi_temp;\n";

fn barest_conf(proxy: SocketAddr, new: &str) -> String {
    format!(
        "{HEAD}    upstream new {{\n        server {new};\n        keepalive 256;\n        \
         keepalive_requests 10000;\n    }}\n    server {{\n        listen {proxy};\n        \
         location / {{\n            proxy_http_version 1.1;\n            \
         proxy_set_header Connection \"\";\n            proxy_pass http://new;\n        }}\n    }}\n}}\n"
    )
}

fn others_conf(addresses: &[SocketAddr]) -> String {
    let [_, _, _, old, shadow] = addresses else { return String::new() };
    let server = |listens: &SocketAddr, code: u16| {
        format!("    server {{ listen {listens}; location / {{ return {code}; }} }}\n")
    };
    format!("{HEAD}{}{}}}\n", server(old, 503), server(shadow, 204))
}

/// What stands behind nginx: qr-service, and another nginx that answers as the old side and the shadow do.
pub struct Behind {
    service: Nginx,
    _others: Nginx,
}

impl Behind {
    /// Starts qr-service on the cores of nginx, and the rest on others.
    ///
    /// # Errors
    /// If nginx or qr-service is missing or does not start.
    pub fn start(place: &Place, cores: &Cores, others: &Cores) -> anyhow::Result<Self> {
        let at = |name: &str| {
            let folder = place.folder.path().join(name);
            fs::create_dir(&folder).map(|()| folder)
        };
        let (of_others, of_service) = (at("others")?, at("service")?);
        fs::write(of_others.join("nginx.conf"), others_conf(&place.addresses))?;
        let others = Nginx::start(Command::new("nginx"), &of_others, "", others)?;
        others.wait(place.addresses[NEW + 1])?;
        let mut command = Command::new("chrt"); // as `make up` starts it
        command.args(["--batch", "0"]).arg(built("qr-service")?);
        let [port, socket] = [Over::Tcp, Over::Unix].map(|over| place.new_over(over));
        command.args(["--admin-addr", "127.0.0.1:0", "--addr", &format!("{port},{socket}")]);
        let service = Nginx::spawn(&command, &of_service, cores)?;
        service.wait(place.addresses[NEW])?;
        Ok(Behind { service, _others: others })
    }

    /// The process of qr-service.
    pub fn service(&self) -> i32 {
        self.service.root()
    }
}

/// A running nginx, or another server. It ends with this value.
pub struct Nginx {
    child: Child,
    /// Where it wrote what went wrong.
    errors: PathBuf,
}

impl Nginx {
    /// Starts nginx, or a program that starts it, with the files in this folder.
    ///
    /// # Errors
    /// If the program is missing.
    pub fn start(
        mut program: Command,
        folder: &Path,
        globals: &str,
        cores: &Cores,
    ) -> anyhow::Result<Self> {
        // Started by root, workers would be another user, who cannot look into the folder.
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        program.args(["-e", "stderr", "-g", &format!("{user} {globals}"), "-p"]).arg(folder);
        program.arg("-c").arg(folder.join("nginx.conf"));
        Self::spawn(&program, folder, cores)
    }

    fn spawn(program: &Command, folder: &Path, cores: &Cores) -> anyhow::Result<Self> {
        let errors = folder.join("errors.log");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "taskset", "-c", &cores.list()]);
        command.arg(program.get_program()).args(program.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&errors)?);
        Ok(Nginx { child: command.spawn().context("setpriv")?, errors })
    }

    /// The root of its process tree.
    pub fn root(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits until it listens.
    ///
    /// # Errors
    /// If it does not, with its own words.
    pub fn wait(&self, address: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(address).is_err() {
            let ended = fs::metadata(format!("/proc/{}/exe", self.root())).is_err();
            if ended || Instant::now() > deadline {
                bail!("it does not start: {}", fs::read_to_string(&self.errors)?.trim());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Ends it and waits for its end.
    pub fn end(self) {}
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A kill would leave workers behind.
        if let Some(pid) = Pid::from_raw(self.root()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
