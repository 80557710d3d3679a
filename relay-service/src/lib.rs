//! `relay-service`: streams `PUT` or `POST /p/KEY` to `GET /p/KEY`; whoever comes first waits.
//!
//! [`run`] is the whole program; [`home`] is another, `relay-home`. [`pairing`] and [`target`] are pure.

mod body;
mod config;
mod feed;
mod handler;
pub mod home;
mod messages;
mod metrics;
pub mod pairing;
mod program;
mod reply;
mod request;
mod source;
pub mod target;
mod transfer;

pub use program::run;
