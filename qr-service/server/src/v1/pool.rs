//! A few threads for work so slow that it would delay requests of `/qrcode`.
//!
//! They run at a lower priority than the threads that serve. Their queue is bounded; if it is full, a request is
//! refused at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
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

/// Time between attempts to get a place in the queue.
const RETRY: Duration = Duration::from_millis(20);

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
        let (job, result) = boxed(job);
        self.jobs.try_send(job).map_err(|_| Refusal::Busy)?;
        tokio::time::timeout(MAX_WAIT, result).await.unwrap_or(Err(Refusal::Busy))
    }

    /// Like [`Self::run`], but waits for a place in the queue and for the result as long as its caller does. A job is
    /// never submitted twice: its first run could still be going on.
    pub(crate) async fn run_in_turn<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (mut job, result) = boxed(job);
        while let Err(TrySendError::Full(refused)) = self.jobs.try_send(job) {
            job = refused;
            tokio::time::sleep(RETRY).await;
        }
        result.await
    }
}

/// The job, and its result once it has run.
fn boxed<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> (Job, impl Future<Output = Result<T, Refusal>>) {
    let (sender, receiver) = oneshot::channel();
    let job = move || {
        if !sender.is_closed() {
            // A panic drops the sender, which the receiver sees.
            if let Ok(result) = catch_unwind(AssertUnwindSafe(job)) {
                let _ = sender.send(result);
            }
        }
    };
    let result = async {
        receiver.await.map_err(|_| {
            tracing::error!("a worker of the API panicked");
            Refusal::Internal
        })
    };
    (Box::new(job), result)
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
