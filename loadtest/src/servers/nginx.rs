//! Instructions per request: of nginx with its real configuration and without parts of it, and of the service behind
//! it.
//!
//! Callgrind counts the instructions of one process, without the kernel's. The counts are the same on a busy machine,
//! so they show the cost of a change of the configuration, such as of its access log.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use carve::local::{Settings, Share, Stack};

use crate::client::{self, Flow};
use crate::servers::cores::Cores;
use crate::servers::demonstration;
use crate::servers::plan::{Figures, Plan};
use crate::servers::rows::{Counted, Cut, Row, Way};
use crate::servers::server::{Process, built};
use crate::texts::QRCODE;

/// Connections of the clients: as many events as a busy worker finds at a time.
const CONNECTIONS: usize = 16;
/// Requests of the shorter run; the difference to the longer one is without start and end.
const FEWER: u64 = 160;

/// Counts the instructions of a row. Fails if valgrind is missing, a program does not start, or an answer is not 200.
pub(crate) fn measure(row: &Row, plan: &Plan) -> anyhow::Result<Figures> {
    let Way::Counted(counted) = row.way else { bail!("{} is no row of this group", row.name) };
    let difference = |count: &dyn Fn(u64) -> anyhow::Result<u64>| {
        anyhow::Ok(count(FEWER + plan.counted)?.saturating_sub(count(FEWER)?))
    };
    let cores = &plan.server_cores;
    let instructions = match counted {
        Counted::Program(program, target) => {
            difference(&|requests| count_program(program, (target, requests), cores))?
        }
        _ => {
            // The mirror of the route files.
            let mirror = Share::percent(10)?;
            let change = |it: &mut Settings| it.wanted.mirror = Some(mirror);
            let stack = Stack::start(&built("carve")?, Some(&demonstration()), change)?;
            difference(&|requests| count_nginx(&stack, counted, requests, cores))?
        }
    };
    Ok(Figures::from([("instructions", instructions as f64 / plan.counted as f64)]))
}

fn callgrind(program: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    valgrind
}

/// Counts the instructions of a run of one of our programs.
fn count_program(program: &str, asked: (&'static str, u64), cores: &Cores) -> anyhow::Result<u64> {
    let addr = service_kit::free_address()?;
    let mut command = callgrind(&built(program)?);
    if program == "qr-service" {
        command.env("QR_ADDR", addr.to_string()).env("QR_ADMIN_ADDR", "127.0.0.1:0");
        command.env("QR_WORKER_THREADS", "1");
    } else {
        command.args([&addr.to_string(), "1"]);
    }
    let folder = tempfile::tempdir()?;
    count(&command, folder.path(), addr, asked, cores)
}

/// Counts the instructions of a run of a second nginx, in one process, in front of the same servers as the stack's own.
fn count_nginx(stack: &Stack, what: Counted, requests: u64, cores: &Cores) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let addr = service_kit::free_address()?;
    match what {
        Counted::Without(lines) => write_ours(stack, folder.path(), addr, lines)?,
        _ => {
            let new = stack.settings().addresses.of("new");
            fs::write(folder.path().join("nginx.conf"), barest_conf(addr, new))?;
        }
    }
    let mut command = callgrind(Path::new("nginx"));
    // If root starts nginx, its worker would run as another user, who cannot read the folder.
    let user = if rustix::process::geteuid().is_root() { "user root; " } else { "" };
    command.args(["-e", "stderr", "-g", &format!("{user}master_process off;"), "-p"]);
    command.arg(folder.path()).arg("-c").arg(folder.path().join("nginx.conf"));
    count(&command, folder.path(), addr, (QRCODE, requests), cores)
}

/// Copies the files of the stack's nginx, with other addresses to listen on and without some lines.
fn write_ours(stack: &Stack, to: &Path, addr: SocketAddr, without: &[Cut]) -> anyhow::Result<()> {
    let mut copy = Command::new("cp");
    copy.arg("-rT").arg(stack.settings().nginx_dir()).arg(to);
    ensure!(copy.status().context("cp")?.success(), "nginx' files cannot be copied");
    for (name, listens) in
        [("listen.conf", addr), ("listen-admin.conf", service_kit::free_address()?)]
    {
        let file = to.join(name);
        let text = fs::read_to_string(&file).with_context(|| name.to_owned())?;
        let addresses = &stack.settings().addresses;
        let text = [addresses.proxy, addresses.proxy_admin]
            .iter()
            .fold(text, |text, mine| text.replace(&mine.to_string(), &listens.to_string()));
        fs::write(file, text)?;
    }
    without.iter().try_for_each(|lines| drop_lines(to, *lines))
}

fn drop_lines(folder: &Path, (name, with): Cut) -> anyhow::Result<()> {
    let file = folder.join(name);
    let text = fs::read_to_string(&file).with_context(|| name.to_owned())?;
    let mut kept = String::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with(with) {
            in_block = line.trim_end().ends_with('{');
        } else if in_block {
            in_block = line.trim() != "}";
        } else {
            kept += &format!("{line}\n");
        }
    }
    ensure!(kept.len() < text.len(), "{name} has no line that begins with {with:?}");
    fs::write(file, kept).with_context(|| name.to_owned())
}

fn barest_conf(proxy: SocketAddr, new: SocketAddr) -> String {
    format!(
        "daemon off;\npid nginx.pid;\nerror_log stderr warn;\nevents {{ worker_connections 4096; }}\n\
         http {{\n    access_log off;\n    keepalive_requests 10000000;\n    \
         client_body_temp_path client_body_temp;\n    proxy_temp_path proxy_temp;\n    \
         fastcgi_temp_path fastcgi_temp;\n    uwsgi_temp_path uwsgi_temp;\n    scgi_temp_path scgi_temp;\n    \
         upstream new {{\n        server {new};\n        keepalive 256;\n        \
         keepalive_requests 10000;\n    }}\n    server {{\n        listen {proxy};\n        \
         location / {{\n            proxy_http_version 1.1;\n            \
         proxy_set_header Connection \"\";\n            proxy_pass http://new;\n        }}\n    }}\n}}\n"
    )
}

/// Counts the instructions of a process that answers this many requests, each for a different link of 53 bytes.
fn count(
    command: &Command,
    folder: &Path,
    addr: SocketAddr,
    (target, requests): (&'static str, u64),
    cores: &Cores,
) -> anyhow::Result<u64> {
    let process = Process::start(command, cores, folder, addr)?;
    let link = "https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F";
    let load = client::measure(Flow {
        most: requests,
        connections: CONNECTIONS,
        ..Flow::new(addr, f64::INFINITY, move |number| format!("{target}{link}{number:010}"))
    })?;
    ensure!(load.errors.is_empty(), "requests failed: {:?}", load.errors);
    let said = process.end()?;
    let count = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.with_context(|| format!("valgrind printed no count: {said}"))?;
    count.trim().parse().context("valgrind's count")
}
