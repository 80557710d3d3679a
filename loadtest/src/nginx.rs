//! Instructions a request: what nginx takes with its real configuration and with parts of it taken away, and what the
//! service behind it takes.
//!
//! Callgrind counts those of one process, without the kernel's. They repeat on a busy machine, so a later change of the
//! configuration, such as of its access log, is judged by them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use ramp::{Route, Wanted};
use stack::settings::repository;

use crate::cores::Cores;
use crate::ladder::{Figures, Plan};
use crate::rows::{Row, Way};
use crate::server::{Process, built};
use crate::texts::QRCODE;

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub enum Counted {
    /// nginx with `proxy_pass` to a group with kept connections, and nothing else.
    Barest,
    /// nginx with the files of `proxy/` after these edits.
    Ours(&'static [Edit]),
    /// A program of the build, by itself, asked for targets that begin so.
    Program(&'static str, &'static str),
}

/// A change to a copy of nginx' files. Lines are compared without the spaces around them.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// In this file, drops the lines that begin so, and with a block all to its `}`.
    Drop(&'static str, &'static str),
    /// Adds a line to this file.
    Append(&'static str, &'static str),
}
use Edit::{Append, Drop};

/// The rows; parts in the order of a request.
pub static COUNTED: [Row; 12] = [
    Row::counted(
        "barest",
        Counted::Barest,
        "nginx with the least that proxies over kept connections",
    ),
    Row::counted("ours", Counted::Ours(&[]), "nginx with its real configuration"),
    Row::counted(
        "without the choice of a side",
        Counted::Ours(&[
            Drop("locations.conf", "if ($request_uri !~"),
            Drop("routes.conf", "map $chosen_arm $qrcode_arm"),
            Append("routes.conf", "map \"\" $qrcode_arm { default new; }"),
        ]),
        "every request goes to the new side",
    ),
    Row::counted(
        "without the mirror",
        Counted::Ours(&[
            Drop("locations.conf", "mirror /"),
            Drop("locations.conf", "if ($qrcode_mirrored"),
        ]),
        "the shadow gets nothing",
    ),
    Row::counted(
        "without our headers to the side",
        Counted::Ours(&[
            Drop("nginx.conf", "proxy_set_header X-"),
            Drop("nginx.conf", "proxy_set_header Forwarded"),
            Drop("nginx.conf", "proxy_set_header Host"),
        ]),
        "Host, Forwarded and all X- are as nginx has them by itself",
    ),
    Row::counted(
        "without our headers to the client",
        Counted::Ours(&[
            Drop("nginx.conf", "proxy_hide_header"),
            Drop("nginx.conf", "add_header X-Request-Id"),
        ]),
        "none is hidden, and X-Request-Id is not added",
    ),
    Row::counted(
        "without the log on standard output",
        Counted::Ours(&[Drop("nginx.conf", "access_log /dev/stdout")]),
        "a collector gets nothing",
    ),
    Row::counted(
        "without the log for edge",
        Counted::Ours(&[Drop("nginx.conf", "access_log edge/access.log")]),
        "nothing counts what clients got",
    ),
    Row::counted(
        "static answer",
        Counted::Program("examples/static_answer", QRCODE),
        "a plain axum router without nginx",
    ),
    Row::counted("/qrcode", Counted::Program("qr-service", QRCODE), "qr-service without nginx"),
    Row::counted(
        "/v1/qr, the same picture",
        Counted::Program("qr-service", "/v1/qr?size=200&level=L&text="),
        "qr-service with options, without nginx",
    ),
    Row::counted(
        "/v1/qr",
        Counted::Program("qr-service", "/v1/qr?text="),
        "the same without options: 8 pixels a module, level M",
    ),
];

/// Connections of the clients: as many events as a busy worker finds at a time.
const CONNECTIONS: usize = 16;
/// Requests of the shorter run; the difference to the longer one is without start and end.
const FEWER: u64 = 160;

/// Counts the instructions of a row.
///
/// # Errors
/// If valgrind is missing, a program does not start, or an answer is not 200.
pub fn measure(row: &Row, plan: &Plan) -> anyhow::Result<Figures> {
    let Way::Counted(counted) = row.way else { bail!("{} is no row of this group", row.name) };
    let count = |requests| match counted {
        Counted::Program(program, target) => count_program(program, target, requests),
        _ => count_nginx(counted, requests),
    };
    let difference = count(FEWER + plan.counted)?.saturating_sub(count(FEWER)?);
    Ok(Figures::from([("instructions", difference as f64 / plan.counted as f64)]))
}

fn callgrind() -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind
}

/// Instructions of a run of a program of the build.
fn count_program(program: &str, target: &str, requests: u64) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let addr = service_kit::free_address()?;
    let mut command = callgrind();
    command.arg(built(program)?).arg(addr.to_string());
    if program == "qr-service" {
        command = callgrind();
        command.arg(built(program)?).env("QR_ADDR", addr.to_string());
        command.env("QR_ADMIN_ADDR", "127.0.0.1:0").env("QR_WORKER_THREADS", "1");
    }
    let process = Process::start(&command, &Cores::all(), folder.path(), addr)?;
    ask(addr, target, requests)?;
    collected(&process.end()?)
}

/// Instructions of a run of nginx, in one process, before qr-service and a second nginx in the place of the others.
fn count_nginx(counted: Counted, requests: u64) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).map(|()| folder)
    };
    let (proxy, others, service) = (at("proxy")?, at("others")?, at("service")?);
    // None of them is a default one, which would be replaced twice.
    let addresses = service_kit::free_addresses(DEFAULTS.len())?;
    let start = |command, folder: &Path, addr| {
        let nginx = nginx(command, folder);
        Process::start(&nginx, &Cores::all(), folder, addr)
    };
    fs::write(others.join("nginx.conf"), others_conf(&addresses))?;
    let _others = start(Command::new("nginx"), &others, addresses[3])?;
    let mut command = Command::new(built("qr-service")?);
    command.env("QR_ADDR", addresses[NEW].to_string()).env("QR_ADMIN_ADDR", "127.0.0.1:0");
    let _service = Process::start(&command, &Cores::all(), &service, addresses[NEW])?;

    match counted {
        Counted::Ours(edits) => write_ours(&proxy, &addresses, edits)?,
        _ => fs::write(proxy.join("nginx.conf"), barest_conf(addresses[0], addresses[NEW]))?,
    }
    let mut valgrind = callgrind();
    valgrind.arg("nginx");
    let process = start(valgrind, &proxy, addresses[0])?;
    ask(addresses[0], QRCODE, requests)?;
    collected(&process.end()?)
}

/// Adds what every nginx here is started with.
fn nginx(mut command: Command, folder: &Path) -> Command {
    // Started by root, a worker would be another user, who cannot look into the folder.
    let user = if rustix::process::geteuid().is_root() { "user root; " } else { "" };
    command.args(["-e", "stderr", "-g", &format!("{user}master_process off;"), "-p"]).arg(folder);
    command.arg("-c").arg(folder.join("nginx.conf"));
    command
}

/// What the proxy's files have: nginx, its admin listener, the new side, the old side, the shadow.
const DEFAULTS: [&str; 5] =
    ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:42069", "127.0.0.1:3000", "127.0.0.1:42080"];
const NEW: usize = 2;

/// Writes the files of `proxy/` with these addresses, after these edits.
///
/// # Errors
/// If a file cannot be read or written, or lacks what an edit changes.
pub fn write_ours(to: &Path, addresses: &[SocketAddr], edits: &[Edit]) -> anyhow::Result<()> {
    let source = repository().join("proxy");
    fs::create_dir_all(to.join("edge"))?;
    for entry in fs::read_dir(&source)? {
        let from = entry?.path();
        if from.extension().is_some_and(|ending| ending == "conf") {
            let text = fs::read_to_string(&from)?;
            let pairs = DEFAULTS.iter().zip(addresses);
            let text = pairs.fold(text, |text, (from, to)| text.replace(from, &to.to_string()));
            // As on `make up`, where `edge pipe` makes JSON of the log.
            let text = text
                .replace("worker_processes auto;", "worker_processes 1;")
                .replace("access_log /dev/stdout json", "access_log /dev/stdout compact");
            fs::write(to.join(from.file_name().unwrap_or_default()), text)?;
        }
    }
    let file = source.join("routes/qrcode.toml");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    ramp::prepare(to, &[Route::parse("qrcode", &text)?], &Wanted::default())?;
    ramp::prepare_stops(to, None)?;
    edits.iter().try_for_each(|edit| apply(to, *edit))
}

fn apply(folder: &Path, edit: Edit) -> anyhow::Result<()> {
    let (Drop(name, what) | Append(name, what)) = edit;
    let file = folder.join(name);
    let text = fs::read_to_string(&file).with_context(|| name.to_owned())?;
    let mut kept = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        let begins = matches!(edit, Drop(..)) && line.trim_start().starts_with(what);
        if begins || in_block {
            in_block = if begins { line.trim_end().ends_with('{') } else { line.trim() != "}" };
        } else {
            kept.push(line);
        }
    }
    if let Append(..) = edit {
        kept.push(what);
    }
    ensure!(kept.len() != text.lines().count(), "{name} has no line that begins with {what:?}");
    fs::write(file, kept.join("\n") + "\n").with_context(|| name.to_owned())
}

/// What every configuration here begins with.
const HEAD: &str = "daemon off;\npid nginx.pid;\nerror_log stderr warn;\nworker_processes 1;\n\
    events { worker_connections 4096; }\nhttp {\n    access_log off;\n    keepalive_requests 10000000;\n    \
    client_body_temp_path client_body_temp;\n    proxy_temp_path proxy_temp;\n    \
    fastcgi_temp_path fastcgi_temp;\n    uwsgi_temp_path uwsgi_temp;\n    scgi_temp_path scgi_temp;\n";

fn barest_conf(proxy: SocketAddr, new: SocketAddr) -> String {
    format!(
        "{HEAD}    upstream new {{\n        server {new};\n        keepalive 256;\n        \
         keepalive_requests 10000;\n    }}\n    server {{\n        listen {proxy};\n        \
         location / {{\n            proxy_http_version 1.1;\n            \
         proxy_set_header Connection \"\";\n            proxy_pass http://new;\n        }}\n    }}\n}}\n"
    )
}

/// The old side and the shadow.
fn others_conf(addresses: &[SocketAddr]) -> String {
    let server = |listens: SocketAddr, code: u16| {
        format!("    server {{ listen {listens}; location / {{ return {code}; }} }}\n")
    };
    format!("{HEAD}{}{}}}\n", server(addresses[3], 503), server(addresses[4], 204))
}

/// Sends so many requests over kept connections: one on each, then all answers are read.
fn ask(server: SocketAddr, target: &str, requests: u64) -> anyhow::Result<()> {
    let connect = || TcpStream::connect(server).map(BufReader::new);
    let mut streams: Vec<_> =
        (0..CONNECTIONS).map(|_| connect()).collect::<Result<_, _>>().context("the server")?;
    for first in (0..requests).step_by(CONNECTIONS) {
        for (number, stream) in (first..requests).zip(&mut streams) {
            // A link of 53 bytes, each another one.
            let head = format!(
                "GET {target}https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F{number:010} \
                 HTTP/1.1\r\nHost: {server}\r\nUser-Agent: loadtest\r\nAccept: */*\r\n\r\n"
            );
            stream.get_mut().write_all(head.as_bytes())?;
        }
        (first..requests).zip(&mut streams).try_for_each(|(_, stream)| read_answer(stream))?;
    }
    Ok(())
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> anyhow::Result<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head)? > 0, "the server closed a connection after {head:?}");
    }
    ensure!(head.starts_with("HTTP/1.1 200 "), "the server answered {head:?}");
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let mut lengths = headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, length) = lengths.next().with_context(|| format!("no length in {head:?}"))?;
    stream.read_exact(&mut vec![0; length.parse()?])?;
    Ok(())
}

/// The count in what callgrind has printed.
fn collected(said: &str) -> anyhow::Result<u64> {
    let count = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.with_context(|| format!("valgrind printed no count: {said}"))?;
    let count = count.trim().parse().context("valgrind's count")?;
    ensure!(count > 0, "valgrind counted nothing");
    Ok(count)
}
