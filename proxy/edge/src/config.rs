//! Configuration: [`Arguments`] as typed, and [`Config`] after checking.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;

use crate::counts::{MAX_ROUTES, OVERFLOW};
use crate::line::{NO_ROUTE, is_route};
use crate::status::StatusUrl;

/// Reads the access log of the nginx beside it and serves metrics per route and side
#[derive(Parser, Clone, Debug)]
#[command(name = "edge", version)]
pub(crate) struct Arguments {
    /// nginx' access log in the format `edge`; the offset is kept beside it, in LOG.offset
    #[arg(long, env = "EDGE_LOG", value_name = "FILE")]
    log: PathBuf,

    /// Listener of health and metrics; must not be reachable from outside
    #[arg(
        long,
        env = "EDGE_ADMIN_ADDR",
        default_value = "127.0.0.1:42085",
        value_name = "IP:PORT"
    )]
    admin_addr: SocketAddr,

    /// nginx' stub_status
    #[arg(
        long,
        env = "EDGE_STATUS_URL",
        default_value = "http://127.0.0.1:8081/stub_status",
        value_name = "URL"
    )]
    status_url: StatusUrl,

    /// Routes whose series exist from the start, separated by commas
    #[arg(long, env = "EDGE_ROUTES", default_value = "", value_name = "NAMES")]
    routes: Routes,

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
    pub(crate) log_level: tracing::Level,
}

impl From<Arguments> for Config {
    fn from(arguments: Arguments) -> Self {
        let Arguments { log, admin_addr, status_url, routes, log_level } = arguments;
        Config { log, admin_addr, status_url, routes: routes.0, log_level }
    }
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
mod tests {
    use clap::CommandFactory;
    use service_kit::testing::readme_has_settings;

    use super::*;

    #[test]
    fn the_readme_has_a_row_for_every_setting() {
        readme_has_settings(include_str!("../README.md"), &Arguments::command(), "EDGE_");
    }

    #[test]
    fn routes_are_a_list_of_labels() {
        let routes = |names: &str| names.parse::<Routes>().map(|routes| routes.0);
        assert_eq!(routes(""), Ok(vec![]));
        assert_eq!(routes("qrcode, prices,qrcode,"), Ok(vec!["qrcode".into(), "prices".into()]));
        for names in ["a b", "a\"", "ä", "none", "_overflow", &"x".repeat(65)] {
            assert!(routes(names).is_err(), "{names}");
        }
        let many: Vec<String> = (0..65).map(|i| i.to_string()).collect();
        assert!(routes(&many[1..].join(",")).is_ok());
        assert_eq!(routes(&many.join(",")), Err("has 65 routes, the limit is 64".into()));
    }
}
