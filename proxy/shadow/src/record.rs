//! Comparisons as `/mismatches` and `shadow compare --json` show them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::client::{Reason, Reply};
use crate::comparison::Comparison;
use crate::picture::{Picture, Seen};
use crate::verdict::{Kind, Outcome};

/// How many mismatches are kept, and how many failures.
const MAX_KEPT: usize = 100;
/// Longest body that is kept with the texts.
const MAX_SHOWN_BYTES: usize = 200;

/// A comparison as it may be shown. Texts are personal, so they are shown as length and SHA-256
/// unless the operator chose to keep them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    /// Start of the comparison, RFC 3339.
    time: String,
    result: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Missing if the contract refuses the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Digested>,
    /// Path and query, if texts are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    new: Shown,
    old: Shown,
}

/// Length and hash of bytes, and the bytes themselves if texts are kept.
#[derive(Clone, Debug, Serialize)]
struct Digested {
    bytes: usize,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Shown {
    seconds: f64,
    #[serde(flatten)]
    outcome: ShownOutcome,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum ShownOutcome {
    Answered {
        status: u16,
        body: Digested,
        #[serde(skip_serializing_if = "Option::is_none")]
        picture: Option<ShownPicture>,
    },
    Failed {
        failed: Reason,
        detail: String,
    },
}

#[derive(Clone, Debug, Serialize)]
struct ShownPicture {
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<usize>,
    #[serde(flatten)]
    symbol: ShownSymbol,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum ShownSymbol {
    Read { level: char, version: u8, text: Digested },
    Unread { undecodable: String },
}

impl Record {
    pub(crate) fn of(comparison: &Comparison, keep_text: bool) -> Self {
        let Comparison { asked, time, new, old, verdict } = comparison;
        let text = asked.text();
        Record {
            time: humantime::format_rfc3339_millis(*time).to_string(),
            result: verdict.outcome,
            kind: verdict.kind,
            method: asked.method.to_string(),
            request_id: asked
                .request_id
                .as_ref()
                .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            text: text.map(|text| Digested::of(text.as_bytes(), keep_text)),
            target: keep_text.then(|| asked.target.to_string()),
            new: Shown::of(new, keep_text),
            old: Shown::of(old, keep_text),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.result.as_str())?;
        if let Some(kind) = self.kind {
            write!(f, " in {}", kind.as_str())?;
        }
        write!(f, "; new {}; old {}", self.new, self.old)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            ShownOutcome::Failed { detail, .. } => f.write_str(detail),
            ShownOutcome::Answered { status, picture: None, body } => {
                write!(f, "{status}, {} bytes", body.bytes)
            }
            ShownOutcome::Answered { status, picture: Some(picture), .. } => {
                write!(f, "{status}, {picture}")
            }
        }
    }
}

impl fmt::Display for ShownPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(width), Some(height)) = (self.width, self.height) {
            write!(f, "{width} x {height} px, ")?;
        }
        match &self.symbol {
            ShownSymbol::Read { level, version, text } => {
                write!(f, "version {version}-{level}, text of {} bytes", text.bytes)
            }
            ShownSymbol::Unread { undecodable } => f.write_str(undecodable),
        }
    }
}

impl Digested {
    fn of(bytes: &[u8], keep: bool) -> Self {
        Digested {
            bytes: bytes.len(),
            sha256: format!("{:x}", Sha256::digest(bytes)),
            content: keep.then(|| String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

impl Shown {
    fn of(reply: &Reply<Seen>, keep_text: bool) -> Self {
        let outcome = match &reply.outcome {
            Ok(seen) => {
                // An error's body may echo the text.
                let keep_body =
                    keep_text && seen.picture.is_none() && seen.body.len() <= MAX_SHOWN_BYTES;
                ShownOutcome::Answered {
                    status: seen.status.as_u16(),
                    body: Digested::of(&seen.body, keep_body),
                    picture: seen.picture.as_ref().map(|p| ShownPicture::of(p, keep_text)),
                }
            }
            Err(failure) => {
                ShownOutcome::Failed { failed: failure.reason, detail: failure.detail.clone() }
            }
        };
        Shown { seconds: reply.elapsed.as_secs_f64(), outcome }
    }
}

impl ShownPicture {
    fn of(picture: &Picture, keep_text: bool) -> Self {
        let symbol = match &picture.symbol {
            Ok(symbol) => ShownSymbol::Read {
                level: symbol.level,
                version: symbol.version,
                text: Digested::of(&symbol.bytes, keep_text),
            },
            Err(why) => ShownSymbol::Unread { undecodable: why.clone() },
        };
        let (width, height) = picture.size_px.unzip();
        ShownPicture { width, height, symbol }
    }
}

/// The last comparisons that did not match.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Sorts>);

/// Newest first. Failures are kept apart, or an outage would push out all earlier mismatches.
#[derive(Clone, Debug, Default, Serialize)]
struct Sorts {
    mismatches: VecDeque<Record>,
    failures: VecDeque<Record>,
}

impl Kept {
    pub(crate) fn keep(&self, record: Record) {
        let mut sorts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sort = match record.result {
            Outcome::Match => return,
            Outcome::Mismatch => &mut sorts.mismatches,
            Outcome::NewError | Outcome::OldError | Outcome::Timeout => &mut sorts.failures,
        };
        sort.truncate(MAX_KEPT - 1);
        sort.push_front(record);
    }

    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let sorts = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        serde_json::to_vec_pretty(&sorts)
    }
}
