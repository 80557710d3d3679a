//! hyper on several threads, each with a runtime and a listener of its own. With `apart`, they share nothing. With
//! `shared`, all requests share a limit, a counter and a background task, as in an article on hyper.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::bail;
use floors_rust::{answer, arguments, http, on_each_core};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Requests at work at once; a further one waits.
const LIMIT: usize = 64;

struct Shared {
    limit: Semaphore,
    answered: AtomicU64,
    /// Requests in the last second.
    rate: AtomicU64,
}

fn main() -> anyhow::Result<()> {
    let (addr, cores, more) = arguments()?;
    let shared = match more.first().map(String::as_str) {
        Some("apart") => None,
        Some("shared") => {
            let (answered, rate) = (AtomicU64::new(0), AtomicU64::new(0));
            let shared = Arc::new(Shared { limit: Semaphore::new(LIMIT), answered, rate });
            let counted = Arc::clone(&shared);
            std::thread::spawn(move || count_each_second(&counted));
            Some(shared)
        }
        other => bail!("{other:?}: must be apart or shared"),
    };
    on_each_core(addr, cores, move |listener| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(serve(listener, shared.clone()))
    })
}

/// The background task.
fn count_each_second(shared: &Shared) {
    let mut before = 0;
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let answered = shared.answered.load(Ordering::Relaxed);
        shared.rate.store(answered - before, Ordering::Relaxed);
        before = answered;
    }
}

async fn serve(
    listener: std::net::TcpListener,
    shared: Option<Arc<Shared>>,
) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let shared = shared.clone();
        let service = service_fn(move |request| {
            let shared = shared.clone();
            async move {
                let Some(shared) = &shared else { return answer(request).await };
                let _permit = shared.limit.acquire().await;
                shared.answered.fetch_add(1, Ordering::Relaxed);
                answer(request).await
            }
        });
        tokio::spawn(http().serve_connection(TokioIo::new(stream), service));
    }
}
