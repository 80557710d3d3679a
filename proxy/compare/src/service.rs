//! Runs the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use service_kit::{Admin, Listener, shutdown_signal, telemetry};
use tokio::sync::oneshot;

use crate::app;
use crate::client::Client;
use crate::comparison::{Comparer, Noise};
use crate::config::Arguments;
use crate::fields::AllFields;
use crate::metrics::Metrics;
use crate::queue::{QueuedRequest, queue};
use crate::record::{RecentRecords, Record};
use crate::result::Outcome;
use crate::routes::ComparedRoute;

/// Accepts and compares requests until SIGTERM or SIGINT. After the signal, it still compares the queued requests
/// within the drain timeout. Fails if a port cannot be bound, or the comparisons end before a signal.
pub(crate) async fn run(
    settings: Arguments,
    client: Client,
    routes: Vec<Arc<ComparedRoute>>,
) -> anyhow::Result<()> {
    let admin_listener = Listener::bind(settings.admin_addr, "SHADOW_ADMIN_ADDR")?;
    let public = Listener::bind(settings.addr, "SHADOW_ADDR")?;
    let _logging = telemetry::init("shadow", settings.log_level)?;
    let shutdown = shutdown_signal()?;
    let (addr, admin_addr) = (&public.addr, &admin_listener.addr);
    tracing::info!(%addr, %admin_addr, "listening");

    // Starts the judges' programs before the metrics are made: a program reports its kinds of difference.
    for watched in &routes {
        if let Err(error) = watched.judge.start() {
            tracing::error!(route = watched.name(), error = format!("{error:#}"), "no judge yet");
        }
    }
    let metrics = Arc::new(Metrics::new(&routes));
    let kept = Arc::new(RecentRecords::default());
    let (queue, queued) = queue(settings.queue_length as usize, &routes, &metrics);
    let fields = Arc::new(AllFields::default());
    let worker = Arc::new(Worker {
        client,
        metrics: Arc::clone(&metrics),
        kept: Arc::clone(&kept),
        fields: Arc::clone(&fields),
        keep_text: settings.keep_text,
    });
    let work = queued.work(settings.pace(), move |queued| Arc::clone(&worker).compare(queued));
    let (working, work_ended) = oneshot::channel::<()>();
    let work = tokio::spawn(async move {
        let _working = working;
        work.await;
    });
    let has_failed = AtomicBool::new(false);
    let shutdown = async {
        tokio::select! {
            () = shutdown => {}
            // Before a shutdown, the work ends only by a panic. A shadow that compares nothing must not seem healthy.
            _ = work_ended => has_failed.store(true, Ordering::Relaxed),
        }
    };
    let shown = Arc::clone(&metrics);
    let admin = Admin::new(move || shown.encode()).with(app::admin_router(kept, fields));
    let rest = async {
        // Fails only if the task panicked, which `has_failed` reports.
        let _ = work.await;
    };
    // The router owns the only sender, so the queue ends with the last connection.
    let routes = app::router(queue, routes.into());
    let listeners = (vec![public], admin_listener);
    service_kit::serve(listeners, &settings.serving(), routes, admin, shutdown, rest).await;
    match metrics.queue_depth.get() {
        0 => {}
        left => tracing::warn!(left, "requests in the queue were not compared"),
    }
    ensure!(!has_failed.load(Ordering::Relaxed), "comparing requests has failed");
    Ok(())
}

struct Worker {
    client: Client,
    metrics: Arc<Metrics>,
    kept: Arc<RecentRecords>,
    fields: Arc<AllFields>,
    keep_text: bool,
}

impl Worker {
    /// For a random share of the requests (`shadow.noise`), compares two answers of the old side. For the others,
    /// compares the sides, counts the result, and keeps and logs it unless it is a match. The log never contains texts.
    /// Returns how long the user's own judge program took.
    async fn compare(self: Arc<Self>, queued: QueuedRequest) -> Duration {
        let QueuedRequest { asked, shape, watched, room: _room } = queued;
        let (client, keep_text) = (self.client.clone(), self.keep_text);
        let (noise, route) = (f64::from(watched.route.file.shadow.noise), Arc::clone(&watched));
        let comparer = Comparer { client, watched, keep_text };
        if 100.0 * fastrand::f64() < noise {
            if let Some(noise) = comparer.old_with_itself(&asked).await {
                self.metrics.observe_noise(route.name(), &noise);
                if let Noise::Judged(differences) = &noise {
                    self.fields.add(route.name(), true, differences.as_ref());
                }
            }
            return Duration::ZERO;
        }
        let comparison = comparer.compare(asked).await;
        self.metrics.observe(&comparison, &shape);
        let verdict = &comparison.verdict;
        if matches!(verdict.outcome, Outcome::Match | Outcome::Mismatch) {
            self.fields.add(route.name(), false, verdict.differences.as_ref());
        }
        let elsewhere = comparison.judged_elsewhere;
        if matches!(verdict.outcome, Outcome::Match | Outcome::Skipped) {
            return elsewhere;
        }
        let request_id = comparison.asked.request_id.as_ref().and_then(|id| id.to_str().ok());
        let kind = verdict.kind();
        let kind = kind.as_ref().map(crate::judge::Kind::as_str);
        let (route, problem) = (&*comparison.route, verdict.problem.as_deref());
        let result = verdict.outcome.into_str();
        tracing::warn!(request_id, route, result, kind, problem, "no match");
        self.kept.keep(Record::of(&comparison, self.keep_text));
        elsewhere
    }
}
