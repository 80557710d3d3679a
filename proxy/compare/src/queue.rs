//! The queues between the proxy, which must not wait, and the comparisons, which take time. Each route has its own
//! queue, so that a route with many requests or a hung side does not delay the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::budget::{Budget, Turns};
use crate::metrics::Metrics;
use crate::mirrored::MirroredRequest;
use crate::name_counts::NameCounts;
use crate::routes::ComparedRoute;

/// The memory for the bodies of all requests that wait or are in progress. A queue holds a hundred requests, a body may
/// have up to 1 GiB, but on a cluster the whole process may use only 64 MiB.
const MAX_BODIES_BYTES: usize = 16 << 20;

/// Up to how many requests a shape is rare, and the most shapes of a route that are counted.
const RARE: u64 = 100;
const MOST_SHAPES: usize = 1000;

/// The sending end of the queues.
#[derive(Clone)]
pub(crate) struct Queue {
    /// The queue of each route, by the route's name.
    senders: Arc<HashMap<String, Sender<QueuedRequest>>>,
    bytes: Arc<Semaphore>,
    shapes: Arc<NameCounts>,
    pub(crate) metrics: Arc<Metrics>,
}

/// A request and its route.
pub(crate) struct QueuedRequest {
    pub(crate) asked: MirroredRequest,
    pub(crate) shape: String,
    pub(crate) watched: Arc<ComparedRoute>,
    /// Held until the comparison is done.
    pub(crate) room: Room,
}

/// Memory reserved for the body of one request.
type Room = OwnedSemaphorePermit;

/// The receiving end of the queues. It ends once every [`Queue`] is dropped and no request is left.
pub(crate) struct Waiting {
    receivers: Vec<Receiver<QueuedRequest>>,
    metrics: Arc<Metrics>,
}

/// Limits on the comparisons, whatever the proxy sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The number of comparisons of a route that run at once.
    pub(crate) concurrency: usize,
    /// The CPU time that comparisons may take, as a share of one core.
    pub(crate) cpu_share: f64,
}

/// Both ends of a queue of at most `length` requests for each route.
pub(crate) fn queue(
    length: usize,
    routes: &[Arc<ComparedRoute>],
    metrics: &Arc<Metrics>,
) -> (Queue, Waiting) {
    let (senders, receivers) = routes
        .iter()
        .map(|watched| {
            let (sender, receiver) = channel(length);
            ((watched.name().to_owned(), sender), receiver)
        })
        .unzip::<_, _, HashMap<_, _>, _>();
    let metrics = || Arc::clone(metrics);
    let bytes = Arc::new(Semaphore::new(MAX_BODIES_BYTES));
    (
        Queue {
            senders: Arc::new(senders),
            bytes,
            shapes: Arc::new(NameCounts::new(MOST_SHAPES)),
            metrics: metrics(),
        },
        Waiting { receivers, metrics: metrics() },
    )
}

impl Queue {
    /// Reserves memory for a body of this length. If there is none, counts the request as dropped and returns `None`.
    pub(crate) fn room_for(&self, body_bytes: usize, watched: &ComparedRoute) -> Option<Room> {
        let bytes = u32::try_from(body_bytes).ok();
        let room =
            bytes.and_then(|bytes| Arc::clone(&self.bytes).try_acquire_many_owned(bytes).ok());
        if room.is_none() {
            self.metrics.drop_one(watched.name());
        }
        room
    }

    /// Queues a request; drops and counts it if the queue is full. The second half of the queue is for rare shapes.
    pub(crate) fn put(&self, queued: QueuedRequest) {
        let Some(sender) = self.senders.get(queued.watched.name()) else { return };
        let seen = self.shapes.count(queued.watched.name(), &queued.shape);
        let is_common = seen.is_none_or(|seen| seen > RARE);
        if is_common && 2 * sender.capacity() <= sender.max_capacity() {
            return self.metrics.drop_one(queued.watched.name());
        }
        // Counts before sending, since a worker might otherwise take the request out before it is counted.
        self.metrics.queue_depth.inc();
        if let Err(TrySendError::Full(queued) | TrySendError::Closed(queued)) =
            sender.try_send(queued)
        {
            self.metrics.queue_depth.dec();
            self.metrics.drop_one(queued.watched.name());
        }
    }
}

impl Waiting {
    /// Runs `work` on each request within the limits of `pace`. `work` returns the time that it took in other
    /// processes. Returns once the queues have ended and all work is done.
    pub(crate) async fn work<F>(self, pace: Pace, work: impl Fn(QueuedRequest) -> F)
    where
        F: Future<Output = Duration> + Send + 'static,
    {
        let budget = Budget::new(pace.cpu_share);
        let Waiting { receivers, metrics } = self;
        let of_route =
            |receiver| work_of_route(receiver, pace.concurrency, budget.turns(), &metrics, &work);
        join_all(receivers.into_iter().map(of_route)).await;
    }
}

async fn work_of_route<F>(
    mut receiver: Receiver<QueuedRequest>,
    concurrency: usize,
    mut turns: Turns,
    metrics: &Metrics,
    work: &impl Fn(QueuedRequest) -> F,
) where
    F: Future<Output = Duration> + Send + 'static,
{
    let mut under_way = JoinSet::new();
    loop {
        let mut elsewhere = Duration::ZERO;
        while under_way.len() >= concurrency {
            elsewhere += under_way.join_next().await.and_then(Result::ok).unwrap_or_default();
        }
        turns.next(elsewhere).await;
        let Some(queued) = receiver.recv().await else { break };
        metrics.queue_depth.dec();
        under_way.spawn(work(queued));
    }
    while under_way.join_next().await.is_some() {}
}
