//! The text of nginx' split.conf.

use serde::{Deserialize, Serialize};

use crate::{Key, Share};

/// What split.conf says. nginx' admin listener answers with the same, as JSON, at `/split`: that is
/// how a change is seen to be in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Another one at every change; tells this configuration from all others.
    pub generation: String,
    /// The Rust service's share of /qrcode.
    pub share_percent: Share,
    /// What it is a share of.
    pub key: Key,
    /// How many of all requests the shadow gets to compare.
    pub mirror_percent: Share,
}

impl Default for Split {
    /// As `proxy/split.conf` has it.
    fn default() -> Self {
        let mirror_percent = Share::percent(10).unwrap_or(Share::NONE);
        let generation = "0".to_owned();
        Split { generation, share_percent: Share::ALL, key: Key::default(), mirror_percent }
    }
}

/// What is to change; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The Rust service's share.
    pub share: Option<Share>,
    /// What it is a share of.
    pub key: Option<Key>,
    /// The shadow's share.
    pub mirror: Option<Share>,
}

impl Wanted {
    /// Another share of the same key.
    pub fn share(share: Share) -> Self {
        Wanted { share: Some(share), ..Wanted::default() }
    }
}

const STATE: &str = "map \"\" $split_state { default '";
const STATE_END: &str = "'; }";

impl Split {
    /// The file's text.
    ///
    /// nginx refuses `0%` and wants `*` last, so 0 and 100 are `*` alone. Buckets are cumulative:
    /// Rust stands first, so that a key that has moved to Rust stays there while the share grows.
    pub fn render(&self) -> String {
        let Split { share_percent, key, mirror_percent, .. } = self;
        // No value here has a character that JSON or nginx would escape.
        let state = serde_json::to_string(self).unwrap_or_default();
        let (cookie, key) = match key {
            // Without the cookie all would have one key, the empty one, and move at once.
            Key::Cookie(name) => (
                format!(
                    "map $cookie_{name} $split_key {{ \"\" $remote_addr; default $cookie_{name}; }}\n"
                ),
                "split_key".to_owned(),
            ),
            key => (String::new(), key.to_string()),
        };
        // With a word before it, or where the key is the request as well, the same would be
        // mirrored as go to Rust first.
        let mirror = clients("mirror$request_id", "split_mirror", *mirror_percent, "1", "\"\"");
        format!(
            "# The Rust service's share of /qrcode: {share_percent}%. Written by `ramp`, anew at every change; see\n\
             # proxy/README.md. Rust first, * last: a key that has moved stays while the share grows.\n\
             {STATE}{state}{STATE_END}\n\
             {cookie}{}{mirror}",
            clients(&format!("${key}"), "split_arm", *share_percent, "new", "old")
        )
    }

    /// What a file of [`Split::render`] says; `None` where it is no such file.
    pub fn parse(text: &str) -> Option<Split> {
        let state = text.lines().find_map(|line| line.strip_prefix(STATE))?;
        Split::from_json(state.strip_suffix(STATE_END)?)
    }

    /// What the admin listener says.
    pub fn from_json(json: &str) -> Option<Split> {
        serde_json::from_str(json.trim()).ok()
    }

    /// This, changed; of a generation of its own.
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
    fn what_is_written_is_what_is_read() {
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
    fn the_repositorys_own_file_is_the_default() {
        assert_eq!(include_str!("../../split.conf"), Split::default().render());
    }
}
