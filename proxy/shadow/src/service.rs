//! Runs the service.

use std::sync::Arc;

use service_kit::{Admin, Listeners, shutdown_signal, telemetry};

use crate::app;
use crate::asked::Asked;
use crate::client::Client;
use crate::comparison::Comparer;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::queue::queue;
use crate::record::{Kept, Record};
use crate::verdict::Outcome;

/// Takes and compares requests until SIGTERM or SIGINT. After the signal, the requests that are
/// still queued are compared within the drain timeout.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let addr = (config.addr, "SHADOW_ADDR");
    let admin_addr = (config.admin_addr, "SHADOW_ADMIN_ADDR");
    let listeners = Listeners::bind(addr, admin_addr).await?;
    telemetry::init("shadow", config.log_level)?;
    let (addr, admin_addr) = (listeners.addr()?, listeners.admin_addr()?);
    let shutdown = shutdown_signal()?;
    tracing::info!(%addr, %admin_addr, "listening");

    let metrics = Arc::new(Metrics::new());
    let kept = Arc::new(Kept::default());
    let (queue, queued) = queue(config.queue_length, &metrics);
    let client = Client::new(config.request_timeout);
    let worker = Arc::new(Worker {
        comparer: Comparer { client, new: config.new_url, old: config.old_url },
        metrics: Arc::clone(&metrics),
        kept: Arc::clone(&kept),
        keep_text: config.keep_text,
    });
    let work = queued.work(config.pace, move |asked| Arc::clone(&worker).compare(asked));
    let work = tokio::spawn(work);
    let shown = Arc::clone(&metrics);
    let admin = Admin::new(move || shown.encode()).with(app::admin_router(kept));
    let rest = async {
        // Never fails: comparisons, which may panic, are tasks of their own.
        let _ = work.await;
    };
    // The router owns the queue's only entrance, so the queue ends with the last connection.
    let routes = app::router(queue);
    service_kit::serve(listeners, &config.serving, routes, admin, shutdown, rest).await;
    match metrics.queue_depth.get() {
        0 => {}
        left => tracing::warn!(left, "requests in the queue were not compared"),
    }
    Ok(())
}

struct Worker {
    comparer: Comparer,
    metrics: Arc<Metrics>,
    kept: Arc<Kept>,
    keep_text: bool,
}

impl Worker {
    /// Compares, counts, and keeps and logs the result if it is no match. The log never has the text.
    async fn compare(self: Arc<Self>, asked: Asked) {
        let comparison = self.comparer.compare(asked).await;
        self.metrics.observe(&comparison);
        let verdict = comparison.verdict;
        if verdict.outcome == Outcome::Match {
            return;
        }
        let request_id = comparison.asked.request_id.as_ref().and_then(|id| id.to_str().ok());
        let kind = verdict.kind.map(|kind| kind.as_str());
        tracing::warn!(request_id, result = verdict.outcome.as_str(), kind, "no match");
        self.kept.keep(Record::of(&comparison, self.keep_text));
    }
}
