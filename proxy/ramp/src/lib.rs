//! Moves the traffic of one route from the legacy app to the Rust service.
//!
//! [`set`] changes the split of a running nginx: whole, and seen to serve, or not at all. [`run`]
//! walks it up step by step, with [`gates`] that Prometheus answers, and goes back where one fails.

mod change;
pub mod cluster;
mod display;
mod files;
pub mod gates;
pub mod http;
pub mod judge;
mod key;
mod lock;
mod log;
mod metrics;
mod nginx;
mod prometheus;
pub mod run;
mod set;
mod share;
mod split;

pub use change::{copy, current, pending, prepare};
pub use display::lines;
pub use judge::{Judgement, Reading, Verdict};
pub use key::Key;
pub use lock::{Lock, holder};
use log::{Decision, record};
pub use nginx::{At, Nginx};
pub use prometheus::Prometheus;
pub use set::{Changed, set, take};
pub use share::Share;
pub use split::{Split, Wanted};
