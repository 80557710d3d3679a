//! Runs the service.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use service_kit::{Admin, Listener, shutdown_signal, telemetry};
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
    let (ready, is_ready) = oneshot::channel();
    let (stop, stopped) = channel();
    let (ended, has_ended) = oneshot::channel::<()>();
    let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let _ended = ended; // dropped when the thread ends, also by a panic
        read(follower, ready, &stopped);
    });
    let reader = reader.context("cannot start the reader's thread")?;
    tokio::spawn(status::watch(config.status_url, Arc::clone(&progress)));

    let metrics = Metrics::new(config.log, progress);
    let admin = Admin::new(move || metrics.encode());
    let is_ready = async {
        if is_ready.await.is_err() {
            std::future::pending().await // the reader has ended instead, and so does the service
        }
    };
    let end = async {
        tokio::select! {
            () = shutdown => {}
            _ = has_ended => {}
        }
    };
    service_kit::serve_admin(listener, admin, is_ready, end).await;
    drop(stop);
    ensure!(reader.join().is_ok(), "the reader failed");
    Ok(())
}

/// Polls until the other end of `stopped` is dropped; tells `ready` when the log is there.
fn read(mut follower: Follower, ready: oneshot::Sender<()>, stopped: &Receiver<()>) {
    let mut ready = Some(ready);
    loop {
        let has_more = follower.poll();
        if follower.has_log()
            && let Some(ready) = ready.take()
        {
            // Nobody waits for it once the service is ending.
            let _ = ready.send(());
        }
        let pause = if has_more { Duration::ZERO } else { POLL_PERIOD };
        match stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
