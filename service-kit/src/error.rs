use std::io;

use thiserror::Error;

use crate::ListenAddr;

/// Why a service cannot start or go on.
#[derive(Debug, Error)]
pub enum Error {
    /// The service cannot bind an address.
    #[error("cannot listen on {addr} ({variable})")]
    Listen {
        /// The address.
        addr: ListenAddr,
        /// The name of the variable that sets it.
        variable: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The service cannot install a signal's handler.
    #[error("cannot listen for {signal}")]
    Signal {
        /// Its name.
        signal: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Logging has already been started.
    #[error("cannot start logging")]
    Logging(#[from] tracing_subscriber::util::TryInitError),
}
