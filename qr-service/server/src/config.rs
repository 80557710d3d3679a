//! Configuration: what was typed ([`Arguments`]) and what is meant ([`Config`]).
//!
//! [`arguments::parse`] names the flag and variable of a value that it cannot read, and what was wrong with it; what
//! concerns several values is checked in [`Arguments::check`]. Both come before any port is bound.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use qr_core::Engine;

use crate::connection::Timeouts;
use crate::telemetry::AccessLog;

/// Serves QR codes: GET /qrcode?text=... answers with a PNG of 200 x 200 pixels.
#[derive(Parser, Clone, Debug)]
#[command(version, about)]
pub struct Arguments {
    /// Where the service listens
    #[arg(long, env = "QR_ADDR", default_value = "127.0.0.1:42069", value_name = "IP:PORT")]
    addr: SocketAddr,

    /// Where health and metrics are served; never to be reached from outside
    #[arg(long, env = "QR_ADMIN_ADDR", default_value = "127.0.0.1:42070", value_name = "IP:PORT")]
    admin_addr: SocketAddr,

    /// What makes the pictures: default, or reference (the published article's function, to compare)
    #[arg(long, env = "QR_ENGINE", default_value_t = Engine::Default, value_name = "NAME")]
    engine: Engine,

    /// Threads that serve; 0 is one for each processor
    #[arg(long, env = "QR_WORKER_THREADS", default_value_t = 0, value_name = "COUNT")]
    worker_threads: usize,

    /// Connections at once; one more is answered 503 and closed
    #[arg(long, env = "QR_MAX_CONNECTIONS", default_value_t = 4096, value_name = "COUNT")]
    max_connections: usize,

    /// Requests being answered at once; one more is answered 503
    #[arg(long, env = "QR_MAX_IN_FLIGHT", default_value_t = 1024, value_name = "COUNT")]
    max_in_flight: usize,

    /// How long a client may take over a request's head
    #[arg(long, env = "QR_HEADER_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = time)]
    header_timeout: Duration,

    /// How long a client may take over reading its answer
    #[arg(long, env = "QR_REQUEST_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = time)]
    request_timeout: Duration,

    /// How long a connection may idle; longer than a proxy in front keeps its own (30 s here), or
    /// requests meet closing connections
    #[arg(long, env = "QR_IDLE_TIMEOUT", default_value = "75s", value_name = "TIME", value_parser = time)]
    idle_timeout: Duration,

    /// How long to serve on after a signal, until nobody sends new requests
    #[arg(long, env = "QR_SHUTDOWN_DELAY", default_value = "0s", value_name = "TIME", value_parser = time)]
    shutdown_delay: Duration,

    /// How long requests under way may take to end after that
    #[arg(long, env = "QR_DRAIN_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Least level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "QR_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,

    /// Which requests are logged: off, errors (500 and above) or all
    #[arg(
        long,
        env = "QR_ACCESS_LOG",
        default_value = "errors",
        value_name = "WHICH",
        value_enum,
        hide_possible_values = true
    )]
    access_log: AccessLog,
}

fn time(value: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(value)
}

/// What the service is to do.
#[derive(Clone, Debug)]
pub struct Config {
    /// Public address.
    pub addr: SocketAddr,
    /// Address of health and metrics.
    pub admin_addr: SocketAddr,
    /// What makes the pictures.
    pub engine: Engine,
    /// Threads that serve, at least 1.
    pub worker_threads: usize,
    /// Connections at once, at least 1.
    pub max_connections: usize,
    /// Requests at once, at least 1.
    pub max_in_flight: usize,
    pub(crate) timeouts: Timeouts,
    /// From a signal to the end of accepting.
    pub shutdown_delay: Duration,
    /// From then to the end of the process.
    pub drain_timeout: Duration,
    /// Least level logged.
    pub log_level: tracing::Level,
    /// Requests logged.
    pub access_log: AccessLog,
}

/// A value that cannot be meant.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Arguments {
    /// What is meant.
    ///
    /// # Errors
    /// [`ConfigError`] names the flag and variable of a value out of range.
    pub fn check(self) -> Result<Config, ConfigError> {
        let positive = |flag: &str, variable: &str, value: usize| match value {
            0 => Err(ConfigError(format!("--{flag} ({variable}) must be at least 1, not 0"))),
            value => Ok(value),
        };
        let taking_time = |flag: &str, variable: &str, value: Duration| match value {
            Duration::ZERO => {
                Err(ConfigError(format!("--{flag} ({variable}) must be longer than 0")))
            }
            value => Ok(value),
        };
        if self.addr == self.admin_addr && self.addr.port() != 0 {
            return Err(ConfigError(format!(
                "--admin-addr (QR_ADMIN_ADDR) must differ from --addr (QR_ADDR), both are {}",
                self.addr
            )));
        }
        Ok(Config {
            addr: self.addr,
            admin_addr: self.admin_addr,
            engine: self.engine,
            worker_threads: match self.worker_threads {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                count => count,
            },
            max_connections: positive(
                "max-connections",
                "QR_MAX_CONNECTIONS",
                self.max_connections,
            )?,
            max_in_flight: positive("max-in-flight", "QR_MAX_IN_FLIGHT", self.max_in_flight)?,
            timeouts: Timeouts {
                idle: taking_time("idle-timeout", "QR_IDLE_TIMEOUT", self.idle_timeout)?,
                header: taking_time("header-timeout", "QR_HEADER_TIMEOUT", self.header_timeout)?,
                write: taking_time("request-timeout", "QR_REQUEST_TIMEOUT", self.request_timeout)?,
            },
            shutdown_delay: self.shutdown_delay,
            drain_timeout: self.drain_timeout,
            log_level: self.log_level,
            access_log: self.access_log,
        })
    }
}
