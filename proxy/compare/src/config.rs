//! The settings.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use route::SideUrl;
use service_kit::Serving;
use service_kit::arguments::{Usage, check_listeners, time, timeout};

use crate::client::Client;
use crate::queue::Pace;
use crate::routes::{self, ComparedRoute};

/// The most connections at once. The proxy opens one for each mirrored request in progress.
const MAX_CONNECTIONS: u32 = 1024;

/// The service's settings, as typed.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  carve shadow --old-url http://127.0.0.1:4000 --new-url http://127.0.0.1:4001"
)]
pub struct Arguments {
    /// Listener of mirrored requests
    #[arg(long, env = "SHADOW_ADDR", default_value = "127.0.0.1:42080", value_name = "IP:PORT")]
    pub(crate) addr: SocketAddr,

    /// Listener of health, metrics and mismatches; must not be reachable from outside
    #[arg(long, env = "SHADOW_ADMIN_ADDR", default_value = "127.0.0.1:42081")]
    #[arg(value_name = "IP:PORT")]
    pub(crate) admin_addr: SocketAddr,

    /// The folder of route files
    #[arg(long, env = "SHADOW_ROUTES", default_value = "proxy/routes", value_name = "FOLDER")]
    routes: PathBuf,

    /// The new side itself, not the proxy in front of it; for routes that do not name their own
    #[arg(long, env = "SHADOW_NEW_URL", default_value = "http://127.0.0.1:42069")]
    #[arg(value_name = "URL")]
    new_url: SideUrl,

    /// The old side itself, not the proxy in front of it; for routes that do not name their own
    #[arg(long, env = "SHADOW_OLD_URL", default_value = "http://127.0.0.1:3000")]
    #[arg(value_name = "URL")]
    old_url: SideUrl,

    /// Length of each route's queue; further requests are dropped and counted
    #[arg(long, env = "SHADOW_QUEUE_LENGTH", default_value_t = 100, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) queue_length: u32,

    /// Number of comparisons that run at once, for each route
    #[arg(long, env = "SHADOW_CONCURRENCY", default_value_t = 1, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=64))]
    concurrency: u32,

    /// CPU time that this process may take, as a percentage of one core; ten comparisons per second and route always
    /// start
    #[arg(long, env = "SHADOW_CPU_PERCENT", default_value_t = 10, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100))]
    cpu_percent: u8,

    /// Longest wait for an answer, including the connection, for routes that set none
    #[arg(long, env = "SHADOW_REQUEST_TIMEOUT", default_value = "2s", value_name = "TIME", value_parser = timeout)]
    request_timeout: Duration,

    /// Show queries and bodies at /mismatches, instead of only their lengths and hashes
    #[arg(long, env = "SHADOW_KEEP_TEXT", default_value = "false", default_missing_value = "true")]
    #[arg(num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    #[arg(value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    pub(crate) keep_text: bool,

    /// How long to go on comparing queued requests after a signal
    #[arg(long, env = "SHADOW_DRAIN_TIMEOUT", default_value = "5s", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "SHADOW_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: tracing::Level,
}

impl Arguments {
    /// Checks the settings against each other. Reads the routes that they name, and makes the client for their sides. An
    /// error names the flag and the variable.
    pub(crate) fn check(&self) -> Result<(Client, Vec<Arc<ComparedRoute>>), Usage> {
        check_listeners("SHADOW_", &[self.addr.into()], self.admin_addr).map_err(Usage)?;
        routes::load(&self.routes, &self.new_url, &self.old_url, self.request_timeout)
            .and_then(|(carve, it)| Ok((Client::new(carve.app.authorities_file(), &it)?, it)))
            .map_err(|error| Usage(format!("--routes (SHADOW_ROUTES): {error:#}")))
    }

    pub(crate) fn pace(&self) -> Pace {
        let cpu_share = f64::from(self.cpu_percent) / 100.0;
        Pace { concurrency: self.concurrency as usize, cpu_share }
    }

    /// The settings of the listeners. There is no shutdown delay, since mirrored requests may be lost.
    pub(crate) fn serving(&self) -> Serving {
        Serving { drain_timeout: self.drain_timeout, ..Serving::near(MAX_CONNECTIONS) }
    }
}

#[cfg(test)]
mod tests;
