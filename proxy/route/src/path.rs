//! The path and the methods of a route.

use std::fmt;
use std::str::FromStr;

use anyhow::{bail, ensure};
use serde::{Deserialize, Serialize};

use crate::units::as_text;

/// How many segments below a route's path its template tells apart.
const DEEPEST: usize = 3;

/// The path that is carved out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Path {
    /// This path alone.
    Exact(String),
    /// Every path that begins with this, which ends with a slash.
    Prefix(String),
    /// Every path of these segments, where `*` stands for any one segment that is not empty. With a slash at the end,
    /// every path below.
    Segments(String),
}

impl FromStr for Path {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~!&'()+,=:@".contains(&b);
        ensure!(text.starts_with('/'), "{text:?}: a path begins with /");
        let (path, prefix) = match text.strip_suffix("/*") {
            Some("") => bail!("{text:?}: this is the whole app; name the part to carve out"),
            Some(start) => (format!("{start}/"), true),
            None => (text.to_owned(), false),
        };
        let segments = || path.split('/');
        let has_any = segments().any(|segment| segment == "*");
        ensure!(
            segments().all(|segment| segment == "*" || segment.bytes().all(is_plain)),
            "{text:?}: a path has letters, digits and -._~!&'()+,=:@, * in place of a segment, \
             and /* at its end for everything below"
        );
        ensure!(
            !path.contains("//") && !path.split('/').any(|part| part == "." || part == ".."),
            "{text:?}: nginx removes //, . and .. from paths, so no request has this path"
        );
        for own in ["/.mirror", "/.home"] {
            ensure!(!path.starts_with(own), "{text:?}: nginx itself uses {own}");
        }
        if has_any {
            let is_named = |segment: &str| !segment.is_empty() && segment != "*";
            ensure!(segments().any(is_named), "{text:?}: name a part of the path");
        }
        Ok(match (has_any, prefix) {
            (true, _) => Path::Segments(path),
            (false, true) => Path::Prefix(path),
            (false, false) => Path::Exact(path),
        })
    }
}

impl Path {
    /// The path, or its beginning.
    pub fn as_str(&self) -> &str {
        match self {
            Path::Exact(path) | Path::Prefix(path) | Path::Segments(path) => path,
        }
    }

    /// Whether `target`, a path with or without a query, belongs to the route.
    pub fn matches(&self, target: &str) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        match self {
            Path::Exact(exact) => path == exact,
            Path::Prefix(start) => path.starts_with(start.as_str()),
            Path::Segments(segments) => {
                let (mut path, mut wanted) = (path.split('/'), segments.split('/').peekable());
                while let Some(segment) = wanted.next() {
                    let Some(part) = path.next() else { return false };
                    let is_last = wanted.peek().is_none();
                    match segment {
                        "" if is_last => return true,
                        // nginx finds a location by the decoded path, where %2F is a slash.
                        "*" if !part.is_empty() && !part.to_lowercase().contains("%2f") => {}
                        segment if segment == part => {}
                        _ => return false,
                    }
                }
                path.next().is_none()
            }
        }
    }

    /// Orders the paths that match a target: the least one has it, in nginx, the shadow and `carve compare`. From the
    /// left, a segment's name comes before `*`, and `*` before everything below.
    pub fn rank(&self) -> Vec<u8> {
        let path = self.as_str();
        let path = if self.has_more() { path.trim_end_matches('/') } else { path };
        let segments = path.split('/').map(|segment| u8::from(segment == "*"));
        segments.chain(self.has_more().then_some(2)).collect()
    }

    /// The modifier and the pattern of nginx' `location`. nginx tries regular expressions in their order in the file, but
    /// none where a prefix with `^~` matches, so beside a route of segments a prefix is one too (`in_order`).
    pub(crate) fn location(&self, in_order: bool) -> String {
        match self {
            Path::Exact(path) => format!("= {path}"),
            Path::Prefix(path) if !in_order => format!("^~ {path}"),
            Path::Prefix(_) | Path::Segments(_) => format!("~ \"^{}\"", self.decoded()),
        }
    }

    /// A regular expression, without an anchor at its beginning, for the path without its query.
    pub(crate) fn decoded(&self) -> String {
        let end = if self.has_more() { "" } else { "$" };
        format!("{}{end}", self.escaped("[^/]+"))
    }

    /// Regular expressions as of [`Path::decoded`], and the templates that logs show, which say how deep a path is.
    pub(crate) fn templates(&self) -> Vec<(String, String)> {
        let start = self.decoded();
        let of_depth = |depth: usize| {
            let is_last = !self.has_more() || depth == DEEPEST;
            let end = if is_last { "" } else { &format!("[^/]*{}$", "/[^/]*".repeat(depth - 1)) };
            (format!("{start}{end}"), format!("{self}{}", "/*".repeat(depth - 1)))
        };
        (1..=if self.has_more() { DEEPEST } else { 1 }).map(of_depth).collect()
    }

    /// The template of a path of the route.
    pub fn template(&self, path: &str) -> String {
        let decoded = path.replace("%2F", "/").replace("%2f", "/");
        let segments = |path: &str| path.split('/').filter(|it| !it.is_empty()).count();
        let depth = match self.has_more() {
            true => segments(&decoded) + usize::from(decoded.ends_with('/')),
            false => 0,
        };
        let depth = depth.saturating_sub(segments(self.as_str()));
        format!("{self}{}", "/*".repeat(depth.clamp(1, DEEPEST) - 1))
    }

    /// A regular expression for the decoded path, and what a lenient app may take for it.
    pub(crate) fn spellings(&self) -> String {
        let end = if self.has_more() { "" } else { "/*$" };
        format!("/*{}{end}", self.escaped("[^/]+"))
    }

    /// A regular expression for the part of nginx' `$request_uri` that stands for the route's path; `None` if the path has
    /// a `*`, in place of which clients may write ids.
    pub(crate) fn spelling(&self) -> Option<String> {
        let segments = self.as_str().split('/').filter(|it| !it.is_empty()).count();
        let is_plain = !matches!(self, Path::Segments(_));
        is_plain.then(|| format!("(?:/+[^/?]{{1,60}}){{{segments}}}/*"))
    }

    /// Whether the route also has everything below its path.
    fn has_more(&self) -> bool {
        match self {
            Path::Exact(_) => false,
            Path::Prefix(_) => true,
            Path::Segments(path) => path.ends_with('/'),
        }
    }

    fn escaped(&self, any: &str) -> String {
        let each = self.as_str().chars().map(|c| match c {
            '*' => any.to_owned(),
            '.' | '(' | ')' | '+' => format!("\\{c}"),
            _ => c.to_string(),
        });
        each.collect()
    }

    /// A regular expression, without an anchor at its end, for nginx' `$request_uri`.
    pub(crate) fn pattern(&self) -> String {
        let end = if self.has_more() { "" } else { r"(\?|$)" };
        format!("{}{end}", self.escaped("[^/?]+"))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        if self.has_more() { f.write_str("*") } else { Ok(()) }
    }
}

as_text!(Path);

/// The methods that are carved out. The old side answers requests with any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum Methods {
    /// `["any"]`.
    Any,
    /// These methods, in capitals.
    Only(Vec<String>),
}

impl Default for Methods {
    /// GET and HEAD, since requests with other methods may not be sent twice.
    fn default() -> Self {
        Methods::Only(vec!["GET".to_owned(), "HEAD".to_owned()])
    }
}

impl Methods {
    /// Whether a request with this method is carved out.
    pub fn include(&self, method: &str) -> bool {
        match self {
            Methods::Any => true,
            Methods::Only(methods) => methods.iter().any(|one| one == method),
        }
    }

    pub(crate) fn pattern(&self) -> Option<String> {
        match self {
            Methods::Any => None,
            Methods::Only(methods) => Some(format!("^({})$", methods.join("|"))),
        }
    }
}

impl TryFrom<Vec<String>> for Methods {
    type Error = anyhow::Error;

    fn try_from(methods: Vec<String>) -> anyhow::Result<Self> {
        ensure!(!methods.is_empty(), "methods: name at least one");
        if methods.iter().any(|method| method == "any") {
            ensure!(methods.len() == 1, "methods: \"any\" must be the only one");
            return Ok(Methods::Any);
        }
        for method in &methods {
            let capital = |b: u8| b.is_ascii_uppercase();
            ensure!(
                !method.is_empty() && method.bytes().all(capital),
                "{method:?}: methods are in capitals; [\"any\"] stands for all"
            );
        }
        Ok(Methods::Only(methods))
    }
}

impl From<Methods> for Vec<String> {
    fn from(methods: Methods) -> Vec<String> {
        match methods {
            Methods::Any => vec!["any".to_owned()],
            Methods::Only(methods) => methods,
        }
    }
}

#[cfg(test)]
mod tests;
