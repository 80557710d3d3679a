//! `relay-service`: streams `PUT` or `POST /p/KEY` to `GET /p/KEY`; whoever comes first waits.
//!
//! [`run`] is the whole program; [`home`] is another, `relay-home`. [`pairing`] and [`target`] are pure.

mod accept;
mod body;
mod config;
mod handler;
pub mod home;
pub mod http1;
mod http2;
mod lines;
mod metrics;
mod multipart;
pub mod pairing;
mod peer;
mod program;
mod replay;
mod reply;
mod sessions;
pub mod target;
mod transfer;

pub use program::run;
