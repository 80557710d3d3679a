//! Comparisons as `/mismatches` and `carve compare --json` show them.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZero;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::judge::{Difference, Differences, Kind};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::client::Reason;
use crate::comparison::{Comparison, SideResult};
use crate::content::Content;
use crate::result::Outcome;

/// How many mismatches are kept, and how many failures.
const MAX_KEPT: usize = 100;
/// The longest body that is shown if texts are kept.
const MAX_SHOWN_BYTES: usize = 200;

/// A comparison as it may be shown. Queries and bodies may be personal data, so only their length and digest are shown
/// unless the operator chose to keep texts. The digest is SHA-256 of a salt, which this process makes at its start, and
/// the text: equal texts have equal digests, but a guess cannot be checked.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    /// Start of the comparison, RFC 3339.
    time: String,
    route: String,
    result: Outcome,
    /// When the pair was asked once more, and the result then.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<(String, Outcome)>,
    /// The kind of the first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    /// The first difference in words, if texts are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The listed differences, without details unless texts are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<Difference>,
    /// The number of further differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences_not_listed: Option<NonZero<usize>>,
    /// Why the judge failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Path and query.
    target: BodyDigest,
    new: ReplyRecord,
    old: ReplyRecord,
}

/// Length and digest of bytes, and the bytes themselves if texts are kept.
#[derive(Clone, Debug, Serialize)]
struct BodyDigest {
    bytes: u64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ReplyRecord {
    seconds: f64,
    #[serde(flatten)]
    outcome: OutcomeRecord,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum OutcomeRecord {
    Answered {
        status: u16,
        body: BodyDigest,
        /// The judge's description of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        seen: Option<Value>,
    },
    Failed {
        failed: Reason,
        detail: String,
    },
}

impl Record {
    pub(crate) fn of(comparison: &Comparison, keep_text: bool) -> Self {
        let Comparison { route, asked, time, new, old, verdict, again, .. } = comparison;
        let listed = verdict.differences.as_ref().map_or(&[][..], Differences::listed);
        let mut differences = listed.to_vec();
        if !keep_text {
            differences.iter_mut().for_each(|it| it.detail.clear());
        }
        Record {
            time: humantime::format_rfc3339_millis(*time).to_string(),
            route: route.to_string(),
            result: verdict.outcome,
            again: again.map(|(time, outcome)| {
                (humantime::format_rfc3339_millis(time).to_string(), outcome)
            }),
            kind: verdict.kind(),
            detail: listed.first().filter(|_| keep_text).map(|first| first.detail.clone()),
            differences,
            differences_not_listed: verdict
                .differences
                .as_ref()
                .and_then(|all| NonZero::new(all.count() - listed.len())),
            problem: verdict.problem.clone(),
            method: asked.method.to_string(),
            request_id: asked
                .request_id
                .as_ref()
                .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            target: BodyDigest::of(asked.target.as_str().as_bytes(), keep_text),
            new: ReplyRecord::of(new, keep_text),
            old: ReplyRecord::of(old, keep_text),
        }
    }
}

impl fmt::Display for Record {
    /// One line, and one more for each difference after the first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.result.into_str())?;
        if let Some(kind) = &self.kind {
            write!(f, " in {kind}")?;
        }
        if let Some(detail) = self.detail.as_ref().or(self.problem.as_ref()) {
            write!(f, ": {detail}")?;
        }
        write!(f, "; new {}; old {}", self.new, self.old)?;
        for other in self.differences.iter().skip(1) {
            let shown = if other.detail.is_empty() { &other.place } else { &other.detail };
            write!(f, "\n    {}: {shown}", other.kind)?;
        }
        match self.differences_not_listed {
            None => Ok(()),
            Some(more) => write!(f, "\n    and {more} more"),
        }
    }
}

impl fmt::Display for ReplyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            OutcomeRecord::Failed { detail, .. } => f.write_str(detail),
            OutcomeRecord::Answered { status, body, .. } => {
                write!(f, "{status}, {} bytes", body.bytes)
            }
        }
    }
}

/// 32 random bytes, the same while this process runs. RandomState's keys come from the system's random numbers.
static SALT: LazyLock<[[u8; 8]; 4]> =
    LazyLock::new(|| [(); 4].map(|()| RandomState::new().hash_one(0).to_ne_bytes()));

impl BodyDigest {
    fn of(bytes: &[u8], keep: bool) -> Self {
        let salted = Sha256::new_with_prefix(SALT.as_flattened());
        BodyDigest {
            bytes: bytes.len() as u64,
            digest: format!("{:x}", salted.chain_update(bytes).finalize()),
            content: keep.then(|| String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

impl ReplyRecord {
    fn of(seen: &SideResult, keep_text: bool) -> Self {
        let outcome = match &seen.reply.outcome {
            Ok(answer) => OutcomeRecord::Answered {
                status: answer.status.as_u16(),
                body: match &answer.content {
                    // Shows the body only with texts: an error's body may repeat the query.
                    Content::Kept(body) => {
                        let is_short = body.len() <= MAX_SHOWN_BYTES;
                        let keep = keep_text && is_short && std::str::from_utf8(body).is_ok();
                        BodyDigest::of(body, keep)
                    }
                    Content::Digested(digest) => BodyDigest {
                        bytes: digest.bytes(),
                        ..BodyDigest::of(&digest.whole(), false)
                    },
                },
                seen: seen.description.clone(),
            },
            Err(failure) => {
                OutcomeRecord::Failed { failed: failure.reason, detail: failure.detail.clone() }
            }
        };
        ReplyRecord { seconds: seen.reply.elapsed.as_secs_f64(), outcome }
    }
}

/// The last comparisons that did not match.
#[derive(Debug, Default)]
pub(crate) struct RecentRecords(Mutex<Sorts>);

/// The records, newest first. Failures have a list of their own, so that an outage does not push out all mismatches.
#[derive(Clone, Debug, Default, Serialize)]
struct Sorts {
    mismatches: VecDeque<Record>,
    failures: VecDeque<Record>,
}

impl RecentRecords {
    pub(crate) fn keep(&self, record: Record) {
        let mut sorts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sort = match record.result {
            Outcome::Match | Outcome::Skipped => return,
            Outcome::Mismatch | Outcome::MismatchOnce => &mut sorts.mismatches,
            Outcome::NewError
            | Outcome::OldError
            | Outcome::BothErrors
            | Outcome::Timeout
            | Outcome::Unjudged => &mut sorts.failures,
        };
        sort.truncate(MAX_KEPT - 1);
        sort.push_front(record);
    }

    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let sorts = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        serde_json::to_vec_pretty(&sorts)
    }
}
