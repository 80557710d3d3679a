//! The settings.
//!
//! An invalid value makes the program exit before it binds a port. One line names the flag, the
//! variable, the value and the mistake (`service_kit::arguments`).

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Parser, value_parser};
use service_kit::arguments::{Usage, check_listeners, time, timeout};
use service_kit::{ListenAddr, Serving, connections_up_to};

use crate::access_log::AccessLog;
use crate::engine::Engine;

/// The default limit of connections: more than a proxy needs, and too many for one client with slow connections to fill
/// quickly. It is lower if the limit of open files is lower.
fn connections() -> NonZeroU32 {
    NonZeroU32::new(connections_up_to(8192)).unwrap_or(NonZeroU32::MIN)
}

/// Serves QR codes: GET /qrcode?text=... answers with a PNG of 200 x 200 pixels.
///
/// Builds with the feature "api" also serve /v1/, with every option and format.
#[derive(Parser, Clone, Debug)]
#[command(version)]
pub(crate) struct Arguments {
    /// Public addresses, with commas between them: IP:PORT, or unix:/PATH for a proxy on the same machine
    #[arg(long, env = "QR_ADDR", default_value = "127.0.0.1:42069")]
    #[arg(value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) addr: Vec<ListenAddr>,

    /// Address of health and metrics, which must not be reachable from outside
    #[arg(long, env = "QR_ADMIN_ADDR", default_value = "127.0.0.1:42070", value_name = "IP:PORT")]
    pub(crate) admin_addr: SocketAddr,

    /// Function that draws the pictures: default; builds with the feature "reference" also have
    /// reference, the published article's function, for comparison
    #[arg(long, env = "QR_ENGINE", default_value_t = Engine::Default, value_name = "NAME")]
    pub(crate) engine: Engine,

    /// Threads that serve; 0 means one for each processor
    #[arg(long, env = "QR_WORKER_THREADS", default_value_t = 0, value_name = "COUNT", value_parser = value_parser!(u16).range(..=1024))]
    pub(crate) worker_threads: u16,

    /// Most connections at once; further ones replace those that have waited longest for a request
    #[arg(long, env = "QR_MAX_CONNECTIONS", default_value_t = connections(), value_name = "COUNT")]
    max_connections: NonZeroU32,

    /// Longest time in which a client may read nothing of its answer
    #[arg(long, env = "QR_WRITE_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = timeout)]
    write_timeout: Duration,

    /// Longest time to wait for a request's head after the client connected or got its last answer; must exceed the
    /// idle timeout of the proxy in front (30 s here), or the proxy sends requests on connections that are being closed
    #[arg(long, env = "QR_IDLE_TIMEOUT", default_value = "75s", value_name = "TIME", value_parser = timeout)]
    idle_timeout: Duration,

    /// How long to accept requests after a signal to stop, so that load balancers can send clients elsewhere
    #[arg(long, env = "QR_SHUTDOWN_DELAY", default_value = "0s", value_name = "TIME", value_parser = time)]
    shutdown_delay: Duration,

    /// Longest time for requests in flight to end after the shutdown delay
    #[arg(long, env = "QR_DRAIN_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "QR_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: tracing::Level,

    /// Requests that are logged: off, errors (500 and above) or all
    #[arg(long, env = "QR_ACCESS_LOG", default_value = "errors", value_name = "WHICH")]
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) access_log: AccessLog,

    #[cfg(feature = "api")]
    #[command(flatten)]
    pub(crate) api: crate::api::ApiArguments,
}

impl Arguments {
    /// How the public listeners treat clients. Checks values against each other; fails with one line that names the
    /// flag, the variable, the value and the mistake.
    pub(crate) fn serving(&self) -> Result<Serving, Usage> {
        check_listeners("QR_", &self.addr, self.admin_addr).map_err(Usage)?;
        let connections = self.max_connections.get();
        let most = connections_up_to(connections);
        if most < connections {
            let setting = "--max-connections <COUNT> (QR_MAX_CONNECTIONS)";
            let reason = format!("the limit of open files allows {most} at most (ulimit -Hn)");
            return Err(Usage(format!("{setting}: invalid value \"{connections}\": {reason}")));
        }
        Ok(Serving {
            idle_timeout: self.idle_timeout,
            write_timeout: Some(self.write_timeout),
            shutdown_delay: self.shutdown_delay,
            drain_timeout: self.drain_timeout,
            ..Serving::near(connections)
        })
    }
}
