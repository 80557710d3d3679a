//! Decides whether two answers to the same request are the same. A route chooses its judge by name:
//! [`JudgeSettings`].
//!
//! The first rule that applies gives the [`Verdict`]:
//!
//! 1. Both sides refuse the request as too large (414 or 431): the same, since this answer comes from the server and
//!    not from the app.
//! 2. The statuses differ: `status`.
//! 3. Each compared header that differs is a difference of kind `header`. A header that both lack is equal.
//!    Content-Types are equal if they mean the same: `text/html; charset=UTF-8` and `text/html;charset=utf-8`, or
//!    `application/json` with and without `charset=utf-8`. Lists, such as Cache-Control's directives, have no order and
//!    ignore case; a cookie is its name and attributes, without value and date; of an ETag only its presence counts.
//! 4. The judge compares the bodies; their differences follow those of the headers. Bodies that are equal byte by byte
//!    are the same, except that `qr` and `exec` judge equal bodies too.

mod bytes;
mod difference;
mod exec;
mod headers;
mod image;
mod json;
mod qr;
mod text;

use http::{HeaderMap, HeaderName};
use route::JudgeSettings;
use serde::Serialize;
use serde_json::Value;

pub use bytes::Digest;
use difference::DifferenceList;
pub use difference::{Difference, Differences, Kind, Verdict};
pub use exec::{Failure, Stats};

/// The request that both sides answered.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RequestLine<'a> {
    /// `GET`, for example.
    pub method: &'a str,
    /// Path and query, as sent.
    pub target: &'a str,
}

/// One side's answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The whole body, without content codings (RFC 9110, 8.4).
    pub body: &'a [u8],
}

/// Compares pairs of answers. Can be shared between threads.
#[derive(Debug)]
pub struct Judge {
    headers: Vec<HeaderName>,
    bodies: Bodies,
}

/// How bodies are compared.
#[derive(Debug)]
enum Bodies {
    Bytes,
    Text(text::Rules),
    Json(json::Rules),
    Qr,
    Image(image::Limits),
    Exec(Box<exec::Exec>),
}

impl Judge {
    /// A judge that compares these headers and the bodies. The program of `exec` is not started yet. Fails if a
    /// setting's value is out of range; the error names the setting.
    pub fn new(settings: &JudgeSettings, headers: Vec<HeaderName>) -> anyhow::Result<Self> {
        let bodies = match settings {
            JudgeSettings::Bytes {} => Bodies::Bytes,
            JudgeSettings::Text(settings) => Bodies::Text(text::Rules::new(settings)?),
            JudgeSettings::Json(settings) => Bodies::Json(json::Rules::new(settings)?),
            JudgeSettings::Qr {} => Bodies::Qr,
            JudgeSettings::Image(settings) => Bodies::Image(image::Limits::new(settings)?),
            JudgeSettings::Exec(settings) => Bodies::Exec(Box::new(exec::Exec::new(settings)?)),
            JudgeSettings::Session {} => {
                anyhow::bail!("session: two answers to one request cannot judge a session")
            }
        };
        Ok(Judge { headers, bodies })
    }

    /// Starts the program of `exec` and waits for its hello, which declares its [kinds](Judge::kinds). Without this
    /// call, the first pair starts the program. Does nothing for other judges. Fails if the program cannot be started,
    /// or sends no valid hello within `start_timeout`.
    pub fn start(&self) -> anyhow::Result<()> {
        match &self.bodies {
            Bodies::Exec(exec) => exec.start(),
            _ => Ok(()),
        }
    }

    /// Compares two answers to `asked`. Blocks the thread: decoding pictures takes milliseconds, and `exec` waits up to
    /// its `timeout`, or up to twice that if the program is busy or starting.
    pub fn compare(&self, asked: &RequestLine<'_>, old: &Answer<'_>, new: &Answer<'_>) -> Verdict {
        let mut found = match self.compare_heads(old, new) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
        match &self.bodies {
            Bodies::Qr => qr::compare(asked, old, new, &mut found),
            Bodies::Exec(exec) => match exec.compare(asked, old, new) {
                Verdict::Same => {}
                Verdict::Different(others) => found.extend(others),
                no_verdict if found.is_empty() => return no_verdict,
                Verdict::Unjudged { .. } | Verdict::Skipped => {}
            },
            _ if old.body == new.body => {}
            Bodies::Bytes => bytes::compare(old.body, new.body, &mut found),
            Bodies::Text(rules) => rules.compare(old.body, new.body, &mut found),
            Bodies::Json(rules) => rules.compare(old.body, new.body, &mut found),
            Bodies::Image(limits) => limits.compare(old.body, new.body, &mut found),
        }
        Verdict::of(found)
    }

    /// Whether the judge needs whole bodies. If not, [`Judge::compare_digests`] is enough.
    pub fn needs_bodies(&self) -> bool {
        !matches!(self.bodies, Bodies::Bytes)
    }

    /// As [`Judge::compare`], for answers whose bodies are not kept; compares the bodies by their digests.
    pub fn compare_digests(
        &self,
        old: (&Answer<'_>, &Digest),
        new: (&Answer<'_>, &Digest),
    ) -> Verdict {
        match self.compare_heads(old.0, new.0) {
            Ok(mut found) => {
                bytes::compare_digests(old.1, new.1, &mut found);
                Verdict::of(found)
            }
            Err(verdict) => verdict,
        }
    }

    /// The differences of the headers, or the verdict if it does not depend on the bodies.
    fn compare_heads(&self, old: &Answer<'_>, new: &Answer<'_>) -> Result<DifferenceList, Verdict> {
        let too_large = |answer: &Answer<'_>| matches!(answer.status, 414 | 431);
        if too_large(old) && too_large(new) {
            return Err(Verdict::Same);
        }
        if old.status != new.status {
            let detail = format!("old {}, new {}", old.status, new.status);
            return Err(Verdict::different(Kind::Status, detail));
        }
        let mut found = DifferenceList::default();
        headers::compare(&self.headers, old.headers, new.headers, &mut found);
        Ok(found)
    }

    /// Describes an answer for people: width, height, level, version and text of a `qr` picture, the size of an
    /// `image`, the type of a `json` value. `None` for other judges. Texts are shown as length and SHA-256 unless
    /// `keep_text` is set.
    pub fn describe(
        &self,
        asked: &RequestLine<'_>,
        answer: &Answer<'_>,
        keep_text: bool,
    ) -> Option<Value> {
        match &self.bodies {
            Bodies::Qr => qr::describe(asked, answer, keep_text),
            Bodies::Image(_) if !answer.body.is_empty() => Some(image::describe(answer.body)),
            Bodies::Json(_) if !answer.body.is_empty() => Some(json::describe(answer.body)),
            _ => None,
        }
    }

    /// Every kind of difference that [`Judge::compare`] may return, so that metrics can be created in advance. The
    /// kinds of `exec` are known once its program has sent its hello, so call [`Judge::start`] first. If the program
    /// changes, a later start may add kinds, up to 32 in all.
    pub fn kinds(&self) -> Vec<Kind> {
        let bodies = match &self.bodies {
            Bodies::Bytes => bytes::KINDS.to_vec(),
            Bodies::Text(_) => text::KINDS.to_vec(),
            Bodies::Json(_) => json::KINDS.to_vec(),
            Bodies::Qr => qr::KINDS.to_vec(),
            Bodies::Image(_) => image::KINDS.to_vec(),
            Bodies::Exec(exec) => exec.kinds(),
        };
        [Kind::Status, Kind::Header].into_iter().chain(bodies).collect()
    }

    /// Starts and failures of the program of `exec`; `None` for other judges.
    pub fn stats(&self) -> Option<Stats> {
        match &self.bodies {
            Bodies::Exec(exec) => Some(exec.stats()),
            _ => None,
        }
    }
}
