//! Configuration: [`Arguments`] as typed, and [`Config`] after checking.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, value_parser};

use crate::counts::{MAX_ROUTES, OVERFLOW};
use crate::line::{NO_ROUTE, is_route};
use crate::status::StatusUrl;

/// The settings as typed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  carve edge --log run/nginx/edge/access.log")]
pub struct Arguments {
    /// nginx' access log; LOG.offset and LOG.printed beside it keep the positions
    #[arg(long, env = "EDGE_LOG", value_name = "FILE")]
    log: PathBuf,

    /// Listener of health and metrics; must not be reachable from outside
    #[arg(long, env = "EDGE_ADMIN_ADDR", default_value = "127.0.0.1:42085", value_name = "IP:PORT")]
    admin_addr: SocketAddr,

    /// nginx' stub_status
    #[arg(long, env = "EDGE_STATUS_URL", default_value = "http://127.0.0.1:8081/stub_status")]
    #[arg(value_name = "URL")]
    status_url: StatusUrl,

    /// Routes whose series exist from the start, separated by commas
    #[arg(long, env = "EDGE_ROUTES", default_value = "", value_name = "NAMES")]
    routes: Routes,

    /// Where the JSON lines go: a file that a new one follows after 10 MB, two older ones are kept; else standard output
    #[arg(long, env = "EDGE_JSON_FILE", value_name = "FILE")]
    json_file: Option<PathBuf>,

    /// Share of the requests that become JSON lines; failures, fallbacks and rescues always do
    #[arg(long, env = "EDGE_JSON_PERCENT", default_value = "100", value_name = "PERCENT")]
    #[arg(value_parser = percent)]
    json_percent: f64,

    /// MiB of the log that are kept for a scrape and for whoever reads the JSON lines; older lines are given up. Less than
    /// the log's filesystem has
    #[arg(long, env = "EDGE_KEEP_MIB", default_value = "64", value_name = "MIB")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    keep_mib: u32,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "EDGE_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,
}

/// The service's configuration.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) log: PathBuf,
    pub(crate) admin_addr: SocketAddr,
    pub(crate) status_url: StatusUrl,
    pub(crate) routes: Vec<String>,
    pub(crate) json_file: Option<PathBuf>,
    pub(crate) json_percent: f64,
    pub(crate) keep_bytes: u64,
    pub(crate) log_level: tracing::Level,
}

impl From<Arguments> for Config {
    fn from(arguments: Arguments) -> Self {
        let Arguments {
            log,
            admin_addr,
            status_url,
            routes: Routes(routes),
            json_file,
            json_percent,
            keep_mib,
            log_level,
        } = arguments;
        let keep_bytes = u64::from(keep_mib) << 20;
        Config {
            log,
            admin_addr,
            status_url,
            routes,
            json_file,
            json_percent,
            keep_bytes,
            log_level,
        }
    }
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or("must be a number from 0 to 100")
}

/// Names of routes, each of which can be a label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Routes(Vec<String>);

impl FromStr for Routes {
    type Err = String;

    fn from_str(names: &str) -> Result<Self, Self::Err> {
        let mut routes: Vec<String> = Vec::new();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if !is_route(name.as_bytes()) {
                return Err(format!("{name:?} must be 1 to 64 letters, digits, `_`, `-` or `.`"));
            }
            if name == OVERFLOW || name.as_bytes() == NO_ROUTE {
                return Err(format!("{name:?} has another meaning in the metrics"));
            }
            if !routes.iter().any(|route| route == name) {
                routes.push(name.to_owned());
            }
        }
        match routes.len() {
            0..=MAX_ROUTES => Ok(Routes(routes)),
            count => Err(format!("has {count} routes, the limit is {MAX_ROUTES}")),
        }
    }
}

#[cfg(test)]
mod tests;
