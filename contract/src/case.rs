//! The cases, as `cases/schema.json` describes them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One request and what is to come back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique, in kebab case.
    pub name: String,
    /// What it is about, where the name does not say it.
    #[serde(default)]
    pub why: String,
    /// Request method.
    #[serde(default = "get")]
    pub method: String,
    /// What follows `?`, byte for byte as it is sent; none: no `?` at all.
    #[serde(default)]
    pub query: Option<Text>,
    /// Request headers. `{etag}` stands for the tag that a plain GET of the same query has.
    #[serde(default)]
    pub headers: BTreeMap<String, Text>,
    /// Request body.
    #[serde(default)]
    pub body: String,
    /// What is to come back.
    pub expect: Expect,
}

fn get() -> String {
    "GET".to_owned()
}

/// What is to come back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Any one of these statuses.
    pub status: Vec<u16>,
    /// Of a picture: the text that it decodes to.
    #[serde(default)]
    pub text: Option<Text>,
    /// Of a picture: its version.
    #[serde(default)]
    pub version: Option<u8>,
    /// Of an error of the contract: its whole body.
    #[serde(default)]
    pub error: Option<String>,
    /// What `X-Request-Id` comes back as: itself, or another that was made.
    #[serde(default)]
    pub request_id: Option<RequestId>,
}

/// What becomes of a request's id.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RequestId {
    /// It comes back.
    TakenOver,
    /// Another one comes back.
    Made,
}

/// A text, or pieces of one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// As it is.
    Whole(String),
    /// One after the other.
    Pieces(Vec<Piece>),
}

/// A piece of a text.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// As it is.
    Once(String),
    /// Several times.
    Repeated {
        /// What.
        repeat: String,
        /// How often.
        times: usize,
    },
}

impl Text {
    /// The text in full.
    pub fn full(&self) -> String {
        match self {
            Text::Whole(text) => text.clone(),
            Text::Pieces(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Once(text) => text.clone(),
                    Piece::Repeated { repeat, times } => repeat.repeat(*times),
                })
                .collect(),
        }
    }
}

/// The files of cases, built in, with their names.
pub const FILES: [(&str, &str); 4] = [
    ("texts.json", include_str!("../cases/texts.json")),
    ("queries.json", include_str!("../cases/queries.json")),
    ("errors.json", include_str!("../cases/errors.json")),
    ("http.json", include_str!("../cases/http.json")),
];

/// All cases.
///
/// # Errors
/// Names the file that is not as it should be, and where.
pub fn all() -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (name, file) in FILES {
        let of_file: Vec<Case> =
            serde_json::from_str(file).map_err(|error| anyhow::anyhow!("cases/{name}: {error}"))?;
        cases.extend(of_file);
    }
    Ok(cases)
}
