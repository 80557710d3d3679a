//! `carve serve`.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::{Context, ensure};
use clap::Args;
use parking_lot::Mutex;
use rollout::Environment;
use service_kit::{Admin, Listener};
use tokio::sync::oneshot;

use super::verdict;
use crate::place::{Place, Reports};
use crate::signals::Signals;

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve serve --target kubernetes --split-config-map qr/split")]
pub(crate) struct Serve {
    /// Listener of health, metrics and `/verdict?route=NAME`; must not be reachable from outside
    #[arg(
        long,
        env = "RAMP_ADMIN_ADDR",
        default_value = "127.0.0.1:42086",
        value_name = "IP:PORT"
    )]
    admin_addr: SocketAddr,
    /// The time between two judgements
    #[arg(long, default_value = "2s", value_name = "TIME")]
    every: humantime::Duration,
    #[command(flatten)]
    reports: Reports,
    #[command(flatten)]
    place: Place,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let place = &self.place;
        ensure!(
            place.is_cluster(),
            "serve needs --target kubernetes; on one machine, `carve ramp` carries out its run itself"
        );
        let signals = Signals::watch()?;
        let (dir, cluster, prometheus) = (place.dir()?, place.cluster()?, place.prometheus()?);
        fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bind = async || Listener::bind(self.admin_addr, "RAMP_ADMIN_ADDR");
        let listener = runtime.block_on(bind())?;
        let judged = Arc::new(verdict::Inputs {
            dir: dir.clone(),
            cluster: cluster.clone(),
            prometheus: prometheus.clone(),
            begun: Mutex::default(),
        });
        let (file, gauge) = (dir.join("ramp.prom"), verdict::gauge(Arc::clone(&judged)));
        let metrics = move || {
            let runs = fs::read_to_string(&file).map_err(|_| fmt::Error)?;
            Ok(runs + &gauge.lock())
        };
        let admin = Admin::new(metrics).with(verdict::routes(judged));
        let readiness = admin.readiness();
        let (end, ended) = oneshot::channel::<()>();
        let http = thread::spawn(move || {
            let ended = async {
                // The sender never sends; dropping it ends the wait.
                let _ = ended.await;
            };
            runtime.block_on(service_kit::serve_admin(listener, admin, ended));
        });
        let desk = Environment {
            dir: &dir,
            cluster: &cluster,
            prometheus: &prometheus,
            every: *self.every,
            interrupted: &signals.received,
            webhooks: place.webhooks(),
            report: self.reports.folder()?,
        };
        let outcome = rollout::serve(&desk, || readiness.store(true, Ordering::Relaxed));
        drop(end);
        ensure!(http.join().is_ok(), "the listener failed");
        outcome
    }
}
