//! The split of /qrcode: the values, the text of nginx' `split.conf`, and where both are read.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::share::Share;
use crate::{files, http};

const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The values in `split.conf`. The admin listener of nginx serves them as JSON at `/split`, which
/// shows when a change is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Identifies this configuration: every change makes a new one.
    pub generation: String,
    /// The new side's share of /qrcode.
    pub share_percent: Share,
    /// The key that assigns a request to a side.
    pub key: Key,
    /// The share of all requests that nginx mirrors to the shadow.
    pub mirror_percent: Share,
}

impl Default for Split {
    /// The values of `proxy/split.conf`.
    fn default() -> Self {
        let mirror_percent = Share::percent(10).unwrap_or(Share::NONE);
        let generation = "0".to_owned();
        Split { generation, share_percent: Share::ALL, key: Key::default(), mirror_percent }
    }
}

/// A change to a split. `None` keeps the current value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The new side's share.
    pub share: Option<Share>,
    /// The key.
    pub key: Option<Key>,
    /// The mirrored share.
    pub mirror: Option<Share>,
}

impl Wanted {
    /// Changes the share only.
    pub fn share(share: Share) -> Self {
        Wanted { share: Some(share), ..Wanted::default() }
    }
}

const STATE: &str = "map \"\" $split_state { default '";
const STATE_END: &str = "'; }";

impl Split {
    /// The text of `split.conf`.
    ///
    /// nginx rejects `0%` and requires `*` last, so 0 and 100 render as `*` alone. Buckets are
    /// cumulative: `new` comes first, so a key that has moved stays moved while the share grows.
    pub fn render(&self) -> String {
        let Split { share_percent, key, mirror_percent, .. } = self;
        // No value here has a character that JSON or nginx would escape.
        let state = serde_json::to_string(self).unwrap_or_default();
        let (cookie, key) = match key {
            // The address stands in for a missing cookie. Otherwise all clients without the cookie
            // would share the empty key and move at once.
            Key::Cookie(name) => (
                format!(
                    "map $cookie_{name} $split_key {{ \"\" $remote_addr; default $cookie_{name}; }}\n"
                ),
                "split_key".to_owned(),
            ),
            key => (String::new(), key.to_string()),
        };
        // The prefix gives the mirror another hash than the key request_id has. With the same hash,
        // the mirror would take the new side's requests first.
        let mirror = clients("mirror$request_id", "split_mirror", *mirror_percent, "1", "\"\"");
        format!(
            "# The new side's share of /qrcode: {share_percent}%. `ramp` writes this file at every change; see\n\
             # proxy/README.md. `new` comes first: a key that has moved stays while the share grows.\n\
             {STATE}{state}{STATE_END}\n\
             {cookie}{}{mirror}",
            clients(&format!("${key}"), "split_arm", *share_percent, "new", "old")
        )
    }

    /// Reads the text that [`Split::render`] wrote; `None` for any other text.
    pub fn parse(text: &str) -> Option<Split> {
        let state = text.lines().find_map(|line| line.strip_prefix(STATE))?;
        Split::from_json(state.strip_suffix(STATE_END)?)
    }

    fn from_json(json: &str) -> Option<Split> {
        serde_json::from_str(json.trim()).ok()
    }

    /// This split with the changes, under a new generation.
    #[must_use]
    pub fn with(&self, wanted: &Wanted) -> Split {
        Split {
            generation: format!("{:016x}", fastrand::u64(..)),
            share_percent: wanted.share.unwrap_or(self.share_percent),
            key: wanted.key.clone().unwrap_or_else(|| self.key.clone()),
            mirror_percent: wanted.mirror.unwrap_or(self.mirror_percent),
        }
    }
}

/// The path of a folder's `split.conf`.
pub(crate) fn path(nginx_dir: &Path) -> PathBuf {
    nginx_dir.join("split.conf")
}

/// The split in a folder's `split.conf`.
///
/// # Errors
/// If the file is missing or `ramp` did not write it.
pub fn current(nginx_dir: &Path) -> anyhow::Result<Split> {
    read(&path(nginx_dir))
}

pub(crate) fn read(file: &Path) -> anyhow::Result<Split> {
    Split::parse(&files::read(file)?)
        .with_context(|| format!("{} is not written by ramp", file.display()))
}

/// The split that an nginx serves, asked at its admin listener over a new connection.
pub(crate) fn served(admin: SocketAddr) -> anyhow::Result<Split> {
    let url = format!("http://{admin}/split");
    let (status, body) = http::get(&url, ADMIN_TIMEOUT)
        .with_context(|| format!("nginx does not answer at {admin}"))?;
    ensure!(status == 200, "{url} answers {status}");
    Split::from_json(&body).with_context(|| format!("{url} answers {body:?}, which is no split"))
}

fn clients(key: &str, variable: &str, share: Share, hit: &str, miss: &str) -> String {
    let parts = match share {
        Share::NONE => format!("    * {miss};"),
        Share::ALL => format!("    * {hit};"),
        _ => format!("    {share}% {hit};\n    * {miss};"),
    };
    format!("split_clients \"{key}\" ${variable} {{\n{parts}\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_split_parses_to_itself() {
        for share in ["0", "0.01", "25", "99.99", "100"] {
            for key in ["arg_text", "remote_addr", "request_id", "cookie_user"] {
                let wanted = Wanted {
                    share: Some(share.parse().expect("a share")),
                    key: Some(key.parse().expect("a key")),
                    mirror: Some(share.parse().expect("a share")),
                };
                let split = Split::default().with(&wanted);
                assert_eq!(Split::parse(&split.render()), Some(split), "{share} {key}");
            }
        }
        assert_eq!(Split::parse("split_clients \"$arg_text\" $split_arm { * new; }"), None);
    }

    #[test]
    fn the_default_split_renders_the_repositorys_split_conf() {
        assert_eq!(include_str!("../../split.conf"), Split::default().render());
    }
}
