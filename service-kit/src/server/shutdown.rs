//! The signals that end a service.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::Error;

/// Returns a future that resolves at the first SIGTERM, SIGINT or SIGQUIT. A second signal ends the process at once,
/// with exit code 130. SIGQUIT counts because nginx drains on it, so a service beside nginx may get it too. Fails if a
/// handler cannot be installed. Call this inside a tokio runtime.
pub fn shutdown_signal() -> Result<impl Future<Output = ()>, Error> {
    let listen = |kind, name| signal(kind).map_err(|source| Error::Signal { signal: name, source });
    let mut terminate = listen(SignalKind::terminate(), "SIGTERM")?;
    let mut interrupt = listen(SignalKind::interrupt(), "SIGINT")?;
    let mut quit = listen(SignalKind::quit(), "SIGQUIT")?;
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = quit.recv() => {}
        }
    };
    let received = CancellationToken::new();
    let first = received.clone();
    tokio::spawn(async move {
        next().await;
        first.cancel();
        next().await;
        tracing::warn!("second signal: ending at once");
        std::process::exit(130);
    });
    Ok(received.cancelled_owned())
}
