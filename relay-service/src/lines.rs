//! The lines that a sender gets while it waits and sends.

use bytes::Bytes;
use tokio::sync::mpsc;

/// Lines that wait for a sender who does not read. Any more are dropped: receivers that come and go
/// must not fill the memory.
const MAX_LINES: usize = 512;

/// Writes a sender's lines; the answer ends when all clones are dropped.
#[derive(Clone)]
pub(crate) struct Lines(mpsc::Sender<Bytes>);

impl Lines {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Bytes>) {
        let (lines, received) = mpsc::channel(MAX_LINES);
        (Lines(lines), received)
    }

    pub(crate) fn info(&self, text: &str) {
        self.write("INFO", text);
    }

    pub(crate) fn error(&self, text: &str) {
        self.write("ERROR", text);
    }

    /// Resolves once nobody reads the lines any more: the sender has left.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    fn write(&self, level: &str, text: &str) {
        // Full, or the sender has left.
        let _ = self.0.try_send(format!("[{level}] {text}\n").into());
    }
}
