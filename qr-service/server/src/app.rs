//! The state that all routes and layers share.

use service_kit::metrics::Connections;

use crate::access_log::AccessLog;
use crate::engine::Engine;
use crate::metrics::Metrics;
use crate::tags::Tags;

pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) tags: Tags,
    pub(crate) metrics: Metrics,
    pub(crate) access_log: AccessLog,
}

impl App {
    /// It is never dropped. A counted reference would have every request write to the count, and two cores to
    /// the same cache line.
    pub(crate) fn new(
        engine: Engine,
        access_log: AccessLog,
        connections: &Connections,
    ) -> &'static Self {
        Box::leak(Box::new(App {
            engine,
            tags: Tags::new(engine),
            metrics: Metrics::new(engine, connections),
            access_log,
        }))
    }
}
