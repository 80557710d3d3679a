//! The path and the methods of a route.

use std::fmt;
use std::str::FromStr;

use anyhow::{bail, ensure};
use serde::{Deserialize, Serialize};

/// The path that is carved out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Path {
    /// This path alone.
    Exact(String),
    /// Every path that begins so; ends with a slash.
    Prefix(String),
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
        ensure!(
            path.bytes().all(is_plain),
            "{text:?}: a path has letters, digits and -._~!&'()+,=:@, \
             and /* at its end for everything below"
        );
        ensure!(
            !path.contains("//") && !path.split('/').any(|part| part == "." || part == ".."),
            "{text:?}: nginx normalises // and . and .. away, so no request has this path"
        );
        for own in ["/.mirror", "/.home"] {
            ensure!(!path.starts_with(own), "{text:?}: nginx itself uses {own}");
        }
        Ok(if prefix { Path::Prefix(path) } else { Path::Exact(path) })
    }
}

impl Path {
    /// The path, or its beginning.
    pub fn as_str(&self) -> &str {
        match self {
            Path::Exact(path) | Path::Prefix(path) => path,
        }
    }

    /// Whether `target`, a path with or without a query, is of this route.
    pub fn matches(&self, target: &str) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        match self {
            Path::Exact(exact) => path == exact,
            Path::Prefix(start) => path.starts_with(start.as_str()),
        }
    }

    /// A regular expression, without an anchor at its end, for nginx' `$request_uri`.
    pub(crate) fn pattern(&self) -> String {
        let escaped: String = self
            .as_str()
            .chars()
            .map(|c| if ".()+".contains(c) { format!("\\{c}") } else { c.to_string() })
            .collect();
        match self {
            Path::Exact(_) => format!(r"{escaped}(\?|$)"),
            Path::Prefix(_) => escaped,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        if matches!(self, Path::Prefix(_)) { f.write_str("*") } else { Ok(()) }
    }
}

impl From<Path> for String {
    fn from(path: Path) -> String {
        path.to_string()
    }
}

impl TryFrom<String> for Path {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        text.parse()
    }
}

/// The methods that are carved out. The old side answers requests with any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum Methods {
    /// `["any"]`.
    Any,
    /// These, in capitals.
    Only(Vec<String>),
}

impl Default for Methods {
    /// GET and HEAD: a request with another method may not be sent twice.
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
            ensure!(methods.len() == 1, "methods: any stands alone");
            return Ok(Methods::Any);
        }
        for method in &methods {
            let capital = |b: u8| b.is_ascii_uppercase();
            ensure!(
                !method.is_empty() && method.bytes().all(capital),
                "{method:?}: methods are in capitals, or [\"any\"]"
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
mod tests {
    use super::*;

    #[test]
    fn a_path_is_exact_or_a_prefix() {
        let path = |text: &str| text.parse::<Path>().expect(text);
        assert!(path("/report").matches("/report?a=1") && !path("/report").matches("/report/1"));
        assert!(path("/img/*").matches("/img/a.png") && !path("/img/*").matches("/img"));
        assert_eq!(path("/a.b").pattern(), r"/a\.b(\?|$)");
        for text in [
            "",
            "report",
            "/*",
            "/a b",
            "/a//b",
            "/../a",
            "/a*",
            "/.mirror/x",
            "/a?b",
            "/\"",
            "/a{b",
            "/$x",
            "/a;",
        ] {
            let error = text.parse::<Path>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
