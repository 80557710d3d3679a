//! Configuration: [`Arguments`] as typed, and after checking [`Config`].
//!
//! A bad value ends the program before it binds a port, with one line that names the flag, the
//! variable, the value and the mistake (`service_kit::arguments`).

use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroUsize};
use std::time::Duration;

use clap::{Parser, value_parser};
use service_kit::arguments::{check_listeners, time, timeout};
use service_kit::metrics::Connections;
use service_kit::{
    ListenAddr, ServeMode, Serving, Threads, Timeouts, allow_connections, connections_up_to,
};

use crate::access_log::AccessLog;
use crate::engine::Engine;

/// More than one client with slow connections fills, as many as nginx has in this project; fewer if the
/// limit of open files is lower.
fn connections() -> NonZeroUsize {
    NonZeroUsize::new(connections_up_to(16_384)).unwrap_or(NonZeroUsize::MIN)
}

fn processors() -> NonZeroU16 {
    let count = std::thread::available_parallelism();
    count.ok().and_then(|count| count.try_into().ok()).unwrap_or(NonZeroU16::MIN)
}

/// Serves QR codes: GET /qrcode?text=... answers with a PNG of 200 x 200 pixels.
///
/// Builds with the feature "api" also serve /v1/, with every option and format.
#[derive(Parser, Clone, Debug)]
#[command(version)]
pub(crate) struct Arguments {
    /// Public addresses, with commas between them: IP:PORT, or unix:/PATH for a proxy on the same machine
    #[arg(
        long,
        env = "QR_ADDR",
        default_value = "127.0.0.1:42069",
        value_name = "ADDRESS",
        value_delimiter = ','
    )]
    addr: Vec<ListenAddr>,

    /// Address of health and metrics; must not be reachable from outside
    #[arg(long, env = "QR_ADMIN_ADDR", default_value = "127.0.0.1:42070", value_name = "IP:PORT")]
    admin_addr: SocketAddr,

    /// Take a Unix socket from a service that still listens there, which keeps the connections that it has
    #[arg(long, env = "QR_TAKE_OVER")]
    take_over: bool,

    /// Function that draws the pictures: default; builds with the feature "reference" also have
    /// reference, the published article's function, for comparison
    #[arg(long, env = "QR_ENGINE", default_value_t = Engine::Default, value_name = "NAME")]
    engine: Engine,

    /// Threads that serve; 0 means one for each processor
    #[arg(long, env = "QR_WORKER_THREADS", default_value_t = 0, value_name = "COUNT", value_parser = value_parser!(u16).range(..=1024))]
    worker_threads: u16,

    /// How threads share connections: shared (one runtime), reuseport (each has its own and listens) or
    /// acceptor (each has its own; another accepts for all)
    #[arg(
        long,
        env = "QR_SERVE_MODE",
        default_value = "shared",
        value_name = "MODE",
        value_enum,
        hide_possible_values = true
    )]
    serve_mode: ServeMode,

    /// Most connections at once; a further one takes the place of the one that has waited longest for
    /// its client
    #[arg(long, env = "QR_MAX_CONNECTIONS", default_value_t = connections(), value_name = "COUNT")]
    max_connections: NonZeroUsize,

    /// Longest time in which a client may send a request's head
    #[arg(long, env = "QR_HEADER_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = timeout)]
    header_timeout: Duration,

    /// Longest time in which a client may read its answer, from when it first falls behind
    #[arg(long, env = "QR_REQUEST_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = timeout)]
    request_timeout: Duration,

    /// Longest idle time of a connection; must exceed that of the proxy in front (30 s here), or
    /// the proxy sends requests on connections that are being closed
    #[arg(long, env = "QR_IDLE_TIMEOUT", default_value = "75s", value_name = "TIME", value_parser = timeout)]
    idle_timeout: Duration,

    /// How long to accept requests after a signal, until clients are sent elsewhere
    #[arg(long, env = "QR_SHUTDOWN_DELAY", default_value = "0s", value_name = "TIME", value_parser = time)]
    shutdown_delay: Duration,

    /// Time that requests in flight have to end after that
    #[arg(long, env = "QR_DRAIN_TIMEOUT", default_value = "10s", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Lowest level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "QR_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,

    /// Requests that are logged: off, errors (500 and above) or all
    #[arg(
        long,
        env = "QR_ACCESS_LOG",
        default_value = "errors",
        value_name = "WHICH",
        value_enum,
        hide_possible_values = true
    )]
    access_log: AccessLog,

    #[cfg(feature = "api")]
    #[command(flatten)]
    api: crate::api::ApiArguments,
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) addr: Vec<ListenAddr>,
    pub(crate) takes_over: bool,
    pub(crate) admin_addr: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) threads: Threads,
    pub(crate) serving: Serving,
    pub(crate) log_level: tracing::Level,
    pub(crate) access_log: AccessLog,
    #[cfg(feature = "api")]
    pub(crate) api: qr_api::Settings,
}

impl Arguments {
    /// Checks what concerns several values, and computes the number of threads.
    pub(crate) fn check(self) -> Result<Config, String> {
        check_listeners("QR_", &self.addr, self.admin_addr)?;
        let connections = self.max_connections.get();
        allow_connections(connections).map_err(|error| {
            let setting = "--max-connections <COUNT> (QR_MAX_CONNECTIONS)";
            format!("{setting}: invalid value \"{connections}\": {error}")
        })?;
        Ok(Config {
            addr: self.addr,
            takes_over: self.take_over,
            admin_addr: self.admin_addr,
            engine: self.engine,
            threads: Threads {
                count: NonZeroU16::new(self.worker_threads).unwrap_or_else(processors),
                mode: self.serve_mode,
            },
            serving: Serving {
                service: "qr-service",
                timeouts: Timeouts {
                    idle: self.idle_timeout,
                    header: self.header_timeout,
                    write: self.request_timeout,
                },
                max_connections: connections,
                connections: Connections::default(),
                shortcut: None,
                shutdown_delay: self.shutdown_delay,
                drain_timeout: self.drain_timeout,
            },
            log_level: self.log_level,
            access_log: self.access_log,
            #[cfg(feature = "api")]
            api: self.api.settings(),
        })
    }
}
