//! A folder with nginx' files, and what stands behind nginx: another nginx that answers as the sides and the
//! shadow do.

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

use super::{Edit, Other, Way};
use crate::server::Cores;

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// What the proxy's files have, in the order of [`Place::addresses`].
const DEFAULTS: [&str; 5] =
    ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:42069", "127.0.0.1:3000", "127.0.0.1:42080"];
/// A picture of a link of 53 bytes has so many bytes.
const PICTURE_BYTES: usize = 393;

/// Servers behind nginx, and free addresses.
pub struct Place {
    folder: TempDir,
    /// The folder `proxy/` whose files are used.
    source: PathBuf,
    addresses: Vec<SocketAddr>,
    _backends: Nginx,
}

impl Place {
    /// Starts what stands behind nginx.
    ///
    /// # Errors
    /// If nginx is missing or does not start.
    pub fn new(source: &Path, backend_cores: &Cores) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        // None of them is a default one, which would be replaced twice.
        let addresses = service_kit::free_addresses(DEFAULTS.len())?;
        let backends = folder.path().join("backends");
        fs::create_dir(&backends)?;
        fs::write(backends.join("nginx.conf"), backends_conf(&addresses, &socket(folder.path())))?;
        let backends = Nginx::start(Command::new("nginx"), &backends, "", backend_cores)?;
        backends.wait(addresses[2])?;
        Ok(Place { folder, source: source.to_owned(), addresses, _backends: backends })
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
            Way::Barest | Way::BarestUnix => {
                let new = match way {
                    Way::Barest => self.addresses[2].to_string(),
                    _ => format!("unix:{}", socket(self.folder.path()).display()),
                };
                fs::write(to.join("nginx.conf"), barest_conf(self.proxy(), &new))?;
                return Ok(to);
            }
            Way::Instead(_) => return Ok(to),
            Way::Ours | Way::Without(_) => {}
        }
        for entry in fs::read_dir(&self.source)? {
            let from = entry?.path();
            if let (Some("conf"), Some(name)) =
                (from.extension().and_then(|it| it.to_str()), from.file_name())
            {
                fs::write(to.join(name), self.addressed(&fs::read_to_string(&from)?))?;
            }
        }
        let file = self.source.join("routes/qrcode.toml");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        ramp::prepare(&to, &[Route::parse("qrcode", &text)?], &Wanted::default())?;
        ramp::prepare_stops(&to, None)?;
        apply(&to, &Edit::Replace("nginx.conf", "worker_processes", "worker_processes 1;"))?;
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
        let command = other.command(folder, self.addresses[0], self.addresses[2])?;
        Nginx::spawn(&command, folder, cores)
    }

    fn addressed(&self, text: &str) -> String {
        let pairs = DEFAULTS.iter().zip(&self.addresses);
        pairs.fold(text.to_owned(), |text, (from, to)| text.replace(from, &to.to_string()))
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

/// Where the new side listens besides its address.
fn socket(folder: &Path) -> PathBuf {
    folder.join("new.sock")
}

fn barest_conf(proxy: SocketAddr, new: &str) -> String {
    format!(
        "{HEAD}    upstream new {{\n        server {new};\n        keepalive 256;\n        \
         keepalive_requests 10000;\n    }}\n    server {{\n        listen {proxy};\n        \
         location / {{\n            proxy_http_version 1.1;\n            \
         proxy_set_header Connection \"\";\n            proxy_pass http://new;\n        }}\n    }}\n}}\n"
    )
}

fn backends_conf(addresses: &[SocketAddr], socket: &Path) -> String {
    let body = "x".repeat(PICTURE_BYTES);
    let picture = format!(
        "default_type image/png; add_header Cache-Control \"public, max-age=86400\"; \
         add_header ETag '\"0123456789abcdef\"'; add_header X-Request-Id $http_x_request_id; \
         add_header X-Served-By qr-service; add_header X-Content-Type-Options nosniff; return 200 {body};"
    );
    let server = |listens: &str, does: &str| {
        format!("    server {{ listen {listens}; location / {{ {does} }} }}\n")
    };
    let [_, _, new, old, shadow] = addresses else { return String::new() };
    format!(
        "{HEAD}{}{}{}}}\n",
        server(&format!("{new}; listen unix:{}", socket.display()), &picture),
        server(&old.to_string(), &picture),
        server(&shadow.to_string(), "return 204;")
    )
}

/// A running nginx, or what stands in its place. It ends with this value.
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
