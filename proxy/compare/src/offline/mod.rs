//! Compares the answers to each request of a file, one after the other.

mod case;
mod formats;
pub(crate) mod report;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderName, HeaderValue};
use indicatif::{ProgressBar, ProgressStyle};
use route::{CarveFile, HostName, SideUrl};

use crate::client::Client;
use crate::comparison::Comparer;
use crate::mirrored::MirroredRequest;
use crate::routes::{self, ComparedRoute};
use formats::{RecordedRequest, RequestFile};
use report::{Report, Skipped};

/// Exit code if a difference was found.
const DIFFERS: u8 = 1;
/// Exit code if no difference was found, but the comparison is incomplete.
const TROUBLE: u8 = 2;

/// The settings of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file of requests; - is standard input.
    pub file: PathBuf,
    /// The folder of route files.
    pub routes: PathBuf,
    /// The route; `None` for the one of each request's path.
    pub route: Option<String>,
    /// The new side, for routes that do not name their own.
    pub new: SideUrl,
    /// The old side, for routes that do not name their own.
    pub old: SideUrl,
    /// Longest wait for an answer, for routes that set none.
    pub request_timeout: Duration,
    /// The Host header for both sides, for requests without one; `None` for the route's, or else the old side's
    /// address.
    pub host: Option<String>,
    /// Whether the old side is compared with itself too.
    pub noise: bool,
}

/// A request of the file.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    number: usize,
    asked: MirroredRequest,
    watched: Arc<ComparedRoute>,
}

impl Options {
    /// Reads the file and the routes. The error names the file, the line and the problem.
    pub(crate) fn read(&self) -> anyhow::Result<(Client, Vec<Line>, Skipped)> {
        let (carve, mut routes) =
            routes::load(&self.routes, &self.new, &self.old, self.request_timeout)
                .context("--routes")?;
        if let Some(name) = &self.route {
            let names: Vec<String> = routes.iter().map(|route| route.name().to_owned()).collect();
            routes.retain(|route| route.name() == name);
            ensure!(
                !routes.is_empty(),
                "there is no route {name:?}; the routes are {}",
                names.join(", ")
            );
        }
        let client = Client::new(carve.app.authorities_file(), &routes)?;
        let host = self.host.as_ref().map(|host| host.parse().context("--host")).transpose()?;
        let name = self.file.display();
        let content = if self.file == Path::new("-") {
            let mut content = Vec::new();
            std::io::stdin().read_to_end(&mut content).map(|_| content)
        } else {
            std::fs::read(&self.file)
        };
        let content = content.with_context(|| name.to_string())?;
        let parsed = formats::parse(&content).with_context(|| name.to_string())?;
        let (lines, skipped) = lines(parsed, &carve, &routes, host.as_ref());
        ensure!(!lines.is_empty() || !skipped.is_empty(), "{name}: no request in it");
        let paths: Vec<String> = routes.iter().map(|one| one.route.where_it_is()).collect();
        ensure!(
            !lines.is_empty(),
            "{name}: nothing to compare: skipped {skipped}; the routes' paths are {}",
            paths.join(", ")
        );
        Ok((client, lines, skipped))
    }
}

/// The requests that can be sent to both sides, and why the others cannot.
fn lines(
    parsed: RequestFile,
    carve: &CarveFile,
    routes: &[Arc<ComparedRoute>],
    host: Option<&HeaderValue>,
) -> (Vec<Line>, Skipped) {
    let mut skipped = Skipped::default();
    for (number, why) in parsed.lost {
        skipped.add(why, number);
    }
    let mut lines = Vec::new();
    for given in parsed.given {
        let number = given.number;
        let path = given.asked.target.path();
        let name = given.asked.headers.get(HOST).or(host).and_then(host_name);
        let is_it = |one: &&Arc<ComparedRoute>| {
            let has = |name: &str| carve.has(name, &one.route);
            one.route.file.path.matches(path) && name.as_deref().is_none_or(has)
        };
        let Some(watched) = routes.iter().find(is_it) else {
            skipped.add("of no route", number);
            continue;
        };
        let (route, method) = (&watched.route, given.asked.method.as_str());
        if !route.file.methods.include(method) {
            skipped
                .add(&format!("whose method {method} route {} does not have", route.name), number);
        } else if !route.asked_twice().iter().any(|twice| twice == method) {
            let why =
                format!("whose method {method} shadow.methods of {} does not have", route.name);
            skipped.add(&why, number);
        } else {
            let asked = asked(given, watched, host);
            lines.push(Line { number, asked, watched: Arc::clone(watched) });
        }
    }
    (lines, skipped)
}

/// The host without its port.
fn host_name(host: &HeaderValue) -> Option<String> {
    let authority = Authority::try_from(host.as_bytes()).ok()?;
    Some(authority.host().to_ascii_lowercase())
}

/// The request to both sides. If a browser recorded its headers, only those that the route lets the shadow send are
/// kept.
fn asked(
    given: RecordedRequest,
    watched: &ComparedRoute,
    host: Option<&HeaderValue>,
) -> MirroredRequest {
    let RecordedRequest { mut asked, is_recorded, .. } = given;
    let headers = std::mem::take(&mut asked.headers);
    let names: Vec<HeaderName> = match is_recorded {
        true => watched.sent_headers.clone(),
        false => headers.keys().filter(|name| *name != HOST).cloned().collect(),
    };
    for name in names {
        for value in headers.get_all(&name) {
            asked.headers.append(name.clone(), value.clone());
        }
    }
    let address = || {
        let authority = watched.old.tcp().map_or("localhost", |url| url.authority());
        let mut its_own = watched.route.file.hosts.iter().map(HostName::as_str);
        let name = its_own.find(|name| !name.starts_with('*')).unwrap_or(authority);
        HeaderValue::from_str(name).ok()
    };
    asked.host = headers.get(HOST).or(host).cloned().or_else(address);
    asked
}

/// Compares the answers to all lines.
pub(crate) async fn compare(
    options: &Options,
    client: &Client,
    lines: &[Line],
    skipped: Skipped,
) -> Report {
    let bar = progress_bar(lines.len());
    let mut report = Report::new(skipped);
    for line in lines {
        // Whoever runs this has the requests anyway, so the report may quote the answers.
        let comparer = Comparer {
            client: client.clone(),
            watched: Arc::clone(&line.watched),
            keep_text: true,
        };
        report.add(line.number, &comparer.compare(line.asked.clone()).await);
        if options.noise {
            report.add_noise(&line.watched, comparer.old_with_itself(&line.asked).await);
        }
        bar.set_message(report.difference_count().to_string());
        bar.inc(1);
    }
    bar.finish_and_clear();
    report
}

/// A progress bar on standard error; it draws nothing if that is not a terminal.
fn progress_bar(length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    // If the template were invalid, indicatif's default would be used.
    match ProgressStyle::with_template("{wide_bar} {pos}/{len}, {msg} differ, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests;
