//! Configuration: what was typed ([`Arguments`]) and what is meant ([`Config`]).
//!
//! [`service_kit::arguments::parse`] names the flag and variable of a value that it cannot read, and what was wrong with it; what
//! concerns several values is checked in [`Arguments::check`]. Both come before any port is bound.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use service_kit::arguments::{Invalid, Names, time};
use service_kit::{Serving, Timeouts};

use crate::access_log::AccessLog;
use crate::engine::Engine;

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
    /// Requests at once, at least 1.
    pub max_in_flight: usize,
    /// Limits on clients, and the way to the end.
    pub serving: Serving,
    /// Least level logged.
    pub log_level: tracing::Level,
    /// Requests logged.
    pub access_log: AccessLog,
}

impl Arguments {
    /// What is meant.
    ///
    /// # Errors
    /// [`Invalid`] names the flag and variable of a value out of range.
    pub fn check(self) -> Result<Config, Invalid> {
        let names = Names::prefixed("QR_");
        names.differ(("addr", self.addr), ("admin-addr", self.admin_addr))?;
        Ok(Config {
            addr: self.addr,
            admin_addr: self.admin_addr,
            engine: self.engine,
            worker_threads: match self.worker_threads {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                count => count,
            },
            max_in_flight: names.at_least_1("max-in-flight", self.max_in_flight)?,
            serving: Serving {
                service: "qr-service",
                timeouts: Timeouts {
                    idle: names.longer_than_0("idle-timeout", self.idle_timeout)?,
                    header: names.longer_than_0("header-timeout", self.header_timeout)?,
                    write: names.longer_than_0("request-timeout", self.request_timeout)?,
                },
                max_connections: names.at_least_1("max-connections", self.max_connections)?,
                shutdown_delay: self.shutdown_delay,
                drain_timeout: self.drain_timeout,
            },
            log_level: self.log_level,
            access_log: self.access_log,
        })
    }
}
