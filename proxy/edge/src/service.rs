//! Runs the service.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use service_kit::{Admin, Listener, Readiness, shutdown_signal, telemetry};
use tokio::sync::oneshot;

use crate::config::Config;
use crate::follow::Follower;
use crate::metrics::Metrics;
use crate::position::offset_file;
use crate::progress::Progress;
use crate::status;

const POLL_PERIOD: Duration = Duration::from_millis(200);

/// Reads the log and serves metrics until SIGTERM, SIGINT or SIGQUIT.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let listener = Listener::bind(config.admin_addr, "EDGE_ADMIN_ADDR")?;
    let _logging = telemetry::init("edge", config.log_level)?;
    std::panic::set_hook(Box::new(telemetry::log_panic));
    let shutdown = shutdown_signal()?;
    tracing::info!(admin_addr = %listener.addr, "listening");

    let offset_file = offset_file(&config.log);
    let progress = Arc::new(Progress::new(&config.routes, offset_file.clone()));
    let follower = Follower::new(config.log.clone(), &offset_file, Arc::clone(&progress));
    let metrics = Metrics::new(config.log, Arc::clone(&progress));
    let admin = Admin::new(move || metrics.encode());
    let readiness = admin.readiness();
    let (stop, stopped) = channel();
    let (ended, has_ended) = oneshot::channel::<()>();
    let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let _ended = ended; // dropped when the thread ends, also by a panic
        read(follower, &readiness, &stopped);
    });
    let reader = reader.context("cannot start the reader's thread")?;
    tokio::spawn(status::watch(config.status_url, progress));

    let end = async {
        tokio::select! {
            () = shutdown => tracing::info!("shutting down"),
            _ = has_ended => {}
        }
    };
    service_kit::serve_admin(listener, admin, end).await;
    drop(stop);
    ensure!(reader.join().is_ok(), "the reader failed");
    Ok(())
}

/// Polls until the other end of `stopped` is dropped; the service is ready once the log is there.
fn read(mut follower: Follower, readiness: &Readiness, stopped: &Receiver<()>) {
    loop {
        let has_more = follower.poll();
        if follower.has_log() {
            readiness.store(true, Ordering::Relaxed);
        }
        let pause = if has_more { Duration::ZERO } else { POLL_PERIOD };
        match stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
