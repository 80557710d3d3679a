//! A few threads for work so slow that it would delay requests of `/qrcode`.
//!
//! They run at a lower priority than the threads that serve. Their queue is bounded; if it is full, a request is
//! refused at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::v1::fault::Refusal;

type Job = Box<dyn FnOnce() + Send>;

/// How much lower the priority is, in the units of `nice`.
const NICE: i32 = 10;

/// Longest time from request to result. It must stay well below the write timeout (`QR_WRITE_TIMEOUT`), after which the
/// server would close the connection without an answer. A debug build draws many times more slowly.
const MAX_WAIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 9 } else { 5 });

#[derive(Clone)]
pub(crate) struct Pool {
    jobs: SyncSender<Job>,
}

impl Pool {
    /// Starts `workers` threads. At most `queue` jobs wait for them.
    pub(crate) fn new(workers: usize, queue: usize) -> std::io::Result<Self> {
        let (jobs, receiver) = sync_channel(queue);
        let receiver = Arc::new(Mutex::new(receiver));
        for index in 0..workers.max(1) {
            let receiver = Arc::clone(&receiver);
            let work = move || work(&receiver);
            drop(thread::Builder::new().name(format!("api-{index}")).spawn(work)?);
        }
        Ok(Pool { jobs })
    }

    /// Runs `job` on a worker and returns its result. If the client disconnects while the job waits, it is not run.
    /// Fails with [`Refusal::Busy`] if the queue is full or the result takes longer than [`MAX_WAIT`],
    /// [`Refusal::Internal`] if the job panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if !sender.is_closed() {
                // A panic drops the sender, which the receiver sees.
                if let Ok(result) = catch_unwind(AssertUnwindSafe(job)) {
                    let _ = sender.send(result);
                }
            }
        };
        self.jobs.try_send(Box::new(job)).map_err(|_| Refusal::Busy)?;
        match tokio::time::timeout(MAX_WAIT, receiver).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) => {
                tracing::error!("a worker of the API panicked");
                Err(Refusal::Internal)
            }
            Err(_) => Err(Refusal::Busy),
        }
    }
}

/// Takes jobs until all senders are gone.
fn work(jobs: &Mutex<Receiver<Job>>) {
    // On Linux this applies only to the calling thread. If it fails, the thread keeps its priority.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests;
