//! The contract of `GET /qrcode` and of the relay.
//!
//! [`query`] reads the text from a query; the server uses it too. Everything else needs the feature `suite` and checks
//! any base URL: the cases are data (`cases/qrcode/*.json`), [`run()`] sends each exactly as written, on a new
//! connection, and checks the answer, whose picture decoders read that belong to neither side. Other crates use
//! [`decode`] too.

pub mod query;

#[cfg(feature = "suite")]
pub mod case;
#[cfg(feature = "suite")]
mod check;
#[cfg(feature = "suite")]
pub mod decode;
#[cfg(feature = "suite")]
mod image;
#[cfg(feature = "suite")]
pub mod relay;
#[cfg(feature = "suite")]
pub mod report;
#[cfg(feature = "suite")]
mod run;
#[cfg(feature = "suite")]
mod wire;

#[cfg(feature = "suite")]
pub use crate::{
    case::Case,
    check::Options,
    report::{Outcome, Report},
    run::run,
    wire::Target,
};
