//! The lines that are exchanged with the user's program: one JSON object per line, UTF-8.
//!
//! ```text
//! <- {"v":1,"kinds":["price","currency"]}
//! -> {"v":1,"id":7,"request":{"method":"GET","target":"/prices?sku=4"},
//!     "old":{"status":200,"headers":{"content-type":"text/csv"},"body_b64":"MTI="},"new":{...}}
//! <- {"id":7,"verdict":"mismatch","kind":"price","detail":"12 and 13"}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::CONTENT_ENCODING;
use serde::{Deserialize, Serialize};

use crate::judge::difference::{Kind, Verdict, cut};
use crate::judge::{Answer, RequestLine, headers};

/// The version of the protocol.
const VERSION: u32 = 1;
/// How many kinds a program may declare. Each becomes a label of a metric.
pub(super) const MAX_KINDS: usize = 32;
const MAX_KIND_BYTES: usize = 32;
/// The longest detail that is kept, in characters.
const MAX_DETAIL_CHARS: usize = 300;

/// Reads the program's first line, which declares the kinds of its mismatches. The error says what is wrong with the
/// line, without quoting it.
pub(super) fn read_hello(line: &[u8]) -> Result<BTreeSet<Arc<str>>, String> {
    #[derive(Deserialize)]
    struct Hello {
        v: u32,
        kinds: BTreeSet<String>,
    }

    let Hello { v, kinds } = serde_json::from_slice(line)
        .map_err(|_| r#"its first line is not {"v":1,"kinds":["..."]}"#.to_owned())?;
    if v != VERSION {
        return Err(format!("it speaks version {v} of the protocol, not {VERSION}"));
    }
    if kinds.len() > MAX_KINDS {
        return Err(format!("it declares {} kinds; at most {MAX_KINDS} are allowed", kinds.len()));
    }
    if !kinds.iter().all(|kind| is_kind(kind)) {
        return Err(format!(
            "it declares a kind that is `status`, `header`, or not 1 to {MAX_KIND_BYTES} of a-z, 0-9 and _"
        ));
    }
    Ok(kinds.into_iter().map(Arc::from).collect())
}

/// Whether a program may declare this kind. `status` and `header` are not allowed, since carve compares these itself.
fn is_kind(name: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    (1..=MAX_KIND_BYTES).contains(&name.len())
        && name.bytes().all(allowed)
        && !["status", "header"].contains(&name)
}

/// The line that asks for a verdict, including its line end.
pub(super) fn question(
    id: u64,
    asked: &RequestLine<'_>,
    old: &Answer<'_>,
    new: &Answer<'_>,
) -> Vec<u8> {
    #[derive(Serialize)]
    struct Question<'a> {
        v: u32,
        id: u64,
        request: RequestLine<'a>,
        old: Side,
        new: Side,
    }

    let (old, new) = (Side::of(old), Side::of(new));
    let question = Question { v: VERSION, id, request: *asked, old, new };
    // Strings, numbers and maps of strings always serialize.
    let mut line = serde_json::to_vec(&question).unwrap_or_default();
    line.push(b'\n');
    line
}

#[derive(Serialize)]
struct Side {
    status: u16,
    /// The headers, with names in lower case. The lines of a repeated header are joined with `, `. `content-encoding`
    /// is left out, since the body is decoded.
    headers: BTreeMap<String, String>,
    body_b64: String,
}

impl Side {
    fn of(answer: &Answer<'_>) -> Self {
        let header = |name: &http::HeaderName| {
            let value = headers::combined(name, answer.headers).unwrap_or_default();
            (name.to_string(), String::from_utf8_lossy(&value).into_owned())
        };
        Side {
            status: answer.status,
            headers: answer
                .headers
                .keys()
                .filter(|name| **name != CONTENT_ENCODING)
                .map(header)
                .collect(),
            body_b64: STANDARD.encode(answer.body),
        }
    }
}

/// Reads the answer to the question `id`. The error says what is wrong with the line, without quoting it.
pub(super) fn read_verdict(
    line: &[u8],
    id: u64,
    kinds: &BTreeSet<Arc<str>>,
) -> Result<Verdict, String> {
    #[derive(Deserialize)]
    struct Reply {
        id: u64,
        verdict: String,
        kind: Option<String>,
        detail: Option<String>,
    }

    let reply: Reply = serde_json::from_slice(line)
        .map_err(|_| r#"its answer is not {"id":...,"verdict":"..."}"#.to_owned())?;
    if reply.id != id {
        return Err(format!("it answered question {} instead of {id}", reply.id));
    }
    match reply.verdict.as_str() {
        "match" => Ok(Verdict::Same),
        "skip" => Ok(Verdict::Skipped),
        "mismatch" => {
            let kind = reply.kind.ok_or("its mismatch has no kind")?;
            let kind = kinds.get(kind.as_str()).ok_or("its mismatch has an undeclared kind")?;
            let detail = cut(&reply.detail.unwrap_or_default(), MAX_DETAIL_CHARS);
            Ok(Verdict::different(Kind::Declared(Arc::clone(kind)), detail))
        }
        _ => Err("its verdict is not match, mismatch or skip".to_owned()),
    }
}
