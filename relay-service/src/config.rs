//! Configuration: [`Arguments`] as typed, and after checking [`Config`].

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::Parser;
use service_kit::arguments::{check_listeners, time, timeout};
use service_kit::metrics::Connections;
use service_kit::{Protocol, Serving, connections_up_to};

/// Streams PUT or POST /p/KEY to GET /p/KEY; whoever comes first waits.
#[derive(Parser, Clone, Debug)]
#[command(version)]
pub(crate) struct Arguments {
    /// Public address: HTTP/1.1, and HTTP/2 without TLS
    #[arg(long, env = "RELAY_ADDR", default_value = "127.0.0.1:42090", value_name = "IP:PORT")]
    addr: SocketAddr,

    /// Address of health and metrics; must not be reachable from outside
    #[arg(long, env = "RELAY_ADMIN_ADDR", default_value = "127.0.0.1:42091")]
    #[arg(value_name = "IP:PORT")]
    admin_addr: SocketAddr,

    /// Threads that serve; 0 means one for each processor
    #[arg(long, env = "RELAY_WORKER_THREADS", default_value_t = 0, value_name = "COUNT")]
    worker_threads: usize,

    /// Most connections at once, or as many as open files allow; at the limit, those without a request give way
    #[arg(long, env = "RELAY_MAX_CONNECTIONS", default_value = "30000", value_name = "COUNT")]
    max_connections: NonZeroU32,

    /// Most keys on which somebody waits; further ones are answered 503
    #[arg(long, env = "RELAY_MAX_WAITING_KEYS", default_value = "10000", value_name = "COUNT")]
    max_waiting_keys: NonZeroUsize,

    /// Longest wait for a partner
    #[arg(long, env = "RELAY_WAIT_TIMEOUT", default_value = "1h", value_name = "TIME", value_parser = timeout)]
    wait_timeout: Duration,

    /// Longest time until a request's head is there, from when the client connected or the last answer
    /// ended
    #[arg(long, env = "RELAY_HEADER_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = timeout)]
    header_timeout: Duration,

    /// How long to take new keys after a signal, and then the partners of those who wait
    #[arg(long, env = "RELAY_SHUTDOWN_DELAY", default_value = "0s", value_name = "TIME", value_parser = time)]
    shutdown_delay: Duration,

    /// Time that streams have to end after that
    #[arg(long, env = "RELAY_DRAIN_TIMEOUT", default_value = "10m", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "RELAY_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) addr: SocketAddr,
    pub(crate) admin_addr: SocketAddr,
    /// At least 1.
    pub(crate) worker_threads: usize,
    pub(crate) max_waiting_keys: usize,
    pub(crate) wait_timeout: Duration,
    pub(crate) shutdown_delay: Duration,
    pub(crate) serving: Serving,
    pub(crate) log_level: tracing::Level,
}

impl Arguments {
    /// Checks what concerns several values, and computes the number of threads.
    pub(crate) fn check(self) -> Result<Config, String> {
        check_listeners("RELAY_", &[self.addr.into()], self.admin_addr)?;
        Ok(Config {
            addr: self.addr,
            admin_addr: self.admin_addr,
            worker_threads: match self.worker_threads {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                count => count,
            },
            max_waiting_keys: self.max_waiting_keys.get(),
            wait_timeout: self.wait_timeout,
            shutdown_delay: self.shutdown_delay,
            serving: Serving {
                protocol: Protocol::Http1And2,
                // A client that closes its direction while it waits has left.
                half_close: false,
                idle_timeout: self.header_timeout,
                // Streams may stand still for as long as both clients are there.
                write_timeout: None,
                max_connections: connections_up_to(self.max_connections.get()),
                connections: Connections::default(),
                // The relay has its own, in two parts.
                shutdown_delay: Duration::ZERO,
                drain_timeout: self.drain_timeout,
            },
            log_level: self.log_level,
        })
    }
}

#[cfg(test)]
mod tests;
