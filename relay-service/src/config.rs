//! The settings.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::Parser;
use service_kit::arguments::{Usage, check_listeners, time, timeout};
use service_kit::{Protocol, Serving, connections_up_to};

/// Streams PUT or POST /p/KEY to GET /p/KEY; whoever comes first waits.
#[derive(Parser, Clone, Debug)]
#[command(version)]
pub(crate) struct Arguments {
    /// Public address: HTTP/1.1, and HTTP/2 without TLS
    #[arg(long, env = "RELAY_ADDR", default_value = "127.0.0.1:42090", value_name = "IP:PORT")]
    pub(crate) addr: SocketAddr,

    /// Address of the admin listener (health and metrics); must not be reachable from outside
    #[arg(long, env = "RELAY_ADMIN_ADDR", default_value = "127.0.0.1:42091")]
    #[arg(value_name = "IP:PORT")]
    pub(crate) admin_addr: SocketAddr,

    /// Threads that serve; 0 means one for each processor
    #[arg(long, env = "RELAY_WORKER_THREADS", default_value_t = 0, value_name = "COUNT")]
    pub(crate) worker_threads: usize,

    /// Most connections at once, or fewer if the limit of open files is lower; at the limit, idle ones are closed
    #[arg(long, env = "RELAY_MAX_CONNECTIONS", default_value = "30000", value_name = "COUNT")]
    max_connections: NonZeroU32,

    /// Most keys that may wait at once; further ones get 503
    #[arg(long, env = "RELAY_MAX_WAITING_KEYS", default_value = "10000", value_name = "COUNT")]
    pub(crate) max_waiting_keys: NonZeroUsize,

    /// Longest wait for a partner
    #[arg(long, env = "RELAY_WAIT_TIMEOUT", default_value = "1h", value_name = "TIME", value_parser = timeout)]
    pub(crate) wait_timeout: Duration,

    /// Longest time until a request's head has arrived, counted from the connect or the end of the last answer
    #[arg(long, env = "RELAY_HEADER_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = timeout)]
    header_timeout: Duration,

    /// Time after a signal in which new keys may still wait, and then the same time again for their partners
    #[arg(long, env = "RELAY_SHUTDOWN_DELAY", default_value = "0s", value_name = "TIME", value_parser = time)]
    pub(crate) shutdown_delay: Duration,

    /// Time that streams then have to end
    #[arg(long, env = "RELAY_DRAIN_TIMEOUT", default_value = "10m", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "RELAY_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: tracing::Level,
}

impl Arguments {
    /// How the public listener treats clients. Fails if both listeners have the same address.
    pub(crate) fn serving(&self) -> Result<Serving, Usage> {
        check_listeners("RELAY_", &[self.addr.into()], self.admin_addr).map_err(Usage)?;
        Ok(Serving {
            protocol: Protocol::Http1And2,
            // A client that half-closes while it waits counts as gone.
            half_close: false,
            idle_timeout: self.header_timeout,
            // Streams may stall for as long as both clients are connected.
            write_timeout: None,
            drain_timeout: self.drain_timeout,
            // The relay has its own shutdown delay, in two parts.
            ..Serving::near(connections_up_to(self.max_connections.get()))
        })
    }
}

#[cfg(test)]
mod tests;
