//! Instructions a request, by callgrind.

use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};

use super::clients::ask;
use super::{Nginx, Place, Way};
use crate::server::Cores;

/// Connections of the clients: as many events as a busy worker finds at a time.
const CONNECTIONS: usize = 16;
/// Requests of the shorter run; the difference to the longer one is without start and end.
const FEWER: usize = 10 * CONNECTIONS;

/// Instructions of nginx' one process per request, over so many requests. What stands behind nginx has to run.
///
/// # Errors
/// If valgrind is missing, or nginx does not start or does not answer 200.
pub fn count(place: &Place, way: Way, requests: usize) -> anyhow::Result<u64> {
    let more = run(place, way, FEWER + requests)?;
    Ok(more.saturating_sub(run(place, way, FEWER)?) / requests as u64)
}

fn run(place: &Place, way: Way, requests: usize) -> anyhow::Result<u64> {
    let folder = place.write(way)?;
    let said = folder.join("valgrind.log");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--log-file={}", said.display())).arg("nginx");
    let nginx = Nginx::start(valgrind, &folder, "master_process off;", &Cores::all())?;
    nginx.wait(place.proxy()).context("valgrind and nginx (make setup installs both)")?;
    ask(place.proxy(), requests, CONNECTIONS, "")?;
    nginx.end();
    collected(&fs::read_to_string(said).context("valgrind")?)
}

/// The count in what callgrind has printed.
///
/// # Errors
/// If there is none.
pub fn collected(said: &str) -> anyhow::Result<u64> {
    let count = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.with_context(|| format!("valgrind printed no count: {said}"))?;
    let count = count.trim().parse().context("valgrind's count")?;
    ensure!(count > 0, "valgrind counted nothing");
    Ok(count)
}
