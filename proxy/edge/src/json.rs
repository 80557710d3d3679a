//! Converts a line of the access log to JSON.
//!
//! If nginx wrote the JSON itself, each request would cost a regular expression, four maps and a check of every byte
//! while the client waits. So nginx writes fields separated by tabs, and this module makes the same JSON, byte for
//! byte.

use std::hash::{DefaultHasher, Hasher};
use std::time::{Duration, UNIX_EPOCH};

use memchr::memchr_iter;

use crate::line::{Line, ServedBy, fields};

/// The route of the admin server's requests, which are counted but are not requests of clients.
const ADMIN: &[u8] = b"admin";
/// More bytes than a JSON line has besides the fields and their escapes.
const NAMES_BYTES: usize = 384;
/// The length of a date and time without a fraction.
const SECOND_BYTES: usize = "2026-01-01T00:00:00".len();
/// The first second of the year 10000, which RFC 3339 cannot express.
const END_OF_TIME: u64 = 253_402_300_800;

/// Makes the JSON lines of one log.
#[derive(Clone)]
pub(crate) struct Lines {
    /// Requests whose id has at least this hash are left out, unless something went wrong.
    least_left_out: u64,
    /// The second of the last line, since 1970, and its text, since most lines have the same second.
    second: Option<u64>,
    text: String,
}

impl Lines {
    /// Converts `percent` of the requests, and all failures, fallbacks and rescues.
    pub(crate) fn new(percent: f64) -> Self {
        // A cast of more than `u64::MAX` gives `u64::MAX`.
        let least_left_out = (percent / 100.0 * u64::MAX as f64) as u64;
        Lines { least_left_out, second: None, text: String::new() }
    }

    /// Appends the JSON of each of `lines`, which are whole, and returns the number of JSON lines. Leaves out lines of
    /// the admin server, of the share that is not chosen, malformed lines, and lines of older versions without the
    /// needed fields.
    pub(crate) fn convert(&mut self, lines: &[u8], to: &mut Vec<u8>) -> u64 {
        let (mut count, mut start) = (0, 0);
        for end in memchr_iter(b'\n', lines).chain([lines.len()]) {
            count += u64::from(self.put_request(&lines[start..end], to).is_some());
            start = (end + 1).min(lines.len());
        }
        count
    }

    /// Whether the request with this id is chosen. Depends only on the id, so that all proxies that a request passes
    /// make the same choice.
    fn is_chosen(&self, id: &[u8]) -> bool {
        let hash = || {
            let mut hasher = DefaultHasher::new();
            hasher.write(id);
            hasher.finish()
        };
        self.least_left_out == u64::MAX || hash() < self.least_left_out
    }

    /// Appends the JSON of a line without a newline, or nothing.
    fn put_request(&mut self, line: &[u8], to: &mut Vec<u8>) -> Option<()> {
        let fields = fields(line)?;
        let Line { ended_ms, route, .. } = Line::of(&fields)?;
        let [time, _, _, side, status, duration, sent, upstream, method, id, rest @ ..] = fields;
        let [trace, path, address, statuses, connects, headers, responses, ..] = rest;
        let is_error = status[0] == b'5';
        let went_wrong = is_error
            || matches!(ServedBy::parse(side), Some(ServedBy::Fallback | ServedBy::Rescue));
        if route == ADMIN || id.is_empty() || !went_wrong && !self.is_chosen(id) {
            return None;
        }
        let time_text = self.text_of(ended_ms / 1000)?;
        let needs_escape = |byte: u8| matches!(byte, b'"' | b'\\' | 0..b' ') && byte != b'\t';
        // Checks all bytes without ending early, which lets the compiler check many at once.
        let is_plain = line.iter().fold(true, |plain, &byte| plain & !needs_escape(byte));
        to.reserve(line.len() + NAMES_BYTES);
        to.extend_from_slice(b"{\"time\":\"");
        to.extend_from_slice(time_text.as_bytes());
        for (name, value) in [
            // The fraction of the second.
            ("", &time[time.len() - 4..]),
            ("+00:00\",\"level\":\"", if is_error { b"error" } else { &b"info"[..] }),
            ("\",\"msg\":\"request\",\"service\":\"nginx\",\"request_id\":\"", id),
            ("\",\"trace_id\":\"", trace),
            ("\",\"route\":\"", path),
            ("\",\"method\":\"", method),
            // 000 and 009, for requests without an answer, are not valid JSON numbers.
            ("\",\"status\":", if status[0] == b'0' { b"0" } else { status }),
            (",\"duration_seconds\":", duration),
            (",\"side\":\"", if side.is_empty() { b"none" } else { side }),
            ("\",\"remote_addr\":\"", address),
            ("\",\"bytes_sent\":", sent),
            (",\"upstream_addr\":\"", upstream),
            ("\",\"upstream_status\":\"", statuses),
            ("\",\"upstream_connect_seconds\":\"", connects),
            ("\",\"upstream_header_seconds\":\"", headers),
            ("\",\"upstream_response_seconds\":\"", responses),
        ] {
            to.extend_from_slice(name.as_bytes());
            if is_plain {
                to.extend_from_slice(value);
            } else {
                value.iter().for_each(|&byte| put_escaped(byte, to));
            }
        }
        to.extend_from_slice(b"\"}\n");
        Some(())
    }

    fn text_of(&mut self, second: u64) -> Option<&str> {
        if self.second != Some(second) && second < END_OF_TIME {
            let time = UNIX_EPOCH + Duration::from_secs(second);
            self.text = humantime::format_rfc3339_seconds(time).to_string();
            self.text.truncate(SECOND_BYTES);
            self.second = Some(second);
        }
        (self.second == Some(second)).then_some(&self.text)
    }
}

/// Escapes a byte as nginx does with `escape=json`.
fn put_escaped(byte: u8, to: &mut Vec<u8>) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789ABCDEF";
    match byte {
        b'"' | b'\\' => to.extend_from_slice(&[b'\\', byte]),
        b'\r' => to.extend_from_slice(b"\\r"),
        8 => to.extend_from_slice(b"\\b"),
        12 => to.extend_from_slice(b"\\f"),
        0..b' ' => {
            to.extend_from_slice(b"\\u00");
            to.extend([byte >> 4, byte & 15].map(|digit| HEXADECIMAL[usize::from(digit)]));
        }
        _ => to.push(byte),
    }
}

#[cfg(test)]
mod tests;
