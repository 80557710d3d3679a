//! Tells a request, instead of hyper, that its client has half-closed the connection.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// Signals that an HTTP/1 client has half-closed the connection. Unless
/// [`Serving::half_close`](super::Serving::half_close) is set, every request has one among its extensions. If the
/// request does not hold it, hyper drops the request when the client half-closes.
#[derive(Clone, Debug, Default)]
pub struct ClientEnd(Arc<HeldEnd>);

/// While a request holds one, hyper does not learn that the client has half-closed.
#[derive(Clone, Debug, Default)]
pub struct HeldEnd {
    has_come: CancellationToken,
    clones: Arc<()>,
}

impl ClientEnd {
    /// Takes over from hyper. Keep the returned value while the answer can go on without more input from the client.
    pub fn hold(&self) -> HeldEnd {
        HeldEnd::clone(&self.0)
    }

    /// Notifies the holders that the client has half-closed. Returns whether there are any.
    pub(super) fn tell(&self) -> bool {
        let is_held = Arc::strong_count(&self.0.clones) > 1;
        if is_held {
            self.0.has_come.cancel();
        }
        is_held
    }
}

impl HeldEnd {
    /// Resolves once the client has half-closed. By then everything that it sent has been read.
    pub async fn came(&self) {
        self.has_come.cancelled().await;
    }
}
