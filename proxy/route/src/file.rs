//! One route file.

mod gateway;
mod session;
mod shadow;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path as FilePath;

use anyhow::{Context, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::judge::JudgeSettings;
use crate::key::Key;
use crate::parse::{is_header, parse};
use crate::path::{Methods, Path};
use crate::share::Share;
use crate::side::Side;
use crate::units::{Days, HostName, Size, Time};
pub use gateway::{Counters, Gateway, gateway_object};
pub use session::Home;
pub use shadow::{Shadow, Slower};

/// The standard gates that wait for pairs of the shadow.
const NEED_PAIRS: [&str; 3] = ["comparisons", "pair-failures", "pair-latency"];
/// Headers that are compared by default: a wrong one sends clients elsewhere, keeps or shows them what is not theirs, or
/// keeps their programs from reading the answer.
const COMPARED: [&str; 15] = [
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-type",
    "etag",
    "location",
    "set-cookie",
    "vary",
    "www-authenticate",
];

/// The content of a route file. Only `path` is required.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A route to carve out")]
pub struct RouteFile {
    /// The path: /report for this path alone, /img/* for everything below, /users/*/orders with any one segment in
    /// place of *.
    pub path: Path,
    /// The hosts of the route, such as app.example or *.app.example, without a port. By default every host to which
    /// carve.toml gives no app of its own.
    #[serde(default)]
    pub hosts: Vec<HostName>,
    /// The methods that are carved out, or ["any"]; the old side answers the others.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub methods: Methods,
    /// The value that assigns a request to a side: request, client, query, parameter:NAME, header:NAME or cookie:NAME.
    #[serde(default)]
    pub key: Key,
    /// How answers are compared: bytes, text, json, qr, image, or a program of your own. session is for a route whose
    /// requests belong together: homes choose the side, and nothing is mirrored.
    #[serde(default)]
    pub judge: JudgeSettings,
    /// Headers of answers to compare. By default those that hurt if they are wrong: content-type, location,
    /// cache-control, vary, content-encoding, content-disposition, www-authenticate, access-control-*, set-cookie
    /// without values, and whether there is an etag.
    pub compare_headers: Option<Vec<String>>,
    /// Headers to leave out of `compare_headers` or its default.
    #[serde(default)]
    pub ignore_headers: Vec<String>,
    /// Which side answers if the other one fails. By default both if the methods are GET and HEAD, else none, since a
    /// request may have changed something before it failed.
    pub fallback: Option<Fallback>,
    /// How many requests at once the old side answers for the new one; further clients get 503.
    #[serde(default = "fallback_limit")]
    #[schemars(range(min = 1, max = 10000))]
    pub fallback_limit: u32,
    /// How many requests at once the new side answers for the old one; further clients get 503.
    #[serde(default = "rescue_limit")]
    #[schemars(range(min = 1, max = 10000))]
    pub rescue_limit: u32,
    /// What nginx does with a request's body. By default buffered; if the methods are GET and HEAD, a request with a
    /// body belongs to the old side.
    pub body: Option<Body>,
    /// The longest body of a request; clients get 413 for longer ones. 16k by default; with the judge session 0, which
    /// is no limit.
    pub max_body: Option<Size>,
    /// Disk space for nginx' cache of the new side's answers; no cache by default.
    pub cache: Option<Size>,
    /// For the judge session: the services that tell nginx the side of a request. nginx asks the first one, and the
    /// others only if it cannot be reached.
    #[serde(default)]
    pub homes: Vec<Home>,
    /// For the judge session: how long a side or a client may be silent, also before the first byte.
    #[serde(default = "an_hour")]
    pub idle_timeout: Time,
    /// The side that is replaced.
    #[serde(default)]
    pub old: Side,
    /// The side that takes over.
    #[serde(default)]
    pub new: Side,
    /// The new side's first share, in percent, before anybody changes it.
    #[serde(default)]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub share: Share,
    /// Which requests the shadow gets, and how it compares.
    #[serde(default)]
    pub shadow: Shadow,
    /// The gateway that moves the traffic on a cluster; by default carve's nginx does.
    pub gateway: Option<Gateway>,
    /// What happens to a run that has lost its process.
    #[serde(default)]
    pub ramp: Ramp,
    /// The gates of a ramp, by name: changes to the standard ones, and new ones. The file
    /// proxy/evidence/gates.toml explains the keys; `off = true` leaves a standard gate out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, serde_json::Value>>")]
    pub gates: BTreeMap<String, toml::Table>,
}

/// Which side answers if the other one fails: refuses or drops the connection, or is too slow. The new side also fails
/// if it answers 502, 503 or 504.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// The client gets the failure.
    None,
    /// The old side answers if the new one fails.
    NewToOld,
    /// Also, the new side answers if the old one cannot be reached or is too slow.
    Both,
}

/// What nginx does with a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// nginx drops the body.
    None,
    /// nginx reads the whole body before it sends the request to a side, so that it can send it to the other side too.
    Buffered,
}

/// The steps of a run, and what happens to an unfinished run that is silent: its process was killed, hangs, or has
/// ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ramp {
    /// The share of each step, in percent, unless `--steps` gives others.
    #[schemars(with = "Vec<f64>")]
    pub steps: Vec<Share>,
    /// How long to hold each step, unless `--hold` says otherwise.
    pub hold: Time,
    /// Whether the last step waits for `carve resume`, which a person types.
    pub confirm: bool,
    /// Who may begin a run, by the names that `--actor` gives; by default anybody.
    pub actors: Vec<String>,
    /// Whether `carve serve` begins a run of its own accord: one for each text of the file.
    pub start: bool,
    /// How long a run may be silent before `carve watch` or the proxies end it.
    pub lease: Time,
    /// What happens to the share if a run stays silent for longer than its lease.
    pub on_lost: OnLost,
    /// For how long after a run is done the new side is judged, and its share goes back if it breaks; "0s" to 30 days.
    pub watch: Days,
}

/// What happens once a run has been silent for its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnLost {
    /// The share returns to the one at which the run began. If that fails, the route is stopped.
    Back,
    /// The share stays, and an alert fires.
    Hold,
}

impl Default for Ramp {
    fn default() -> Self {
        let steps = [1, 5, 25, 50, 100].map(|percent| Share::percent(percent).unwrap_or_default());
        Ramp {
            steps: steps.to_vec(),
            hold: Time::seconds(60),
            confirm: false,
            actors: Vec::new(),
            start: false,
            lease: Time::seconds(30),
            on_lost: OnLost::Back,
            watch: Days::ONE,
        }
    }
}

/// What one Node process can answer beside its pages, which wait some 70 ms behind this many pictures. A lower limit
/// would refuse clients whenever the process pauses: at 60 requests per second, 16 requests are a quarter second.
fn fallback_limit() -> u32 {
    16
}

fn rescue_limit() -> u32 {
    64
}

fn an_hour() -> Time {
    Time::seconds(3600)
}

/// The longest body of a route whose file sets none.
const MAX_BODY: Size = Size(16 << 10);

/// A route: its name and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The file's name without `.toml`; also the label `route` of metrics.
    pub name: String,
    /// The file's content.
    pub file: RouteFile,
    /// The file's text.
    pub text: String,
}

impl Route {
    /// Reads one file. The route's name is the file's name without `.toml`. An error is one line that names the file,
    /// the line and the field, and says what is expected.
    pub fn read(file: &FilePath) -> anyhow::Result<Self> {
        let shown = file.display();
        let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let text = fs::read_to_string(file).with_context(|| shown.to_string())?;
        Route::parse(name, &text).with_context(|| shown.to_string())
    }

    /// Reads the text of the route file of this name. An error is one line that names the line and the field, and says
    /// what is expected.
    pub fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        ensure!(
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.len() <= 32
                && name.bytes().all(is_part),
            "{name:?}: a route is named after its file; a name has a-z, 0-9 and hyphens, begins with a letter, and has \
             at most 32 characters"
        );
        ensure!(
            !["admin", "none", "other"].contains(&name),
            "{name:?}: metrics use this name for other requests; choose another name for the route"
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
            file.ramp.lease >= Time::seconds(2),
            "ramp.lease: {}: must be 2s or more, since a run sends a heartbeat each second",
            file.ramp.lease
        );
        check_steps(&file.ramp.steps).context("ramp.steps")?;
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
                    "{which}.name: {name:?}: must have letters, digits, spaces and .+#-, at most 30"
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
            ensure!(is_header(header), "{header:?} is not a header's name");
        }
        file.shadow.check()?;
        gateway::check(file)?;
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
            "shadow.methods: with body = \"none\" the shadow can repeat only GET and HEAD"
        );
        Ok(())
    }

    /// Warnings about valid settings that are probably not intended.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.is_session() {
            return warnings;
        }
        let (old, new) = (self.file.old.timeout(), self.file.new.timeout());
        if old != new {
            warnings.push(format!(
                "old.timeout is {old} and new.timeout {new}: an answer that takes a time between the two fails on one \
                 side only"
            ));
        }
        if self.body() == Body::Buffered && self.file.max_body.is_none() {
            let limit = self.max_body();
            warnings.push(format!("max_body is not set: a body longer than {limit} gets 413"));
        }
        let chosen = self.chosen_headers();
        let is_chosen = |name: &&String| chosen.iter().any(|it| it.eq_ignore_ascii_case(name));
        for name in self.file.ignore_headers.iter().filter(|name| !is_chosen(name)) {
            warnings.push(format!("ignore_headers: {name:?} is not compared anyway"));
        }
        let is_on =
            |gate: &&str| !self.file.gates.get(*gate).is_some_and(|it| it.contains_key("off"));
        let waits: Vec<&str> = NEED_PAIRS.into_iter().filter(is_on).collect();
        if self.file.shadow.percent == Share::NONE && !waits.is_empty() {
            warnings.push(format!(
                "shadow.percent is 0, so a run waits for ever for {}: raise it, or write `NAME = {{ off = true }}` for \
                 each in [gates]",
                waits.join(", ")
            ));
        }
        warnings
    }

    /// The route's hosts, if it names any, and its path.
    pub fn where_it_is(&self) -> String {
        let hosts: Vec<&str> = self.file.hosts.iter().map(HostName::as_str).collect();
        format!("{}{}", hosts.join(","), self.file.path)
    }

    /// The route's name in nginx' variables, which cannot have hyphens.
    pub fn variable(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The longest body of a request; 0 is no limit.
    pub fn max_body(&self) -> Size {
        self.file.max_body.unwrap_or(if self.is_session() { Size(0) } else { MAX_BODY })
    }

    /// What nginx does with a request's body.
    pub fn body(&self) -> Body {
        let default = if self.only_reads() { Body::None } else { Body::Buffered };
        self.file.body.unwrap_or(default)
    }

    /// Which side answers if the other one fails.
    pub fn fallback(&self) -> Fallback {
        let default = if self.only_reads() { Fallback::Both } else { Fallback::None };
        self.file.fallback.unwrap_or(default)
    }

    /// The methods of requests that the shadow may send to both sides.
    pub fn asked_twice(&self) -> Vec<String> {
        let safe = ["GET", "HEAD"].into_iter().filter(|method| self.file.methods.include(method));
        let default = || safe.map(str::to_owned).collect();
        self.file.shadow.methods.clone().unwrap_or_else(default)
    }

    /// The request headers that the shadow sends to both sides, in lower case.
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

    /// Whether the route has only GET and HEAD, which change nothing.
    fn only_reads(&self) -> bool {
        let reads = |method: &String| method == "GET" || method == "HEAD";
        matches!(&self.file.methods, Methods::Only(methods) if methods.iter().all(reads))
    }

    /// The headers of answers to compare, in lower case.
    pub fn compared_headers(&self) -> Vec<String> {
        let ignored = |name: &String| {
            self.file.ignore_headers.iter().any(|other| other.eq_ignore_ascii_case(name))
        };
        let chosen = self.chosen_headers();
        let mut headers: Vec<String> =
            chosen.iter().map(|name| name.to_ascii_lowercase()).filter(|h| !ignored(h)).collect();
        headers.sort();
        headers.dedup();
        headers
    }

    fn chosen_headers(&self) -> Vec<String> {
        let chosen = self.file.compare_headers.clone();
        chosen.unwrap_or_else(|| COMPARED.map(str::to_owned).to_vec())
    }
}

/// Checks that the steps of a run rise from above 0.
pub fn check_steps(steps: &[Share]) -> anyhow::Result<()> {
    let rise = steps.windows(2).all(|pair| pair[0] < pair[1]);
    let begin = steps.first().is_some_and(|first| *first > Share::NONE);
    ensure!(rise && begin, "steps must rise and begin above 0");
    Ok(())
}

#[cfg(test)]
mod tests;
