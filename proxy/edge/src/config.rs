//! The settings.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, value_parser};

use crate::counts::OVERFLOW;
use crate::line::{NO_ROUTE, is_route};
use crate::status::status_url;

/// The settings.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  carve edge --log run/nginx/edge/access.log")]
pub struct Arguments {
    /// nginx' access log; the files LOG.offset and LOG.printed beside it store the positions
    #[arg(long, env = "EDGE_LOG", value_name = "FILE")]
    pub(crate) log: PathBuf,

    /// Listener of health and metrics; must not be reachable from outside
    #[arg(long, env = "EDGE_ADMIN_ADDR", default_value = "127.0.0.1:42085")]
    #[arg(value_name = "IP:PORT")]
    pub(crate) admin_addr: SocketAddr,

    /// URL of nginx' stub_status
    #[arg(long, env = "EDGE_STATUS_URL", default_value = "http://127.0.0.1:8081/stub_status")]
    #[arg(value_name = "URL", value_parser = status_url)]
    pub(crate) status_url: String,

    /// Routes whose series exist from the start, separated by commas
    #[arg(long, env = "EDGE_ROUTES", default_value = "", value_name = "NAMES")]
    pub(crate) routes: Routes,

    /// File for the JSON lines, rotated after 10 MB, with two older files kept [default: standard output]
    #[arg(long, env = "EDGE_JSON_FILE", value_name = "FILE")]
    pub(crate) json_file: Option<PathBuf>,

    /// Share of the requests to write as JSON lines; failures, fallbacks and rescues are always written
    #[arg(long, env = "EDGE_JSON_PERCENT", default_value = "100", value_name = "PERCENT")]
    #[arg(value_parser = percent)]
    pub(crate) json_percent: f64,

    /// MiB of the log to keep for the next scrape and the reader of the JSON lines; older lines are dropped. Must be
    /// less than the log's filesystem has
    #[arg(long, env = "EDGE_KEEP_MIB", default_value = "64", value_name = "MIB")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub(crate) keep_mib: u32,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "EDGE_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: tracing::Level,
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or("must be a number from 0 to 100")
}

/// Names of routes, each of which is valid as a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Routes(pub(crate) Vec<String>);

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
        Ok(Routes(routes))
    }
}

#[cfg(test)]
mod tests;
