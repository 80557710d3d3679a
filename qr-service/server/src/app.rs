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
    /// Makes the state, which is never dropped. With a counted reference, every request would write to the count, and
    /// all cores to the same cache line.
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
