//! The cases, as `cases/schema.json` describes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A request and its expected answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique; in kebab case.
    pub name: String,
    /// Explains the case if the name does not.
    #[serde(default)]
    pub why: String,
    /// The path, for a route other than `/qrcode`. Then only what `expect` names is checked.
    pub path: Option<String>,
    /// Request method.
    #[serde(default = "get")]
    pub method: String,
    /// The part after `?`, sent byte for byte. If `None`, there is no `?` either.
    pub query: Option<Text>,
    /// Request headers. `{etag}` is replaced by the ETag of a plain GET of the same query.
    #[serde(default)]
    pub headers: BTreeMap<String, Text>,
    /// Request body.
    #[serde(default)]
    pub body: String,
    /// The expected answer.
    pub expect: Expect,
}

fn get() -> String {
    "GET".to_owned()
}

/// The expected answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The answer has one of these statuses.
    pub status: Vec<u16>,
    /// The text that the picture decodes to.
    pub text: Option<Text>,
    /// The version of the picture.
    pub version: Option<u8>,
    /// The whole body, if the contract defines it.
    pub error: Option<String>,
    /// The whole body, for a case with a path.
    pub body: Option<Text>,
    /// Headers of the answer, for a case with a path.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Where the answer's `X-Request-Id` comes from.
    pub request_id: Option<RequestId>,
}

/// Where an answer's request id comes from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RequestId {
    /// From the request.
    TakenOver,
    /// The server made it.
    Made,
}

/// A text, or parts to join.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// A whole text.
    Whole(String),
    /// The parts, in order.
    Parts(Vec<TextPart>),
}

/// A part of a text.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum TextPart {
    /// A text, once.
    Once(String),
    /// A text, several times.
    Repeated {
        /// The text.
        repeat: String,
        /// The number of times.
        times: usize,
    },
}

impl Text {
    /// The text in full.
    pub fn full(&self) -> String {
        match self {
            Text::Whole(text) => text.clone(),
            Text::Parts(parts) => parts
                .iter()
                .map(|piece| match piece {
                    TextPart::Once(text) => text.clone(),
                    TextPart::Repeated { repeat, times } => repeat.repeat(*times),
                })
                .collect(),
        }
    }
}

/// Name and content of every file of cases.
pub const FILES: [(&str, &str); 4] = [
    ("texts.json", include_str!("../cases/qrcode/texts.json")),
    ("queries.json", include_str!("../cases/qrcode/queries.json")),
    ("errors.json", include_str!("../cases/qrcode/errors.json")),
    ("http.json", include_str!("../cases/qrcode/http.json")),
];

/// Reads the cases of any route from a folder's `*.json`. Fails if a file is invalid, a case has no path, or the folder
/// has no cases; the error names the place.
pub fn read(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let shown = folder.display();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .with_context(|| shown.to_string())?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let of_file: Vec<Case> =
            serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        for case in &of_file {
            let has_path = case.path.as_ref().is_some_and(|path| path.starts_with('/'));
            ensure!(has_path, "{}: {}: a path begins with /", file.display(), case.name);
        }
        cases.extend(of_file);
    }
    ensure!(!cases.is_empty(), "{shown} has no cases (*.json)");
    Ok(cases)
}

/// All cases of `/qrcode`. An error names the file and the line.
pub fn all() -> anyhow::Result<Vec<Case>> {
    parse(&FILES, "cases/qrcode")
}

/// Parses files that contain lists, and joins the lists.
pub(crate) fn parse<T: DeserializeOwned>(
    files: &[(&str, &str)],
    folder: &str,
) -> anyhow::Result<Vec<T>> {
    let lists = files.iter().map(|(name, file)| {
        serde_json::from_str::<Vec<T>>(file).with_context(|| format!("{folder}/{name}"))
    });
    Ok(lists.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect())
}
