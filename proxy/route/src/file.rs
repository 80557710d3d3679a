//! One route file.

mod session;
mod shadow;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path as FilePath;
use std::time::Duration;

use anyhow::{Context, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::judge::JudgeSettings;
use crate::key::Key;
use crate::parse::{is_header, parse};
use crate::path::{Methods, Path};
use crate::share::Share;
use crate::side::Side;
use crate::units::{HostName, Size, Time};
pub use session::Home;
pub use shadow::{Shadow, Slower};

/// Headers that are compared unless a file says otherwise.
const COMPARED: [&str; 2] = ["content-type", "location"];

/// What a route file says. Only `path` must be there.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A route to carve out")]
pub struct RouteFile {
    /// The path: /report for this one alone, /img/* for everything below, /users/*/orders with any one segment in
    /// place of *.
    #[schemars(with = "String")]
    pub path: Path,
    /// The hosts of the route, such as app.example or *.app.example, without a port. By default every host of the app
    /// that `carve up` was given: those to which carve.toml gives no other app.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub hosts: Vec<HostName>,
    /// The methods that are carved out, or ["any"]; the old side answers the others.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub methods: Methods,
    /// The value that assigns a request to a side: request, client, query, parameter:NAME, header:NAME or cookie:NAME.
    #[serde(default)]
    #[schemars(with = "String")]
    pub key: Key,
    /// What "the same" means: bytes, text, json, qr, image, or a program of your own. session, for a
    /// route whose requests belong together: homes choose the side, and nothing is mirrored.
    #[serde(default = "bytes")]
    pub judge: JudgeSettings,
    /// Headers of answers that are compared; content-type and location by default.
    #[serde(default)]
    pub compare_headers: Option<Vec<String>>,
    /// Headers that are not compared, though `compare_headers` has them.
    #[serde(default)]
    pub ignore_headers: Vec<String>,
    /// Which side answers where the other one fails: both if the methods are GET and HEAD, else none, since
    /// a request that changes something may have done so before it failed.
    #[serde(default)]
    pub fallback: Option<Fallback>,
    /// How many requests at once the old side answers for the new one; clients get 503 beyond that.
    #[serde(default = "fallback_limit")]
    #[schemars(range(min = 1, max = 10000))]
    pub fallback_limit: u32,
    /// How many requests at once the new side answers for the old one; clients get 503 beyond that.
    #[serde(default = "rescue_limit")]
    #[schemars(range(min = 1, max = 10000))]
    pub rescue_limit: u32,
    /// What nginx does with a request's body: by default none if the methods are GET and HEAD, else
    /// buffered.
    #[serde(default)]
    pub body: Option<Body>,
    /// Longest body that is taken; clients get 413 beyond it. 16k by default; with the judge session 0,
    /// which is no limit.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub max_body: Option<Size>,
    /// Disk space for answers of the new side that nginx keeps; none by default.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub cache: Option<Size>,
    /// For the judge session: the services that tell nginx the side of a request. The first one is asked,
    /// the others if it cannot be reached.
    #[serde(default)]
    pub homes: Vec<Home>,
    /// For the judge session: how long a side or a client may be silent, also before the first byte.
    #[serde(default = "an_hour")]
    #[schemars(with = "String")]
    pub idle_timeout: Time,
    /// The side that is replaced.
    #[serde(default)]
    pub old: Side,
    /// The side that takes over.
    #[serde(default)]
    pub new: Side,
    /// The new side's share before anybody has moved it, in percent.
    #[serde(default = "no_share")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub share: Share,
    /// What the shadow is sent.
    #[serde(default)]
    pub shadow: Shadow,
    /// What becomes of a run without a process.
    #[serde(default)]
    pub ramp: Ramp,
    /// The gates of a ramp, by name: changes to the standard ones, and new ones. The file
    /// proxy/evidence/gates.toml explains the keys; `off = true` leaves a standard gate out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")]
    pub gates: BTreeMap<String, toml::Table>,
}

/// Which side answers where the other one fails: refuses or drops the connection, is too slow, or
/// answers 502, 503 or 504.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// The client gets the failure.
    None,
    /// The old side answers where the new one fails.
    NewToOld,
    /// And the new side answers where the old one cannot be reached.
    Both,
}

/// What nginx does with a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// It is dropped.
    None,
    /// nginx reads all of it before it asks a side, so that a second side can be asked.
    Buffered,
}

/// What becomes of a run that is unfinished and silent: its process was killed, hangs, or has ended
/// without a result.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ramp {
    /// How long a run may be silent before `carve watch` or the proxies end it.
    #[schemars(with = "String")]
    pub lease: Time,
    /// What happens to the share if a run stays silent for longer than its lease.
    pub on_lost: OnLost,
}

/// What happens once a run has been silent for its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnLost {
    /// Back to the share at which the run began; a stop if that cannot be done.
    Back,
    /// The share stays, and an alert fires.
    Hold,
}

impl Default for Ramp {
    fn default() -> Self {
        Ramp { lease: Time(Duration::from_secs(30)), on_lost: OnLost::Back }
    }
}

fn bytes() -> JudgeSettings {
    JudgeSettings::Bytes
}

fn no_share() -> Share {
    Share::NONE
}

/// What one process of Node bears beside its pages: they wait behind so many pictures, some 70 ms. Fewer
/// would refuse clients whenever the process pauses: at 60 requests per second, 16 are a quarter second.
fn fallback_limit() -> u32 {
    16
}

fn rescue_limit() -> u32 {
    64
}

fn an_hour() -> Time {
    Time(Duration::from_secs(3600))
}

/// Longest body of a route whose file does not say.
const MAX_BODY: Size = Size(16 << 10);

/// A route: its file, and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The file's name without `.toml`; also the label `route` of metrics.
    pub name: String,
    /// What the file says.
    pub file: RouteFile,
    /// The file's text.
    pub text: String,
}

impl Route {
    /// Reads one file.
    ///
    /// # Errors
    /// One line that names the file, the line and the field, and says what was meant.
    pub fn read(file: &FilePath) -> anyhow::Result<Self> {
        let shown = file.display();
        let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let text = fs::read_to_string(file).with_context(|| shown.to_string())?;
        Route::parse(name, &text).with_context(|| shown.to_string())
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// One line that names the line and the field, and says what was meant.
    pub fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        ensure!(
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.len() <= 32
                && name.bytes().all(is_part),
            "a route is named as its file, and {name:?} is no name: a-z, 0-9 and hyphens, at most 32"
        );
        ensure!(
            !["admin", "none", "other"].contains(&name),
            "{name:?}: metrics call other requests so; choose another name for the route"
        );
        let file: RouteFile = parse(text)?;
        session::check(&file, &parse(text)?)?;
        let route = Route { name: name.to_owned(), file, text: text.to_owned() };
        route.check()?;
        Ok(route)
    }

    fn check(&self) -> anyhow::Result<()> {
        let file = &self.file;
        ensure!(
            file.ramp.lease.0 >= Duration::from_secs(2),
            "ramp.lease: {}: must be 2s or more, since a run is heard each second",
            file.ramp.lease
        );
        for (limit, which) in
            [(file.fallback_limit, "fallback_limit"), (file.rescue_limit, "rescue_limit")]
        {
            ensure!((1..=10_000).contains(&limit), "{which}: {limit}: must be 1 to 10000");
        }
        for (side, which) in [(&file.old, "old"), (&file.new, "new")] {
            if let Some(name) = &side.name {
                let plain = |c: char| c.is_alphanumeric() || " .+#-".contains(c);
                ensure!(
                    (1..=30).contains(&name.chars().count()) && name.chars().all(plain),
                    "{which}.name: {name:?}: letters, digits, spaces and .+#-, at most 30"
                );
            }
        }
        for header in file
            .compare_headers
            .iter()
            .flatten()
            .chain(&file.ignore_headers)
            .chain(&file.shadow.send_headers)
        {
            ensure!(is_header(header), "{header:?} is no header's name");
        }
        file.shadow.check()?;
        for method in file.shadow.methods.iter().flatten() {
            ensure!(
                file.methods.include(method),
                "shadow.methods: {method:?} is not among the route's methods"
            );
        }
        let drops = self.body() == Body::None;
        let twice = self.asked_twice();
        let writes = twice.iter().any(|method| method != "GET" && method != "HEAD");
        ensure!(
            !(drops && writes),
            "shadow.methods: with body = \"none\" only GET and HEAD can be asked twice"
        );
        Ok(())
    }

    /// What is no mistake, and may still not be meant.
    pub fn warning(&self) -> Option<String> {
        let (old, new) = (self.file.old.timeout, self.file.new.timeout);
        (old != new && !self.is_session()).then(|| {
            format!(
                "old.timeout is {old} and new.timeout {new}: an answer that takes a time between the two fails on one \
                 side only"
            )
        })
    }

    /// Its hosts, if it names any, and its path.
    pub fn where_it_is(&self) -> String {
        let hosts: Vec<&str> = self.file.hosts.iter().map(HostName::as_str).collect();
        format!("{}{}", hosts.join(","), self.file.path)
    }

    /// The name in nginx' variables, which have no hyphens.
    pub fn variable(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Longest body that is taken; 0 is no limit.
    pub fn max_body(&self) -> Size {
        self.file.max_body.unwrap_or(if self.is_session() { Size(0) } else { MAX_BODY })
    }

    /// What nginx does with a request's body.
    pub fn body(&self) -> Body {
        let default = if self.only_reads() { Body::None } else { Body::Buffered };
        self.file.body.unwrap_or(default)
    }

    /// Which side answers where the other one fails.
    pub fn fallback(&self) -> Fallback {
        let default = if self.only_reads() { Fallback::Both } else { Fallback::None };
        self.file.fallback.unwrap_or(default)
    }

    /// The methods that the shadow may ask twice.
    pub fn asked_twice(&self) -> Vec<String> {
        let safe = ["GET", "HEAD"].into_iter().filter(|method| self.file.methods.include(method));
        let default = || safe.map(str::to_owned).collect();
        self.file.shadow.methods.clone().unwrap_or_else(default)
    }

    /// The request's headers that the shadow sends to both sides.
    pub fn sent_headers(&self) -> Vec<String> {
        let mut headers = self.file.shadow.send_headers.clone();
        if self.body() == Body::Buffered {
            // Without these, a side cannot read the body.
            headers.extend(["content-type", "content-encoding"].map(str::to_owned));
        }
        headers.iter_mut().for_each(|name| name.make_ascii_lowercase());
        headers.sort();
        headers.dedup();
        headers
    }

    /// Whether only requests are carved out that change nothing.
    fn only_reads(&self) -> bool {
        match &self.file.methods {
            Methods::Only(methods) => {
                methods.iter().all(|method| method == "GET" || method == "HEAD")
            }
            Methods::Any => false,
        }
    }

    /// The headers of answers that are compared, in small letters.
    pub fn compared_headers(&self) -> Vec<String> {
        let ignored = |name: &String| {
            self.file.ignore_headers.iter().any(|other| other.eq_ignore_ascii_case(name))
        };
        let chosen = self.file.compare_headers.clone();
        let chosen = chosen.unwrap_or_else(|| COMPARED.map(str::to_owned).to_vec());
        let mut headers: Vec<String> =
            chosen.iter().map(|name| name.to_ascii_lowercase()).filter(|h| !ignored(h)).collect();
        headers.sort();
        headers.dedup();
        headers
    }
}

/// The JSON Schema of a route file, for editors.
///
/// # Errors
/// None in practice: the schema is JSON.
pub fn schema() -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&schemars::schema_for!(RouteFile))? + "\n")
}

#[cfg(test)]
mod tests;
