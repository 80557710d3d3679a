//! The shadow from its parts.

use std::future::Future;
use std::sync::Arc;

use service_kit::{Admin, Listeners};

use crate::app;
use crate::asked::Asked;
use crate::comparison::{Comparer, Comparison};
use crate::config::Config;
use crate::metrics::Metrics;
use crate::queue::queue;
use crate::record::{Kept, Record};
use crate::side::Client;
use crate::verdict::Outcome;

/// Serves and compares until `shutdown` resolves; what is queued by then is still compared, within
/// the drain timeout.
pub async fn run(config: Config, listeners: Listeners, shutdown: impl Future<Output = ()>) {
    let metrics = Arc::new(Metrics::new());
    let kept = Arc::new(Kept::default());
    let (queue, queued) = queue(config.queue_length, &metrics);
    let comparer = Arc::new(Comparer {
        client: Client::new(config.request_timeout),
        new: config.new_url,
        old: config.old_url,
    });
    let noted = (Arc::clone(&metrics), Arc::clone(&kept));
    let compare = move |asked: Asked| {
        let (comparer, (metrics, kept)) = (Arc::clone(&comparer), noted.clone());
        async move {
            let comparison = comparer.compare(asked).await;
            metrics.observe(&comparison);
            note(&comparison, &kept, config.keep_text);
        }
    };
    let work = tokio::spawn(queued.work(config.pace, compare));
    let shown = Arc::clone(&metrics);
    let admin = Admin::new(move || shown.encode()).with(app::admin_router(kept));
    // The routes hold the queue's only entrance: with the last connection it ends.
    let rest = async {
        // It has no way to panic; the comparisons, which may, are tasks of their own.
        let _ = work.await;
    };
    let routes = app::router(queue);
    service_kit::serve(listeners, &config.serving, routes, admin, shutdown, rest).await;
    match metrics.queue_depth.get() {
        0 => {}
        left => tracing::warn!(left, "requests in the queue were not compared"),
    }
}

/// Keeps what is no match, and says so; never the text.
fn note(comparison: &Comparison, kept: &Kept, keep_text: bool) {
    let verdict = comparison.verdict;
    if verdict.outcome == Outcome::Match {
        return;
    }
    let request_id = comparison.asked.request_id.as_ref().and_then(|id| id.to_str().ok());
    let kind = verdict.kind.map(|kind| kind.as_str());
    tracing::warn!(request_id, result = verdict.outcome.as_str(), kind, "no match");
    kept.keep(Record::of(comparison, keep_text));
}
