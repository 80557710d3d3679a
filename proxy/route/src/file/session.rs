//! Routes whose requests belong together: the judge `session`.
//!
//! The two halves of a stream must meet on one side, and a stream can be neither mirrored nor repeated on the other
//! side. So a home tells nginx the side of each request, and contradicting keys of the file are refused.

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
    pub url: BaseUrl,
    /// The home's admin listener, whose /share shows the text of the share file in force.
    pub admin: BaseUrl,
}

impl Route {
    /// Whether the route's requests belong together, so that homes choose their side.
    pub fn is_session(&self) -> bool {
        self.file.judge == JudgeSettings::Session {}
    }
}

/// Keys that a route of sessions cannot have, and why: such a route ...
const NOT_OF_SESSIONS: [(&str, &str); 16] = [
    ("methods", "takes every method"),
    ("key", "leaves the side to the homes"),
    ("compare_headers", "does not compare answers"),
    ("ignore_headers", "does not compare answers"),
    ("fallback", "does not repeat a request on the other side"),
    ("fallback_limit", "does not repeat a request on the other side"),
    ("rescue_limit", "does not repeat a request on the other side"),
    ("body", "streams bodies"),
    ("cache", "streams answers"),
    ("shadow", "mirrors nothing"),
    ("old.timeout", "has one idle_timeout for both sides"),
    ("new.timeout", "has one idle_timeout for both sides"),
    ("old.connect_timeout", "always has one second for connecting"),
    ("new.connect_timeout", "always has one second for connecting"),
    ("old.retry_500", "does not repeat a request"),
    ("new.retry_500", "does not repeat a request"),
];

/// Keys that only a route of sessions has.
const OF_SESSIONS: [&str; 2] = ["homes", "idle_timeout"];

/// Refuses keys that contradict the judge; the error names both. `table` is the file as it was written, without
/// defaults.
pub(crate) fn check(file: &RouteFile, table: &toml::Table) -> anyhow::Result<()> {
    if file.judge != (JudgeSettings::Session {}) {
        for key in OF_SESSIONS {
            ensure!(!has(table, key), "{key}: only a route with judge = \"session\" has it");
        }
        ensure!(
            file.max_body != Some(Size(0)),
            "max_body: 0: no limit needs judge = \"session\", since nginx buffers other bodies"
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
