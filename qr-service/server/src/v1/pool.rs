//! A few threads for work so slow that it would delay requests of `/qrcode`.
//!
//! They are a runtime of their own, at a lower priority than the threads that serve. Their queue is bounded; if it is
//! full, a request is refused at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::v1::fault::Refusal;

/// How much lower the priority is, in the units of `nice`.
const NICE: i32 = 10;

/// Longest time from request to result. It must stay well below the write timeout (`QR_WRITE_TIMEOUT`), after which the
/// server would close the connection without an answer. A debug build draws many times more slowly.
const MAX_WAIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 9 } else { 5 });

#[derive(Clone)]
pub(crate) struct Pool {
    threads: &'static Runtime,
    /// Places for jobs that run or wait.
    places: Arc<Semaphore>,
}

impl Pool {
    /// Starts `workers` threads, which go on to the end of the process. At most `queue` jobs wait for them.
    pub(crate) fn new(workers: usize, queue: usize) -> std::io::Result<Self> {
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads(workers.max(1)).thread_name("api");
        // On Linux this applies only to the calling thread. If it fails, the thread keeps its priority.
        #[cfg(target_os = "linux")]
        threads.on_thread_start(|| _ = rustix::process::nice(NICE));
        let threads = Box::leak(Box::new(threads.build()?));
        Ok(Pool { threads, places: Arc::new(Semaphore::new(workers.max(1) + queue)) })
    }

    /// Runs `job` on a worker and returns its result. If the client disconnects while the job waits, it is not run.
    /// Fails with [`Refusal::Busy`] if the queue is full or the result takes longer than [`MAX_WAIT`],
    /// [`Refusal::Internal`] if the job panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Refusal::Busy)?;
        let result = self.result(place, job);
        tokio::time::timeout(MAX_WAIT, result).await.unwrap_or(Err(Refusal::Busy))
    }

    /// Like [`Self::run`], but waits for a place in the queue and for the result as long as its caller does.
    pub(crate) async fn run_in_turn<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        // The semaphore is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await;
        self.result(place.map_err(|_| Refusal::Internal)?, job).await
    }

    async fn result<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        // Dropping it aborts a job that waits.
        let mut jobs = JoinSet::new();
        let job = async {
            let _place = place;
            job()
        };
        jobs.spawn_on(job, self.threads.handle());
        jobs.join_next().await.and_then(Result::ok).ok_or_else(|| {
            tracing::error!("a worker of the API panicked");
            Refusal::Internal
        })
    }
}

#[cfg(test)]
mod tests;
