//! Processor time a request, of nginx and of the process that reads its log, or of another proxy, and of qr-service
//! behind it on the same core; and the rate of both.

use std::process::Command;

use anyhow::ensure;

use super::{Behind, Nginx, Place, Way};
use crate::load;
use crate::sampling::cpu_seconds;
use crate::server::{Cores, built};
use crate::texts;

/// What a request costs.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Seconds of processor time of the proxy.
    pub proxy: f64,
    /// And of qr-service.
    pub behind: f64,
    /// Requests per second.
    pub rate: f64,
}

/// What a request costs under wrk, with so many connections for so many seconds.
///
/// # Errors
/// If nginx does not start, wrk fails or a request fails.
pub fn time(
    place: &Place,
    behind: &Behind,
    way: Way,
    (server_cores, load_cores): (&Cores, &Cores),
    connections: usize,
    seconds: u64,
) -> anyhow::Result<Spent> {
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
    let roots = [nginx.root(), behind.service()];
    let before = roots.map(|root| cpu_seconds(&[root]));
    let load = load(seconds)?;
    let after = roots.map(|root| cpu_seconds(&[root]));
    ensure!(load.errors == 0, "{}: {} requests failed", way.name(), load.errors);
    let [proxy, behind] = [0, 1].map(|at| (after[at] - before[at]) / load.requests);
    Ok(Spent { proxy, behind, rate: load.requests_per_second })
}
