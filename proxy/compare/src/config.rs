//! Configuration: [`Arguments`] as typed, and [`Config`] after checking.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use route::SideUrl;
use service_kit::arguments::{check_listeners, time, timeout};
use service_kit::metrics::Connections;
use service_kit::{Protocol, Serving};

use crate::queue::Pace;
use crate::routes::{self, Watched};

/// Connections at once. The proxy opens one per mirrored request under way.
const MAX_CONNECTIONS: u32 = 1024;

/// The service's settings, as typed.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  carve shadow --old-url http://127.0.0.1:4000 --new-url http://127.0.0.1:4001"
)]
pub struct Arguments {
    /// Listener of mirrored requests, at any path
    #[arg(long, env = "SHADOW_ADDR", default_value = "127.0.0.1:42080", value_name = "IP:PORT")]
    addr: SocketAddr,

    /// Listener of health, metrics and mismatches; must not be reachable from outside
    #[arg(long, env = "SHADOW_ADMIN_ADDR", default_value = "127.0.0.1:42081")]
    #[arg(value_name = "IP:PORT")]
    admin_addr: SocketAddr,

    /// The folder of route files
    #[arg(long, env = "SHADOW_ROUTES", default_value = "proxy/routes", value_name = "FOLDER")]
    routes: PathBuf,

    /// The new side of the routes, itself, not the proxy in front of it
    #[arg(long, env = "SHADOW_NEW_URL", default_value = "http://127.0.0.1:42069")]
    #[arg(value_name = "URL")]
    new_url: SideUrl,

    /// The old side of the routes, itself, not the proxy in front of it
    #[arg(long, env = "SHADOW_OLD_URL", default_value = "http://127.0.0.1:3000")]
    #[arg(value_name = "URL")]
    old_url: SideUrl,

    /// Length of each route's queue; requests beyond it are dropped and counted
    #[arg(long, env = "SHADOW_QUEUE_LENGTH", default_value_t = 100, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queue_length: u32,

    /// Comparisons of each route under way at once
    #[arg(long, env = "SHADOW_CONCURRENCY", default_value_t = 1, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=64))]
    concurrency: u32,

    /// CPU time that this process may take, as a percentage of one core; ten comparisons of each route per second always start
    #[arg(long, env = "SHADOW_CPU_PERCENT", default_value_t = 10, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100))]
    cpu_percent: u8,

    /// Longest wait for an answer, connecting included, of routes that do not say
    #[arg(long, env = "SHADOW_REQUEST_TIMEOUT", default_value = "2s", value_name = "TIME", value_parser = timeout)]
    request_timeout: Duration,

    /// Show queries and bodies at /mismatches, not only their lengths and hashes
    #[arg(long, env = "SHADOW_KEEP_TEXT", default_value = "false", default_missing_value = "true")]
    #[arg(num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    #[arg(value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    keep_text: bool,

    /// Longest time for comparing the queued requests after a signal
    #[arg(long, env = "SHADOW_DRAIN_TIMEOUT", default_value = "5s", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "SHADOW_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,
}

/// The service's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) addr: SocketAddr,
    pub(crate) admin_addr: SocketAddr,
    pub(crate) routes: Vec<Arc<Watched>>,
    pub(crate) queue_length: usize,
    pub(crate) pace: Pace,
    pub(crate) keep_text: bool,
    pub(crate) serving: Serving,
    pub(crate) log_level: tracing::Level,
}

impl Arguments {
    /// Validates the arguments. An error names the flag and the variable.
    pub fn check(self) -> Result<Config, String> {
        check_listeners("SHADOW_", &[self.addr.into()], self.admin_addr)?;
        let routes = routes::load(&self.routes, &self.new_url, &self.old_url, self.request_timeout)
            .map_err(|error| format!("--routes (SHADOW_ROUTES): {error:#}"))?;
        Ok(Config {
            addr: self.addr,
            admin_addr: self.admin_addr,
            routes,
            queue_length: self.queue_length as usize,
            pace: Pace {
                concurrency: self.concurrency as usize,
                cpu_share: f64::from(self.cpu_percent) / 100.0,
            },
            keep_text: self.keep_text,
            serving: Serving {
                protocol: Protocol::Http1,
                half_close: true,
                // The proxy is nearby, and keeps idle connections for 30 s.
                idle_timeout: Duration::from_secs(75),
                write_timeout: Some(Duration::from_secs(10)),
                max_connections: MAX_CONNECTIONS,
                connections: Connections::default(),
                shutdown_delay: Duration::ZERO, // a mirrored request may be lost
                drain_timeout: self.drain_timeout,
            },
            log_level: self.log_level,
        })
    }
}

#[cfg(test)]
mod tests;
