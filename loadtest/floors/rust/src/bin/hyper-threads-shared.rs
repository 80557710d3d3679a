//! hyper in a thread per core. The threads share a limit on requests at once, and a counter, which `/answered` shows.

use std::sync::atomic::{AtomicU64, Ordering};

use floors_rust::{Answer, answer, serve_on_each_core};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::sync::Semaphore;

/// Further requests wait.
static LIMIT: Semaphore = Semaphore::const_new(64);
static ANSWERED: AtomicU64 = AtomicU64::new(0);

fn main() -> anyhow::Result<()> {
    serve_on_each_core(limited)
}

async fn limited(request: Request<Incoming>) -> Answer {
    let _permit = LIMIT.acquire().await;
    if request.uri().path() == "/answered" {
        return Ok(Response::new(ANSWERED.load(Ordering::Relaxed).to_string().into()));
    }
    ANSWERED.fetch_add(1, Ordering::Relaxed);
    answer(request).await
}
