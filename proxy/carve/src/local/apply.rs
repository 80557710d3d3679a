//! Makes the running stack follow its files: route files and `carve.toml` when someone runs `carve apply`, and by
//! itself DNS names and certificates.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anstream::eprintln;
use anyhow::ensure;
use rollout::Changes;
use route::{CarveFile, Route};

use super::names::{self, Names};
use super::settings::{Settings, Sides};
use super::supervisor::Supervisor;
use super::{readiness, render};

/// How often names and certificates are checked. The resolver caches answers for their TTL.
const POLL: Duration = Duration::from_secs(2);
/// Each reload leaves old workers behind until their last stream ends. So a name whose addresses rotate causes at most
/// one in this time.
const SETTLES: Duration = Duration::from_secs(30);
/// How often the wait checks whether it is to end.
const NAP: Duration = Duration::from_millis(200);

/// Checks the route files and `carve.toml`, and makes the running nginx and the shadow follow them without losing a
/// request. Returns the routes that were added, changed and removed. Fails, and changes nothing, if nothing runs, a
/// file has a mistake, or nginx does not accept them.
pub fn apply(settings: &Settings) -> anyhow::Result<Changes> {
    let supervisor = Supervisor::new(settings.run_dir.clone());
    ensure!(supervisor.pid().is_some(), supervisor.nothing_runs());
    let exchanged = exchange(settings, || render::routes(settings))?;
    // The shadow reads the route files and carve.toml only when it starts.
    if exchanged != Changes::default() {
        supervisor.stop_part("shadow")?;
        supervisor.start_part("shadow")?;
        readiness::wait(settings, &supervisor, &["shadow".to_owned()])?;
    }
    Ok(exchanged)
}

fn exchange(
    settings: &Settings,
    read: impl FnOnce() -> anyhow::Result<(CarveFile, Vec<Route>)>,
) -> anyhow::Result<Changes> {
    rollout::exchange(&settings.machine(), || {
        let (carve, routes) = read()?;
        let files = render::included(settings, &carve, &routes)?;
        Ok((routes, files))
    })
}

/// The addresses and certificates that nginx has read, and does not read again by itself.
#[derive(PartialEq)]
struct NginxInputs {
    names: Names,
    certificates: Vec<Option<SystemTime>>,
}

impl NginxInputs {
    fn now(sides: &Sides, carve: &CarveFile, routes: &[Route]) -> Self {
        let changed = |file| fs::metadata(file).and_then(|file| file.modified()).ok();
        NginxInputs {
            names: names::lookup(render::urls(sides, carve, routes)),
            certificates: carve.files().map(changed).collect(),
        }
    }
}

/// Until `ended` is set, reloads nginx when DNS gives a side's name other addresses or a certificate file changes: at
/// once for a certificate or an address that no longer answers, else at most every 30 s. Does not apply route
/// files that have changed since the last `carve apply`.
pub fn keep(settings: &Settings, ended: &AtomicBool) {
    let Some(sides) = &settings.sides else { return };
    let mut seen: Option<NginxInputs> = None;
    let mut reloaded: Option<Instant> = None;
    while !ended.load(Ordering::Relaxed) {
        if let Ok((carve, routes)) = render::applied(settings) {
            let mut now = NginxInputs::now(sides, &carve, &routes);
            if let Some(seen) = &seen {
                // Keeps the known addresses of a name that DNS does not answer for.
                for (name, addresses) in &seen.names {
                    now.names.entry(name.clone()).or_insert_with(|| addresses.clone());
                }
            }
            let is_due = |seen: &NginxInputs| {
                *seen != now
                    && (reloaded.is_none_or(|it| it.elapsed() > SETTLES)
                        || seen.certificates != now.certificates
                        || !names::all_answer(&seen.names))
            };
            if seen.is_none() {
                seen = Some(now);
            } else if seen.as_ref().is_some_and(is_due) {
                match exchange(settings, || render::applied(settings)) {
                    Ok(_) => {
                        eprintln!("carve: nginx has read new addresses or certificates");
                        (seen, reloaded) = (Some(now), Some(Instant::now()));
                    }
                    Err(error) => eprintln!("carve: {error:#}"),
                }
            }
        }
        let naps = POLL.as_millis() / NAP.as_millis();
        (0..naps).take_while(|_| !ended.load(Ordering::Relaxed)).for_each(|_| thread::sleep(NAP));
    }
}
