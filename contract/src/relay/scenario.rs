//! Scenarios as data, as `cases/relay-schema.json` describes them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::{Text, parse};

/// Several connections, and what happens on them, step by step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Unique; in kebab case.
    pub name: String,
    /// Explains the scenario if the name does not.
    #[serde(default)]
    pub why: String,
    /// Skipped behind a proxy, which answers differently.
    #[serde(default)]
    pub direct_only: bool,
    /// In order. Each is done before the next begins.
    pub steps: Vec<Step>,
}

/// One step. `{key}` in paths and texts is a key that no other run has.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    /// The connection's name; a `request` opens it.
    pub who: String,
    /// What happens.
    #[serde(flatten)]
    pub action: Action,
}

/// What happens in a step.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Connects and sends a request's head, and the first bytes of its body.
    Request(Request),
    /// Sends bytes of the body, framed as the request says.
    Sends(Text),
    /// Sends pseudo-random bytes beside the following steps, as fast as they are taken.
    Floods(u64),
    /// This connection's flood stalls before this many bytes have been taken, because a receiver is slow.
    StallsBefore(u64),
    /// Ends the body: the last chunk.
    EndsBody(bool),
    /// Half-closes the connection.
    HalfCloses(bool),
    /// Closes the connection.
    Leaves(bool),
    /// Gets no byte for this many milliseconds.
    GetsNothingFor(u64),
    /// Gets the answer's head.
    Gets(Head),
    /// Reads exactly these bytes of the answer's body.
    Reads(Text),
    /// Reads this many pseudo-random bytes.
    ReadsFlood(u64),
    /// Reads on to the answer's end, which comes without any more bytes.
    Ends(End),
    /// The answer, whatever its bytes, is cut or is a proxy's error.
    IsCut(bool),
}

/// A request's head.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Method.
    pub method: String,
    /// Path and query, sent byte for byte.
    pub target: String,
    /// `1.1` or `1.0`.
    #[serde(default = "http_1_1")]
    pub version: String,
    /// Lines of the head besides `Host`.
    #[serde(default)]
    pub headers: Vec<String>,
    /// How the body is framed; none if there is no body.
    pub framing: Option<Framing>,
    /// The part of the body that is sent at once. With `length`, its length is the Content-Length.
    pub body: Option<Text>,
}

fn http_1_1() -> String {
    "1.1".to_owned()
}

/// How a body is framed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// By the Content-Length of `body`.
    Length,
    /// By a Content-Length of this many bytes.
    LengthOf(u64),
    /// In chunks.
    Chunked,
}

/// What an answer's head must have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Status.
    pub status: u16,
    /// Headers; values of the same name are joined by commas. `null` is for a header that must be missing.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As its head says: after its Content-Length, its last chunk, or an orderly close.
    Whole,
    /// Earlier, or by a reset.
    Cut,
}

/// Name and content of every file of scenarios.
pub const FILES: [(&str, &str); 4] = [
    ("pairs.json", include_str!("../../cases/relay/pairs.json")),
    ("refusals.json", include_str!("../../cases/relay/refusals.json")),
    ("leavers.json", include_str!("../../cases/relay/leavers.json")),
    ("bodies.json", include_str!("../../cases/relay/bodies.json")),
];

/// All scenarios. An error names the file and the line.
pub fn all() -> anyhow::Result<Vec<Scenario>> {
    parse(&FILES, "cases/relay")
}
