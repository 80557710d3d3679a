//! `carve compare`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::compare::Form;
use clap::Args;
use route::SideUrl;
use service_kit::arguments::{Usage, timeout};

use crate::place::RunDir;

const EXAMPLES: &str = "\
Examples:
  carve compare report requests.txt
  carve compare requests.txt --json
  carve compare /var/log/nginx/access.log --noise
  carve compare requests.txt --routes routes --old http://127.0.0.1:4000 --new http://127.0.0.1:4001

Exit codes:
  0  all answers match
  1  an answer differs or is missing
  2  no difference was found, but the comparison is incomplete: wrong usage, nothing to compare, matches that
     prove nothing, a judge that failed, or another failure of carve itself";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "carve compare [OPTIONS] [ROUTE] <FILE>")]
pub(crate) struct Compare {
    /// The route [default: for each line, the route of its path]
    route: Option<String>,
    /// File of requests: paths such as /report?year=2026, lines of an access log, JSON objects, one per line, or a
    /// HAR; - is standard input
    file: Option<PathBuf>,
    /// The folder of route files [default: the one `carve up` was started with]
    #[arg(long, env = "SHADOW_ROUTES", value_name = "FOLDER")]
    routes: Option<PathBuf>,
    /// The new side, for routes that do not name their own [default: the one `carve up` was started with]
    #[arg(long, env = "SHADOW_NEW_URL", value_name = "URL")]
    new: Option<SideUrl>,
    /// The old side, for routes that do not name their own [default: the one `carve up` was started with]
    #[arg(long, env = "SHADOW_OLD_URL", value_name = "URL")]
    old: Option<SideUrl>,
    /// The Host header for both sides, for requests without one [default: the route's, or the old side's address]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Send each request to the old side twice more, and report which fields differ among its own answers
    #[arg(long)]
    noise: bool,
    /// Longest wait for an answer, for routes that set none
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = timeout)]
    request_timeout: Duration,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print the mismatches as cases for `carve contract`: the requests, and what the old side answers
    #[arg(long, conflicts_with = "json")]
    as_case: bool,
    #[command(flatten)]
    run: RunDir,
}

impl Compare {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        // A single argument is the file.
        let (route, file) = match (self.route, self.file) {
            (route, Some(file)) => (route, file),
            (Some(file), None) => (None, PathBuf::from(file)),
            (None, None) => return Err(Usage("<FILE> is missing".to_owned()).into()),
        };
        let (routes, new, old) = match (self.routes, self.new, self.old) {
            (Some(routes), Some(new), Some(old)) => (routes, new, old),
            (routes, new, old) => {
                let started = self.run.sides("--routes, --old and --new")?;
                let url = |given: Option<SideUrl>, url: &str| given.map_or_else(|| url.parse(), Ok);
                let (new, old) = (url(new, &started.new)?, url(old, &started.old)?);
                (routes.unwrap_or(started.routes), new, old)
            }
        };
        let Compare { request_timeout, host, noise, .. } = self;
        let options =
            ::compare::Options { file, routes, route, new, old, request_timeout, host, noise };
        let report = ::compare::compare(&options)?;
        report.print(match () {
            () if self.as_case => Form::Cases,
            () if self.json => Form::Json,
            () => Form::Text,
        })?;
        Ok(ExitCode::from(report.exit_code()))
    }
}
