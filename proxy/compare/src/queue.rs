//! The queue between the proxy, which must not wait, and the comparisons, which take time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::asked::Asked;
use crate::budget::Budget;
use crate::metrics::Metrics;
use crate::routes::Watched;

/// What the bodies of all requests that wait or are under way may take: the queue has places for a hundred,
/// a route's longest body may be 1 GiB, and on a cluster the whole process may take 64 MiB.
const MAX_BODIES_BYTES: usize = 16 << 20;

/// The queue's entrance.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: Sender<Queued>,
    bytes: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

/// A request and its route.
pub(crate) struct Queued {
    pub(crate) asked: Asked,
    pub(crate) watched: Arc<Watched>,
    /// Held until both sides have been asked.
    pub(crate) room: Room,
}

/// Room for the body of one request.
pub(crate) struct Room(#[allow(dead_code, reason = "ends with the request")] OwnedSemaphorePermit);

/// The queue's exit. It ends when every [`Queue`] is dropped and no request is left.
pub(crate) struct Waiting {
    receiver: Receiver<Queued>,
    metrics: Arc<Metrics>,
}

/// Limits on the comparisons, whatever the proxy sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Comparisons under way at once.
    pub(crate) concurrency: usize,
    /// CPU that they may take, as a share of one core.
    pub(crate) cpu_share: f64,
}

/// A queue of at most `length` requests.
pub(crate) fn queue(length: usize, metrics: &Arc<Metrics>) -> (Queue, Waiting) {
    let (sender, receiver) = channel(length);
    let metrics = || Arc::clone(metrics);
    let bytes = Arc::new(Semaphore::new(MAX_BODIES_BYTES));
    (Queue { sender, bytes, metrics: metrics() }, Waiting { receiver, metrics: metrics() })
}

impl Queue {
    /// Room for a body of so many bytes; counts the request as dropped if there is none.
    pub(crate) fn room_for(&self, body_bytes: usize, watched: &Watched) -> Option<Room> {
        let bytes = u32::try_from(body_bytes).ok();
        let room =
            bytes.and_then(|bytes| Arc::clone(&self.bytes).try_acquire_many_owned(bytes).ok());
        if room.is_none() {
            self.metrics.drop_one(watched.name());
        }
        room.map(Room)
    }

    /// Queues a request; drops and counts it if the queue is full.
    pub(crate) fn put(&self, queued: Queued) {
        // Counted first: afterwards, a worker might take the request out before it is counted.
        self.metrics.queue_depth.inc();
        if let Err(TrySendError::Full(queued) | TrySendError::Closed(queued)) =
            self.sender.try_send(queued)
        {
            self.metrics.queue_depth.dec();
            self.metrics.drop_one(queued.watched.name());
        }
    }

    /// Counts a request of no route.
    pub(crate) fn put_unknown(&self) {
        self.metrics.unknown.inc();
    }
}

impl Waiting {
    /// Runs `work` on each request within the limits of `pace`; it returns the time that it took in other processes.
    /// Returns when the queue has ended and all work is done.
    pub(crate) async fn work<F>(mut self, pace: Pace, work: impl Fn(Queued) -> F)
    where
        F: Future<Output = Duration> + Send + 'static,
    {
        let mut budget = Budget::new(pace.cpu_share);
        let mut under_way = JoinSet::new();
        loop {
            let mut elsewhere = Duration::ZERO;
            while under_way.len() >= pace.concurrency {
                elsewhere += under_way.join_next().await.and_then(Result::ok).unwrap_or_default();
            }
            budget.turn(elsewhere).await;
            let Some(queued) = self.receiver.recv().await else { break };
            self.metrics.queue_depth.dec();
            under_way.spawn(work(queued));
        }
        while under_way.join_next().await.is_some() {}
    }
}
