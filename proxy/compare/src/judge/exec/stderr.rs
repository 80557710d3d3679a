//! Passes the program's standard error on to the log, up to a number of lines per second.

use std::time::{Duration, Instant};

use crate::judge::difference::cut;

const MAX_LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(1);
/// The longest line that is passed on; the rest of a longer one is dropped.
const MAX_LINE_BYTES: usize = 1024;

/// Turns bytes into lines of the log.
#[derive(Debug)]
pub(super) struct Log {
    program: String,
    line: Vec<u8>,
    period_start: Instant,
    lines: u32,
    dropped: u64,
}

impl Log {
    pub(super) fn new(program: &str) -> Self {
        Log {
            program: program.to_owned(),
            line: Vec::new(),
            period_start: Instant::now(),
            lines: 0,
            dropped: 0,
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let free = MAX_LINE_BYTES - self.line.len();
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.line.extend_from_slice(&text[..text.len().min(free)]);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.period_start.elapsed() >= PERIOD {
            self.report_dropped();
            (self.period_start, self.lines) = (Instant::now(), 0);
        }
        if self.lines == MAX_LINES {
            self.dropped += 1;
            return;
        }
        self.lines += 1;
        let text = cut(&String::from_utf8_lossy(&line), MAX_LINE_BYTES);
        tracing::warn!(program = self.program, text, "the judge's program wrote to stderr");
    }

    fn report_dropped(&mut self) {
        if self.dropped > 0 {
            let lines = self.dropped;
            tracing::warn!(program = self.program, lines, "dropped lines of the judge's program");
            self.dropped = 0;
        }
    }

    /// Passes on the last line even if it has no line end.
    pub(super) fn end(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.report_dropped();
    }
}
