//! hyper without a router. By default it runs a task per connection on tokio's threads, like the first server of
//! hyper's guide. With `apart`, each thread has its own runtime and listener and shares nothing. With `shared`, these
//! threads share a limit, a counter and a background task, as in an article on hyper.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use floors_rust::{answer, arguments, http, listener, on_each_core};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

struct Shared {
    /// Limit on requests at once; further ones wait.
    limit: Semaphore,
    answered: AtomicU64,
    /// Requests answered in the last second.
    rate: AtomicU64,
}

fn main() -> anyhow::Result<()> {
    let (addr, cores, more) = arguments()?;
    let (limit, answered, rate) = (Semaphore::new(64), AtomicU64::new(0), AtomicU64::new(0));
    let shared = Arc::new(Shared { limit, answered, rate });
    if more.is_empty() {
        return tokio::runtime::Runtime::new()?.block_on(serve(listener(addr)?, None));
    }
    let shared = (more == ["shared"]).then_some(shared);
    if let Some(shared) = shared.clone() {
        std::thread::spawn(move || count_each_second(&shared));
    }
    on_each_core(addr, cores, move |listener| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(serve(listener, shared.clone()))
    })
}

/// The background task.
fn count_each_second(shared: &Shared) {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        shared.rate.store(shared.answered.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

async fn serve(listener: std::net::TcpListener, shared: Option<Arc<Shared>>) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
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
