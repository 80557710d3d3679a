//! A client that closes its direction of the connection, told to the request rather than to hyper.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// The end of what a client sends over HTTP/1. Without [`Serving::half_close`](super::Serving::half_close), every
/// request has it among its extensions. If nobody holds it, hyper gives the request up when the client's direction
/// is closed.
#[derive(Clone, Debug, Default)]
pub struct ClientEnd(Arc<HeldEnd>);

/// While there is one besides the first, hyper does not hear of the client's end.
#[derive(Clone, Debug, Default)]
pub struct HeldEnd {
    has_come: CancellationToken,
    clones: Arc<()>,
}

impl ClientEnd {
    /// Hears of the end from now on. The answer should keep this as long as it can do without the client's direction.
    pub fn hold(&self) -> HeldEnd {
        HeldEnd::clone(&self.0)
    }

    /// Tells those who hold it that it has come. Returns whether there are any.
    pub(super) fn tell(&self) -> bool {
        let is_held = Arc::strong_count(&self.0.clones) > 1;
        if is_held {
            self.0.has_come.cancel();
        }
        is_held
    }
}

impl HeldEnd {
    /// Resolves once the client has closed its direction. All that it sent before has been read then.
    pub async fn came(&self) {
        self.has_come.cancelled().await;
    }
}
