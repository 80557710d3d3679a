//! Writes the counted lines as JSON to standard output or to a file.
//!
//! [`Printer`] reads the lines from the log on a thread of its own, so counting never waits. While nobody reads the
//! output, the lines stay in the log. The counting thread must free the log, so it drops lines that have waited for too
//! long. The dropped lines are counted, and a line of output has their number.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use crate::json::Lines;
use crate::progress::Progress;

/// The pause before the printer checks again for counted lines.
const POLL_PERIOD: Duration = Duration::from_millis(50);

/// Takes the counted lines that were neither written nor dropped yet.
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

    /// Writes lines until the sender of `stopped` is dropped and no lines are left.
    pub(crate) fn run(mut self, mut to: impl Write, stopped: &Receiver<()>) {
        let mut said = 0;
        loop {
            if let Some(count) = self.next_lines() {
                let left_out = self.progress.done().left_out;
                let notice = if left_out > said { notice(left_out - said) } else { String::new() };
                let written = to.write_all(notice.as_bytes());
                match written.and_then(|()| to.write_all(&self.json)).and_then(|()| to.flush()) {
                    Ok(()) => said = left_out,
                    // The reader is gone, or the disk is full.
                    Err(_) => self.progress.done().left_out += count,
                }
            } else if let Err(RecvTimeoutError::Disconnected) = stopped.recv_timeout(POLL_PERIOD) {
                return;
            }
        }
    }

    /// Drops lines beyond the limit. Called by the counting thread.
    pub(crate) fn leave_out(&mut self) {
        while self.progress.is_far_behind()
            && let Some(count) = self.next_lines()
        {
            self.progress.done().left_out += count;
        }
    }

    /// Converts the next lines to `json` and returns their number; `None` if there are none.
    fn next_lines(&mut self) -> Option<u64> {
        // The counting thread reports errors of the log.
        if !self.progress.take_lines(&mut self.taken).unwrap_or_default() {
            return None;
        }
        self.json.clear();
        Some(self.lines.convert(&self.taken, &mut self.json))
    }
}

/// The line that reports dropped lines, in the form of the other log lines.
fn notice(left_out: u64) -> String {
    let time = humantime::format_rfc3339_millis(SystemTime::now());
    format!(
        "{{\"time\":\"{time}\",\"level\":\"warn\",\"msg\":\"lines left out, since nobody read them\",\
         \"service\":\"edge\",\"lines\":{left_out}}}\n"
    )
}

#[cfg(test)]
mod tests;
