//! A mismatch as a case in the format of `contract/`: the request, and what the old side answers.

use serde_json::{Map, Value, json};

use crate::comparison::Comparison;
use crate::content::Content;
use crate::judge::{Differences, Kind};

/// The longest body that a case has.
const MAX_BODY_BYTES: usize = 4096;

/// The case of the request in this line; `None` if the old side gave no answer. It expects the status, and of the
/// headers and the body what differs. Headers whose values are the client's are compared by `carve compare` alone.
pub(super) fn of(line: usize, comparison: &Comparison) -> Option<Value> {
    let (asked, old) = (&comparison.asked, comparison.old.reply.outcome.as_ref().ok()?);
    let listed = comparison.verdict.differences.as_ref().map_or(&[][..], Differences::listed);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut expect = Map::from_iter([("status".to_owned(), json!([old.status.as_u16()]))]);
    let of_old =
        |name: &str| Some((name.to_owned(), text(old.headers.get(name)?.as_bytes()).into()));
    let differ = listed.iter().filter(|it| it.kind == Kind::Header && it.place != "set-cookie");
    let headers: Map<String, Value> = differ.filter_map(|it| of_old(&it.place)).collect();
    if !headers.is_empty() {
        expect.insert("headers".to_owned(), headers.into());
    }
    let is_of_body = |kind: &Kind| !matches!(kind, Kind::Header | Kind::Status);
    if let Content::Kept(body) = &old.content
        && body.len() <= MAX_BODY_BYTES
        && let Ok(body) = std::str::from_utf8(body)
        && listed.iter().any(|it| is_of_body(&it.kind))
    {
        expect.insert("body".to_owned(), body.into());
    }
    let why: Vec<&str> = listed.iter().take(1).map(|it| it.detail.as_str()).collect();
    let mut case = Map::from_iter([
        ("name".to_owned(), format!("{}-line-{line}", comparison.route).into()),
        ("why".to_owned(), why.concat().into()),
        ("path".to_owned(), asked.target.path().into()),
        ("method".to_owned(), asked.method.as_str().into()),
        ("expect".to_owned(), expect.into()),
    ]);
    if let Some(query) = asked.target.query() {
        case.insert("query".to_owned(), query.into());
    }
    let sent =
        asked.headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()).into()));
    let sent: Map<String, Value> = sent.collect();
    if !sent.is_empty() {
        case.insert("headers".to_owned(), sent.into());
    }
    if !asked.body.is_empty() {
        case.insert("body".to_owned(), text(&asked.body).into());
    }
    Some(case.into())
}
