//! The state that all routes and layers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::access_log::AccessLog;
use crate::engine::Engine;
use crate::metrics::Metrics;
use crate::tags::Tags;

pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) tags: Tags,
    pub(crate) metrics: Metrics,
    pub(crate) in_flight: Limit,
    pub(crate) access_log: AccessLog,
}

impl App {
    pub(crate) fn new(engine: Engine, max_in_flight: usize, access_log: AccessLog) -> Arc<Self> {
        Arc::new(App {
            engine,
            tags: Tags::new(engine),
            metrics: Metrics::new(engine),
            in_flight: Limit { most: max_in_flight, now: AtomicUsize::new(0) },
            access_log,
        })
    }
}

/// Bounds the number of requests in flight.
pub(crate) struct Limit {
    most: usize,
    now: AtomicUsize,
}

impl Limit {
    /// Takes a place until the permit is dropped; `None` if all are taken.
    pub(crate) fn acquire(&self) -> Option<Permit<'_>> {
        // The counter publishes no other data, so it needs no ordering.
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        let permit = Permit(&self.now);
        (before < self.most).then_some(permit)
    }
}

/// A place under a [`Limit`].
pub(crate) struct Permit<'a>(&'a AtomicUsize);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
