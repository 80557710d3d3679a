//! Sessions that have ended, described without key or content, so that the shadow can play them again.
//!
//! `/sessions` on the admin listener shows the last ones, one JSON object a line; `/waiting` shows the keys on
//! which somebody waits, as digests, so that the homes see a key that waits on both sides.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::request::Parts;
use sha2::{Digest, Sha256};

use crate::multipart;

/// Sessions that are kept. The shadow looks once a second, and plays a few.
const KEPT: usize = 64;
/// Receivers whose time is told.
const TOLD: usize = 8;
/// On the requests of a session that is played again. nginx takes it from clients.
const REPLAYED: &str = "x-route-shadow";

/// One who has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) at: Instant,
    /// Part of a session that is played again, which is neither counted nor kept.
    pub(crate) is_replayed: bool,
    method: &'static str,
    is_multipart: bool,
    /// Whether the head says how long the body is.
    has_length: bool,
}

impl Came {
    pub(crate) fn now(request: &Parts) -> Self {
        Came {
            at: Instant::now(),
            is_replayed: request.headers.contains_key(REPLAYED),
            method: if request.method == "POST" { "POST" } else { "PUT" },
            is_multipart: multipart::boundary(&request.headers).is_some(),
            has_length: request.headers.contains_key(http::header::CONTENT_LENGTH),
        }
    }
}

/// A session: who came when.
#[derive(Debug)]
pub(crate) struct Session {
    sender: Option<Came>,
    receivers: Vec<Instant>,
    n: usize,
}

impl Session {
    /// A pair.
    pub(crate) fn of_pair(sender: Came, receivers: Vec<Instant>) -> Self {
        Session { sender: Some(sender), n: receivers.len(), receivers }
    }

    /// One who waited for nothing.
    pub(crate) fn of_one(came: Came, sends: bool) -> Self {
        let receivers = if sends { Vec::new() } else { vec![came.at] };
        Session { sender: sends.then_some(came), receivers, n: 1 }
    }

    /// Whether it was a session played again.
    pub(crate) fn is_replayed(&self) -> bool {
        self.sender.is_some_and(|sender| sender.is_replayed)
    }

    fn all(&self) -> impl Iterator<Item = Instant> {
        self.sender.iter().map(|sender| sender.at).chain(self.receivers.iter().copied())
    }

    /// When the last one came.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.all().max()
    }

    /// From the first one's coming to the last one's.
    pub(crate) fn pairing(&self) -> Duration {
        match (self.all().min(), self.last()) {
            (Some(first), Some(last)) => last - first,
            _ => Duration::ZERO,
        }
    }

    /// One line of JSON. All that it quotes are words of this file.
    fn describe(&self, id: u64, end: &str, bytes: u64) -> String {
        let first = self.all().min();
        let after = |at: Instant| first.map_or(0, |first| (at - first).as_millis());
        let mut line = format!("{{\"id\":{id},\"n\":{}", self.n);
        let mut came: Vec<(u128, &str)> =
            self.receivers.iter().take(TOLD).map(|&at| (after(at), "receiver")).collect();
        if let Some(sender) = self.sender {
            came.push((after(sender.at), "sender"));
            let framing = if sender.has_length { "length" } else { "chunked" };
            let (method, multipart) = (sender.method, sender.is_multipart);
            let _ = write!(
                line,
                ",\"method\":\"{method}\",\"framing\":\"{framing}\",\"multipart\":{multipart}"
            );
        }
        came.sort_by_key(|(after, _)| *after);
        let came: Vec<String> =
            came.iter().map(|(after, who)| format!("[\"{who}\",{after}]")).collect();
        let _ = write!(line, ",\"came\":[{}]", came.join(","));
        let _ = write!(line, ",\"bytes\":{bytes},\"end\":\"{end}\"}}");
        line
    }
}

/// The last sessions.
#[derive(Debug)]
pub(crate) struct Sessions(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    lines: VecDeque<String>,
    next: u64,
}

impl Sessions {
    /// None yet. Ids go on rising after a restart, and are whole numbers in JavaScript too.
    pub(crate) fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let next = since_1970.map_or(1, |time| time.as_secs() * 1_000_000);
        Sessions(Mutex::new(Kept { lines: VecDeque::with_capacity(KEPT), next }))
    }

    /// Keeps a session that has ended, and forgets the oldest.
    pub(crate) fn keep(&self, session: &Session, end: &str, bytes: u64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.lines.len() == KEPT {
            kept.lines.pop_front();
        }
        let line = session.describe(kept.next, end, bytes);
        kept.next += 1;
        kept.lines.push_back(line);
    }

    /// Those that are kept, the oldest first, one a line.
    pub(crate) fn lines(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The first 16 hexadecimal digits of a key's SHA-256.
pub(crate) fn digest(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest[..8].iter().fold(String::with_capacity(16), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
