//! Writes what is counted as JSON lines: to standard output, or to a file.
//!
//! The log itself is what waits while nobody reads the output: [`Printer`] goes on in it where it was, on a thread of its
//! own, so counting never waits. Lines that have waited for too long are left out by the thread that counts, which must
//! free the log; they are counted, and a line says how many.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use crate::json::Lines;
use crate::progress::Progress;

/// Between two looks at what is counted.
const POLL_PERIOD: Duration = Duration::from_millis(50);

/// Takes lines that are counted and neither written nor left out.
#[derive(Clone)]
pub(crate) struct Printer {
    progress: Arc<Progress>,
    lines: Lines,
    taken: Vec<u8>,
    json: Vec<u8>,
}

impl Printer {
    pub(crate) fn new(progress: Arc<Progress>, lines: Lines) -> Self {
        Printer { progress, lines, taken: Vec::new(), json: Vec::new() }
    }

    /// Writes lines until the other end of `stopped` is dropped and there are no more.
    pub(crate) fn run(mut self, mut to: impl Write, stopped: &Receiver<()>) {
        let mut said = 0;
        loop {
            if let Some(count) = self.next_lines() {
                let left_out = self.progress.left_out();
                let notice = if left_out > said { notice(left_out - said) } else { String::new() };
                let written = to.write_all(notice.as_bytes());
                match written.and_then(|()| to.write_all(&self.json)).and_then(|()| to.flush()) {
                    Ok(()) => said = left_out,
                    Err(_) => self.progress.leave_out(count), // the reader is gone, or the disk full
                }
            } else if let Err(RecvTimeoutError::Disconnected) = stopped.recv_timeout(POLL_PERIOD) {
                return;
            }
        }
    }

    /// Leaves out what is not kept. Called by the thread that counts.
    pub(crate) fn leave_out(&mut self) {
        while self.progress.is_far_behind()
            && let Some(count) = self.next_lines()
        {
            self.progress.leave_out(count);
        }
    }

    /// Makes `json` of the next lines, and returns of how many.
    fn next_lines(&mut self) -> Option<u64> {
        // The thread that counts reports errors of the log.
        if !self.progress.take_lines(&mut self.taken).unwrap_or_default() {
            return None;
        }
        self.json.clear();
        Some(self.lines.convert(&self.taken, &mut self.json))
    }
}

/// In the form of the other lines of the logs.
fn notice(left_out: u64) -> String {
    let time = humantime::format_rfc3339_millis(SystemTime::now());
    format!(
        "{{\"time\":\"{time}\",\"level\":\"warn\",\"msg\":\"lines left out, since nobody read them\",\
         \"service\":\"edge\",\"lines\":{left_out}}}\n"
    )
}
