//! The split of a route: its values, and the text of nginx' `split.conf`.
//!
//! A route of sessions (`judge = "session"`) has a share file instead, which its homes reread by themselves, so nginx
//! is not reloaded.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use route::{Key, Route, Share};

use crate::files;

/// The values in a route's `split.conf`. The admin listener of nginx serves them as JSON at
/// `/split/NAME`, which shows when a change is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Identifies this configuration: every change makes a new one.
    pub generation: String,
    /// The new side's share of the route.
    pub share_percent: Share,
    /// The key that assigns a request to a side.
    pub key: Key,
    /// The share of the route's requests that nginx mirrors to the shadow.
    pub mirror_percent: Share,
    /// Whether a run holds this share. It may hold 0% or 100% too.
    #[serde(default)]
    pub is_held: bool,
}

/// A route of an nginx, from its `/routes.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct ServedRoute {
    /// Its name.
    pub name: String,
    #[serde(default)]
    pub(crate) sessions: bool,
}

impl ServedRoute {
    pub(crate) fn of(name: String) -> Self {
        ServedRoute { name, sessions: false }
    }
}

/// A change to a split. `None` keeps the current value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitChange {
    /// The new side's share.
    pub share: Option<Share>,
    /// The key.
    pub key: Option<Key>,
    /// The mirrored share.
    pub mirror: Option<Share>,
    /// Whether a run holds the share. `None` keeps the value, or clears it if the share changes.
    pub held: Option<bool>,
}

impl SplitChange {
    /// Changes the share only.
    pub fn share(share: Share) -> Self {
        SplitChange { share: Some(share), ..SplitChange::default() }
    }
}

const STATE: &str = "_state { default '";
const STATE_END: &str = "'; }";

impl Split {
    /// A route's first split, as its file says.
    pub fn first(route: &Route) -> Self {
        Split {
            generation: "0".to_owned(),
            share_percent: route.file.share,
            key: route.file.key.clone(),
            mirror_percent: match route.mirrors() {
                true => route.file.shadow.percent,
                false => Share::NONE,
            },
            is_held: false,
        }
    }

    /// Whether the route is being ramped: a run holds its share, or both sides have one. nginx then limits the caching
    /// of its answers to a minute, so that after a rollback the new side's answers soon disappear from caches.
    pub fn is_ramped(&self) -> bool {
        self.is_held || ![Share::NONE, Share::ALL].contains(&self.share_percent)
    }

    /// The text of `split.conf` of the route of this name.
    ///
    /// 0 and 100 render as constants: nginx rejects `0%`, and a constant needs no hash of the key. `new` comes first,
    /// since buckets are cumulative: a key that has moved stays on the new side while the share grows.
    pub fn render(&self, route: &str) -> String {
        let Split { share_percent, key, mirror_percent, .. } = self;
        let name = route.replace('-', "_"); // nginx' variables have no hyphens
        // No value contains a character that JSON or nginx would escape.
        let state = serde_json::to_string(self).unwrap_or_default();
        let variable = key.variable();
        let (stand_in, source) = if key.may_be_missing() {
            let map = format!(
                "map ${variable} ${name}_key {{ \"\" $remote_addr; default ${variable}; }}\n"
            );
            (map, format!("{name}_key"))
        } else {
            (String::new(), variable)
        };
        let hash = key_hash(&name, &source, *key == Key::Request);
        // The prefixes give each route and the mirror buckets of their own. With the split's hash, the mirror would
        // choose the new side's requests first.
        let hashed = format!("{name} ${source}");
        let mirrored = format!("{name} mirror $request_id");
        let mirror = clients(&mirrored, &format!("{name}_sampled"), *mirror_percent, "1", "\"\"");
        format!(
            "# The new side's share of {route}: {share_percent}%. `ramp` writes this file at every change; see\n\
             # proxy/README.md. `new` comes first: a key that has moved stays while the share grows.\n\
             map \"\" ${name}{STATE}{state}{STATE_END}\n\
             map \"\" ${name}_ramped {{ default {}; }}\nmap \"\" ${name}_given {{ default {}; }}\n\
             {stand_in}{}{mirror}{hash}",
            u8::from(self.is_ramped()),
            u8::from(self.is_held || *share_percent > Share::NONE),
            clients(&hashed, &format!("{name}_split"), *share_percent, "new", "old")
        )
    }

    /// The text of a share file: the share, which homes use, and this split as JSON, which they report.
    pub fn share_file(&self) -> String {
        let state = serde_json::to_string(self).unwrap_or_default();
        format!("{}\n{state}\n", self.share_percent)
    }

    /// Reads the text that [`Split::render`] or [`Split::share_file`] wrote; `None` for any other text.
    pub fn parse(text: &str) -> Option<Split> {
        match text.lines().find_map(|line| Some(line.split_once(STATE)?.1)) {
            Some(state) => Split::from_json(state.strip_suffix(STATE_END)?),
            None => Split::from_json(text.lines().nth(1)?),
        }
    }

    pub(crate) fn from_json(json: &str) -> Option<Split> {
        serde_json::from_str(json.trim()).ok()
    }

    /// This split with the changes, under a new generation.
    #[must_use]
    pub fn with(&self, wanted: &SplitChange) -> Split {
        Split {
            generation: format!("{:016x}", fastrand::u64(..)),
            share_percent: wanted.share.unwrap_or(self.share_percent),
            key: wanted.key.clone().unwrap_or_else(|| self.key.clone()),
            mirror_percent: wanted.mirror.unwrap_or(self.mirror_percent),
            is_held: wanted.held.unwrap_or(self.is_held && wanted.share.is_none()),
        }
    }
}

/// The file of a route's split in its folder: the share file of a route of sessions, else `split.conf`.
pub(crate) fn path(route_dir: &Path) -> PathBuf {
    if is_of_sessions(route_dir) { share_path(route_dir) } else { conf_path(route_dir) }
}

/// Whether a folder belongs to a route of sessions.
pub(crate) fn is_of_sessions(route_dir: &Path) -> bool {
    share_path(route_dir).is_file()
}

pub(crate) fn share_path(route_dir: &Path) -> PathBuf {
    route_dir.join("share")
}

pub(crate) fn conf_path(route_dir: &Path) -> PathBuf {
    route_dir.join("split.conf")
}

/// The text of the file of a route's split.
pub(crate) fn text(split: &Split, route: &str, route_dir: &Path) -> String {
    if is_of_sessions(route_dir) { split.share_file() } else { split.render(route) }
}

/// The split in a route's folder. Fails if the file is missing or `ramp` did not write it.
pub fn current(route_dir: &Path) -> anyhow::Result<Split> {
    read(&path(route_dir))
}

/// Reads the split in a split.conf or a share file. Fails if the file is missing or `ramp` did not write it.
pub fn read(file: &Path) -> anyhow::Result<Split> {
    Split::parse(&files::read(file)?)
        .with_context(|| format!("{} is not written by ramp", file.display()))
}

/// `$NAME_key_hash`, by which `edge` tells keys apart: four times two digits, of which nginx hashes the key four times.
/// Empty if each request is a key.
fn key_hash(name: &str, key: &str, is_request: bool) -> String {
    if is_request {
        return format!("map \"\" ${name}_key_hash {{ default \"\"; }}\n");
    }
    let digits: String = (0..49).map(|part| format!(" 2% {part:02};")).collect();
    let parts = ["a", "b", "c", "d"];
    let hashes = parts.map(|part| {
        format!("split_clients \"{name} {part} ${key}\" ${name}_hash_{part} {{{digits} * 49; }}\n")
    });
    let all = parts.map(|part| format!("${name}_hash_{part}")).concat();
    format!("{}map \"\" ${name}_key_hash {{ default \"{all}\"; }}\n", hashes.concat())
}

fn clients(key: &str, variable: &str, share: Share, hit: &str, miss: &str) -> String {
    match share {
        Share::NONE => format!("map \"\" ${variable} {{ default {miss}; }}\n"),
        Share::ALL => format!("map \"\" ${variable} {{ default {hit}; }}\n"),
        _ => format!(
            "split_clients \"{key}\" ${variable} {{\n    {share}% {hit};\n    * {miss};\n}}\n"
        ),
    }
}

#[cfg(test)]
mod tests;
