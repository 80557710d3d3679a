//! Compares the answers to each line of a file, one line after the other.

pub(crate) mod report;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::uri::PathAndQuery;
use indicatif::{ProgressBar, ProgressStyle};
use route::SideUrl;

use crate::asked::Asked;
use crate::client::Client;
use crate::comparison::Comparer;
use crate::routes::{self, Watched};
use report::Report;

/// Exit code if a difference was found.
const DIFFERS: u8 = 1;
/// Exit code if no difference was found, but perhaps only because not all was compared.
const TROUBLE: u8 = 2;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file of requests; - is standard input.
    pub file: PathBuf,
    /// The folder of route files.
    pub routes: PathBuf,
    /// The route; `None` for the one of each line's path.
    pub route: Option<String>,
    /// The new side, of routes that do not name their own.
    pub new: SideUrl,
    /// The old side, likewise.
    pub old: SideUrl,
    /// Longest wait for an answer.
    pub request_timeout: Duration,
}

/// A line of the file.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its number, from 1.
    number: usize,
    target: PathAndQuery,
    watched: Arc<Watched>,
}

impl Options {
    /// Reads the file and the routes.
    ///
    /// # Errors
    /// The file, the line, and what is wrong with it.
    pub(crate) fn read(&self) -> anyhow::Result<Vec<Line>> {
        let mut routes = routes::load(&self.routes, &self.new, &self.old).context("--routes")?;
        if let Some(name) = &self.route {
            let names: Vec<String> = routes.iter().map(|route| route.name().to_owned()).collect();
            routes.retain(|route| route.name() == name);
            ensure!(
                !routes.is_empty(),
                "there is no route {name:?}; the routes are {}",
                names.join(", ")
            );
        }
        let name = self.file.display();
        let content = if self.file == Path::new("-") {
            let mut content = Vec::new();
            std::io::stdin().read_to_end(&mut content).map(|_| content)
        } else {
            std::fs::read(&self.file)
        };
        let content = content.with_context(|| name.to_string())?;
        let lines = lines(&content, &routes).with_context(|| name.to_string())?;
        ensure!(!lines.is_empty(), "{name}: no request in it");
        Ok(lines)
    }
}

fn lines(content: &[u8], routes: &[Arc<Watched>]) -> anyhow::Result<Vec<Line>> {
    let lines = content.split(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(i, line)| (i + 1, line.strip_suffix(b"\r").unwrap_or(line)));
    let parse = |(number, bytes): (usize, &[u8])| {
        let shown = String::from_utf8_lossy(bytes);
        let shown = shown.chars().take(60).collect::<String>();
        ensure!(
            bytes.starts_with(b"/"),
            "line {number}: {shown:?}: must be a path and query such as /report?year=2026"
        );
        let target = PathAndQuery::try_from(bytes)
            .with_context(|| format!("line {number}: {shown:?} is no path and query"))?;
        let watched = routes.iter().find(|one| one.route.file.path.matches(target.path()));
        let watched = watched.with_context(|| {
            let paths: Vec<String> =
                routes.iter().map(|one| one.route.file.path.to_string()).collect();
            format!("line {number}: {shown:?} is of no route; the paths are {}", paths.join(", "))
        })?;
        Ok(Line { number, target, watched: Arc::clone(watched) })
    };
    let says = |(_, line): &(usize, &[u8])| !line.is_empty() && !line.starts_with(b"#");
    lines.filter(says).map(parse).collect()
}

/// Compares the answers to all lines.
pub(crate) async fn compare(options: &Options, lines: &[Line]) -> Report {
    let client = Client::new(options.request_timeout);
    let bar = progress_bar(lines.len());
    let mut report = Report::default();
    for line in lines {
        // The file's owner has its requests before them, so the report may say what exactly differs.
        let comparer = Comparer {
            client: client.clone(),
            watched: Arc::clone(&line.watched),
            keep_text: true,
        };
        report.add(line.number, &comparer.compare(Asked::get(line.target.clone())).await);
        bar.set_message(report.difference_count().to_string());
        bar.inc(1);
    }
    bar.finish_and_clear();
    report
}

/// A progress bar on standard error; it draws nothing if that is not a terminal.
fn progress_bar(length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    // If this template were invalid, indicatif's default would do.
    match ProgressStyle::with_template("{wide_bar} {pos}/{len}, {msg} differ, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Vec<Arc<Watched>> {
        let side = "http://127.0.0.1:1".parse().unwrap();
        let route = route::Route::parse("report", "path = \"/report\"").unwrap();
        vec![Arc::new(Watched::of(route, &side, &side).unwrap())]
    }

    #[test]
    fn each_line_is_a_path_and_query_and_the_others_are_named() {
        let of = |content: &[u8]| -> Vec<(usize, String)> {
            let lines = lines(content, &routes()).unwrap().into_iter();
            lines.map(|line| (line.number, line.target.to_string())).collect()
        };
        let line = |number, target: &str| (number, target.to_owned());
        assert_eq!(
            of(b"/report?a=%20\n\n# a remark\r\n/report\r\n"),
            [line(1, "/report?a=%20"), line(4, "/report")]
        );
        assert_eq!(of(b"\n\n"), []);
        for (content, problem) in [
            ("/report\nreport", "line 2: \"report\": must be a path"),
            ("/other", "line 1: \"/other\" is of no route; the paths are /report"),
            ("/report?a b", "line 1: \"/report?a b\" is no path"),
        ] {
            let error = format!("{:#}", lines(content.as_bytes(), &routes()).unwrap_err());
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
