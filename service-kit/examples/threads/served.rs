//! A service whose requests work a while, and share a limit, a counter and a background task.

use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use service_kit::metrics::{Connections, PerThread};
use service_kit::{
    Admin, Binding, Listeners, Serving, Threads, Timeouts, shutdown_signal, telemetry,
};
use tokio::sync::Semaphore;

use super::Serve;

/// What the requests of all threads share.
struct Shared {
    /// Exact: a thread takes a permit of the same number as all others.
    limit: Semaphore,
    /// Each thread counts for itself.
    answered: PerThread<AtomicU64>,
    /// Requests in the last second, by the background task.
    rate: AtomicU64,
    work: u64,
}

impl Shared {
    fn answered(&self) -> u64 {
        self.answered.all().map(|thread| thread.load(Ordering::Relaxed)).sum()
    }
}

/// Serves until a signal.
pub(crate) fn serve(arguments: &Serve) -> anyhow::Result<()> {
    let threads = Threads { count: arguments.threads, mode: arguments.mode };
    let shared = Arc::new(Shared {
        limit: Semaphore::new(arguments.limit),
        answered: PerThread::default(),
        rate: AtomicU64::new(0),
        work: arguments.work,
    });
    threads.runtime()?.block_on(run(threads, shared))
}

async fn run(threads: Threads, shared: Arc<Shared>) -> anyhow::Result<()> {
    let any: SocketAddr = "127.0.0.1:0".parse()?;
    let public = Binding { addresses: &[any.into()], variable: "none", takes_over: false };
    let listeners = Listeners::bind_for(threads, public, (any, "none")).await?;
    let _logging = telemetry::init("threads", tracing::Level::INFO)?;
    let shutdown = shutdown_signal()?;
    let (addr, admin_addr) = (listeners.addr()?, listeners.admin_addr()?);
    tracing::info!(%addr, %admin_addr, "listening");
    tokio::spawn(count_each_second(Arc::clone(&shared)));
    let routes = Router::new().route("/", get(answer)).route("/rate", get(rate));
    let limit = Duration::from_secs(10);
    let serving = Serving {
        service: "threads",
        timeouts: Timeouts { idle: limit, header: limit, write: limit },
        max_connections: 1000,
        connections: Connections::default(),
        shortcut: None,
        shutdown_delay: Duration::ZERO,
        drain_timeout: limit,
    };
    let admin = Admin::new(|| Ok("# EOF\n".to_owned()));
    let routes = routes.with_state(shared);
    service_kit::serve(listeners, &serving, routes, admin, shutdown, async {}).await
}

/// The background task.
async fn count_each_second(shared: Arc<Shared>) {
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answered = shared.answered();
        shared.rate.store(answered - before, Ordering::Relaxed);
        before = answered;
    }
}

async fn answer(State(shared): State<Arc<Shared>>) -> Response {
    let Ok(_permit) = shared.limit.try_acquire() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "at the limit\n").into_response();
    };
    let result = work(shared.work);
    shared.answered.mine().fetch_add(1, Ordering::Relaxed);
    format!("{result}\n").into_response()
}

async fn rate(State(shared): State<Arc<Shared>>) -> String {
    format!("{} a second, {} in all\n", shared.rate.load(Ordering::Relaxed), shared.answered())
}

/// Arithmetic in which each step waits for the one before.
fn work(rounds: u64) -> u64 {
    (0..rounds).fold(1, |value: u64, _| black_box(value.wrapping_mul(3).rotate_left(7)))
}

/// The rounds of [`work`] that take so long here, by the fastest of several runs.
pub(crate) fn rounds_in(time: Duration) -> u64 {
    const ROUNDS: u64 = 60_000;
    let took = (0..100).map(|_| {
        let start = Instant::now();
        black_box(work(ROUNDS));
        start.elapsed()
    });
    let fastest = took.min().unwrap_or(time);
    (ROUNDS as f64 * time.as_secs_f64() / fastest.as_secs_f64()) as u64
}
