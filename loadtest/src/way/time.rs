//! Processor time a request, of nginx and of the process that reads its log, or of another proxy.

use std::process::Command;

use anyhow::ensure;

use super::{Nginx, Place, Way};
use crate::load;
use crate::sampling::cpu_seconds;
use crate::server::{Cores, built};
use crate::texts;

/// Seconds of processor time per request, under wrk with so many connections for so many seconds.
///
/// # Errors
/// If nginx does not start, wrk fails or a request fails.
pub fn time(
    place: &Place,
    way: Way,
    (server_cores, load_cores): (&Cores, &Cores),
    connections: usize,
    seconds: u64,
) -> anyhow::Result<f64> {
    let folder = place.write(way)?;
    let nginx = match way {
        Way::Instead(other) => place.start(other, &folder, server_cores)?,
        _ => {
            // As `make up` starts it: the log goes through a pipe that `edge` reads.
            let mut edge = Command::new(built("edge")?);
            edge.args(["pipe", "nginx"]);
            Nginx::start(edge, &folder, "", server_cores)?
        }
    };
    nginx.wait(place.proxy())?;
    let url = format!("http://{}", place.proxy());
    let targets = folder.join("targets");
    texts::write_targets(&targets, &url, &texts::targets(texts::QRCODE, &texts::links()))?;
    let load = |seconds| load::closed(&targets, &url, load_cores, connections, seconds);
    load(1)?; // warm-up
    let before = cpu_seconds(&[nginx.root()]);
    let load = load(seconds)?;
    let spent = cpu_seconds(&[nginx.root()]) - before;
    ensure!(load.errors == 0, "{}: {} requests failed", way.name(), load.errors);
    Ok(spent / load.requests)
}
