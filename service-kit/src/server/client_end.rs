//! A client that closes its direction of the connection, told to the request rather than to hyper.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The end of what a client sends over HTTP/1. Without [`Serving::half_close`](super::Serving::half_close), every
/// request has it among its extensions. If nobody holds it, hyper gives the request up when the client's direction
/// is closed.
#[derive(Clone, Debug, Default)]
pub struct ClientEnd(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    holders: AtomicUsize,
    has_come: AtomicBool,
    came: Notify,
}

/// While it is there, hyper does not hear of the client's end.
#[derive(Debug)]
pub struct HeldEnd(Arc<Shared>);

impl ClientEnd {
    /// Hears of the end from now on. The answer should keep this as long as it can do without the client's direction.
    pub fn hold(&self) -> HeldEnd {
        self.0.holders.fetch_add(1, Ordering::Relaxed);
        HeldEnd(Arc::clone(&self.0))
    }

    /// Tells those who hold it that it has come. Returns whether there are any.
    pub(super) fn tell(&self) -> bool {
        if self.0.holders.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.0.has_come.store(true, Ordering::Release);
        self.0.came.notify_waiters();
        true
    }
}

impl HeldEnd {
    /// Resolves once the client has closed its direction. All that it sent before has been read then.
    pub async fn came(&self) {
        let came = self.0.came.notified();
        if !self.0.has_come.load(Ordering::Acquire) {
            came.await;
        }
    }
}

impl Clone for HeldEnd {
    fn clone(&self) -> Self {
        ClientEnd(Arc::clone(&self.0)).hold()
    }
}

impl Drop for HeldEnd {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::Relaxed);
    }
}
