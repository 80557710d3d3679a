//! Runs the service.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::pipe::fcntl_setpipe_size;
use service_kit::{Admin, Listener, Readiness, shutdown_signal, telemetry};
use tokio::sync::oneshot;

use crate::config::Arguments;
use crate::follow::Follower;
use crate::json::Lines;
use crate::log_file::LogFile;
use crate::metrics::Metrics;
use crate::position::offset_files;
use crate::print::Printer;
use crate::progress::Progress;
use crate::status;

const POLL_PERIOD: Duration = Duration::from_millis(200);
/// The size of the pipe to the reader of the output: the most that a process may ask for by default (pipe(7)).
const PIPE_BYTES: usize = 1 << 20;

/// How long the printer may take for the remaining lines at the end. The rest is printed after the next start.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Reads and prints the log and serves metrics until SIGTERM, SIGINT or SIGQUIT. Fails if it cannot listen or open the
/// output file, or if the reader or the printer panics.
pub(crate) async fn run(settings: Arguments) -> anyhow::Result<()> {
    let output: Box<dyn Write + Send> = match &settings.json_file {
        Some(file) => Box::new(
            LogFile::open(file).with_context(|| format!("EDGE_JSON_FILE: {}", file.display()))?,
        ),
        None => {
            // A larger pipe wakes the reader of the output less often. Fails without permission, or if standard output
            // is not a pipe; it then stays as it is.
            let _ = fcntl_setpipe_size(io::stdout(), PIPE_BYTES);
            Box::new(io::stdout())
        }
    };
    let listener = Listener::bind(settings.admin_addr, "EDGE_ADMIN_ADDR")?;
    let _logging = telemetry::init("edge", settings.log_level)?;
    let shutdown = shutdown_signal()?;
    tracing::info!(admin_addr = %listener.addr, "listening");

    let (files, keep_bytes) = (offset_files(&settings.log), u64::from(settings.keep_mib) << 20);
    let progress = Arc::new(Progress::new(&settings.routes.0, files, keep_bytes));
    let printer = Printer::new(Arc::clone(&progress), Lines::new(settings.json_percent));
    let follower = Follower::new(settings.log.clone(), Arc::clone(&progress), printer.clone());
    let metrics = Metrics::new(settings.log, Arc::clone(&progress));
    let admin = Admin::new(move || metrics.encode());
    let readiness = admin.readiness();
    let (reading, stopped) = channel();
    let (reader, reader_ended) = start("reader", move || read(follower, &readiness, &stopped))?;
    let (printing, stopped) = channel();
    let (printer, printer_ended) = start("printer", move || printer.run(output, &stopped))?;
    let (status_url, watched) = (settings.status_url, Arc::clone(&progress));
    drop(start("status", move || status::watch(&status_url, &watched))?);

    let end = async {
        tokio::select! {
            () = shutdown => tracing::info!("shutting down"),
            _ = reader_ended => {}
            _ = printer_ended => {}
        }
    };
    service_kit::serve_admin(listener, admin, end).await;
    drop(reading);
    ensure!(reader.join().is_ok(), "the reader failed");
    drop(printing);
    let deadline = Instant::now() + LAST_LINES;
    while !printer.is_finished() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    let _ = progress.save(true); // the reader has logged errors
    ensure!(!printer.is_finished() || printer.join().is_ok(), "the printer failed");
    Ok(())
}

/// Runs `work` on a thread of its own. The returned receiver resolves when the thread ends, also by a panic.
fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> anyhow::Result<(JoinHandle<()>, oneshot::Receiver<()>)> {
    let (end, ended) = oneshot::channel();
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _end = end;
        work();
    });
    Ok((thread.context("cannot start a thread")?, ended))
}

/// Polls until the sender of `stopped` is dropped, and once more. The service is ready once the log exists.
fn read(mut follower: Follower, readiness: &Readiness, stopped: &Receiver<()>) {
    let mut is_over = false;
    while !is_over {
        let has_more = follower.poll();
        if follower.has_log() {
            readiness.store(true, Ordering::Relaxed);
        }
        let pause = if has_more { Duration::ZERO } else { POLL_PERIOD };
        is_over = stopped.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected);
    }
    follower.poll();
}

#[cfg(test)]
mod tests;
