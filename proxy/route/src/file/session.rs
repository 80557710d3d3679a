//! Routes whose requests belong together: the judge `session`.
//!
//! The two halves of a stream must meet on one side, and a stream can be neither mirrored nor begun anew on
//! the other side. So a home tells nginx the side of each request, and keys that say otherwise are refused.

use anyhow::ensure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::{Route, RouteFile};
use crate::judge::JudgeSettings;
use crate::units::{BaseUrl, Size};

/// A service that tells nginx the side of a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// The home's address, which nginx asks: http://HOST:PORT. It answers 204 with `old` or `new` in `X-Home`.
    #[schemars(with = "String")]
    pub url: BaseUrl,
    /// The home's admin listener, whose /share is the text of the share file that is in force.
    #[schemars(with = "String")]
    pub admin: BaseUrl,
}

impl Route {
    /// Whether its requests belong together, and so share a side: homes tell nginx which.
    pub fn is_session(&self) -> bool {
        self.file.judge == JudgeSettings::Session
    }
}

/// What a route of sessions cannot have, and why.
const NOT_OF_SESSIONS: [(&str, &str); 16] = [
    ("methods", "takes every method"),
    ("key", "leaves the side to the homes"),
    ("compare_headers", "compares no two answers"),
    ("ignore_headers", "compares no two answers"),
    ("fallback", "begins no request anew on the other side"),
    ("fallback_limit", "begins no request anew on the other side"),
    ("rescue_limit", "begins no request anew on the other side"),
    ("body", "streams bodies"),
    ("cache", "streams answers"),
    ("shadow", "mirrors nothing"),
    ("old.timeout", "has one idle_timeout for both sides"),
    ("new.timeout", "has one idle_timeout for both sides"),
    ("old.connect_timeout", "has one second for connecting"),
    ("new.connect_timeout", "has one second for connecting"),
    ("old.retry_500", "is never begun anew"),
    ("new.retry_500", "is never begun anew"),
];

/// What only a route of sessions has.
const OF_SESSIONS: [&str; 2] = ["homes", "idle_timeout"];

/// Refuses keys that contradict the judge. `table` is the file as it was written, without defaults.
///
/// # Errors
/// One line that names both keys.
pub(crate) fn check(file: &RouteFile, table: &toml::Table) -> anyhow::Result<()> {
    if file.judge != JudgeSettings::Session {
        for key in OF_SESSIONS {
            ensure!(!has(table, key), "{key}: only a route with judge = \"session\" has it");
        }
        ensure!(
            file.max_body != Some(Size(0)),
            "max_body: 0: no limit needs judge = \"session\", since nginx holds other bodies"
        );
        ensure!(file.cache != Some(Size(0)), "cache: 0: leave the key out to keep no answers");
        return Ok(());
    }
    for (key, why) in NOT_OF_SESSIONS {
        ensure!(!has(table, key), "{key} contradicts judge = \"session\", which {why}");
    }
    ensure!(!file.homes.is_empty(), "homes: judge = \"session\" needs at least one");
    for (side, which) in [(&file.old, "old"), (&file.new, "new")] {
        ensure!(
            side.url.is_some(),
            "{which}.url: judge = \"session\" needs it: a listener that speaks HTTP/2 without TLS"
        );
        ensure!(
            side.url.as_ref().is_none_or(|url| url.tcp().is_some() && url.far().is_none()),
            "{which}.url: judge = \"session\" needs http://HOST:PORT"
        );
    }
    Ok(())
}

/// Whether the file has a key, such as `key` or `old.timeout`.
fn has(table: &toml::Table, key: &str) -> bool {
    match key.split_once('.') {
        None => table.contains_key(key),
        Some((outer, inner)) => table.get(outer).and_then(|value| value.get(inner)).is_some(),
    }
}

#[cfg(test)]
mod tests;
