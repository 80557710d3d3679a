//! The checks before anything starts.

use std::fs;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use route::SideUrl;

use super::parts::filled;
use super::settings::{Settings, Sides};
use super::{port_holder, render};

const TOOLS: [(&str, &str); 3] =
    [("nginx", "nginx"), ("prometheus", "prometheus"), ("setpriv", "util-linux")];

/// How long parts may take to end that nobody supervises any more.
const PARTS_END: Duration = Duration::from_secs(15);
/// How long an address may be in use by no process that can be seen: one that ends, or another user's.
const NOBODY_HOLDS: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);

/// Checks that every program the stack needs is installed or built. The error lists the missing ones, and how to get
/// them.
pub fn check_tools(settings: &Settings) -> anyhow::Result<()> {
    let mut missing: Vec<String> = TOOLS
        .iter()
        .filter(|(program, _)| !is_on_path(program))
        .map(|(program, package)| format!("{program} (install {package})"))
        .collect();
    let words = render::words(settings, &[])?;
    for (needed, how) in settings.apps()?.part.into_iter().flat_map(|part| part.needs) {
        let needed = filled(&needed, &words)?;
        let is_there =
            if needed.contains('/') { Path::new(&needed).exists() } else { is_on_path(&needed) };
        let problem = format!("{needed} ({how})");
        if !is_there && !missing.contains(&problem) {
            missing.push(problem);
        }
    }
    ensure!(
        missing.is_empty(),
        "missing: {}; `make setup` installs all of it on Debian",
        missing.join(", ")
    );
    Ok(())
}

/// Whether a program is in one of the folders of PATH.
pub fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Checks that every address is free, and waits for the parts of a killed supervisor, which end once they have answered.
/// The error lists the addresses in use, with their variable and the process that holds them.
pub fn check_ports(settings: &Settings) -> anyhow::Result<()> {
    let run_dir = settings.run_dir.canonicalize()?;
    let began = Instant::now();
    let mut patience = NOBODY_HOLDS;
    loop {
        let mut problems = Vec::new();
        let mut free = Vec::new();
        for (variable, address, part) in settings.listeners()? {
            match TcpListener::bind(address) {
                Ok(listener) => free.push(listener),
                Err(error) => {
                    let holder = port_holder::find(address);
                    match holder.as_ref().and_then(|holder| holder.folder.as_ref()) {
                        Some(folder) if *folder == run_dir => patience = patience.max(PARTS_END),
                        Some(_) => patience = Duration::ZERO,
                        None => {}
                    }
                    let why =
                        holder.map_or_else(|| error.to_string(), |it| format!("held by {it}"));
                    problems.push(format!("{part} can't listen on {address} ({variable}): {why}"));
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        ensure!(began.elapsed() < patience, "{}", problems.join("\n"));
        thread::sleep(POLL);
    }
}

/// Checks that two servers that already run can be reached. The error names the one that cannot.
pub fn check_sides(settings: &Settings) -> anyhow::Result<()> {
    let Some(Sides { old, new }) = &settings.sides else { return Ok(()) };
    for (flag, url) in [("OLD, --old", old), ("NEW, --new", new)] {
        let problem = || format!("{url} ({flag}) does not answer");
        let reached = match url {
            SideUrl::Tcp(_) | SideUrl::Far(_) => {
                let server = url.server();
                let mut addresses = server.to_socket_addrs().with_context(problem)?;
                let within = Duration::from_secs(2);
                addresses.any(|address| TcpStream::connect_timeout(&address, within).is_ok())
            }
            SideUrl::Unix(path) => UnixStream::connect(path.path()).is_ok(),
        };
        ensure!(reached, problem());
    }
    Ok(())
}

/// Creates the run folder and the data folder, and checks that they are writable. The error names the folder.
pub fn check_folders(settings: &Settings) -> anyhow::Result<()> {
    for folder in [settings.run_dir.clone(), settings.data_dir()] {
        let problem = || format!("{} is not writable (STACK_RUN_DIR)", folder.display());
        fs::create_dir_all(&folder).with_context(problem)?;
        tempfile::tempfile_in(&folder).with_context(problem)?;
    }
    Ok(())
}
