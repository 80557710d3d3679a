//! The queue between the proxy, which must not wait, and the comparisons, which take time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::asked::Asked;
use crate::metrics::Metrics;
use crate::routes::Watched;

/// The queue's entrance.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: Sender<Queued>,
    metrics: Arc<Metrics>,
}

/// A request and its route.
pub(crate) struct Queued {
    pub(crate) asked: Asked,
    pub(crate) watched: Arc<Watched>,
}

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
    /// Comparisons started per second.
    pub(crate) max_per_second: u32,
}

/// A queue of at most `length` requests.
pub(crate) fn queue(length: usize, metrics: &Arc<Metrics>) -> (Queue, Waiting) {
    let (sender, receiver) = channel(length);
    let metrics = || Arc::clone(metrics);
    (Queue { sender, metrics: metrics() }, Waiting { receiver, metrics: metrics() })
}

impl Queue {
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
    /// Runs `work` on each request within the limits of `pace`. Returns when the queue has ended and
    /// all work is done.
    pub(crate) async fn work<F>(mut self, pace: Pace, work: impl Fn(Queued) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut turn = interval(Duration::from_secs(1) / pace.max_per_second);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut under_way = JoinSet::new();
        loop {
            while under_way.len() >= pace.concurrency {
                under_way.join_next().await;
            }
            turn.tick().await;
            let Some(queued) = self.receiver.recv().await else { break };
            self.metrics.queue_depth.dec();
            under_way.spawn(work(queued));
        }
        while under_way.join_next().await.is_some() {}
    }
}
