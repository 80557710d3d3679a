//! Moves the traffic of a route from the old side to the new side.
//!
//! [`set`] changes the split of a running nginx completely or not at all. [`run`] raises the share
//! step by step; Prometheus answers the [`gates`], and a failed gate rolls back.
//!
//! A module uses only modules from the lines above its own, from the bottom up:
//!
//! 1. `files`, `http`, `lock`
//! 2. `split`, `prometheus`, `gates`, `evidence`
//! 3. `judge`, `trial`, `samples`
//! 4. `cluster`, `nginx`, `state`, `log`, `pulse`, which know each other
//! 5. `metrics`, `display`
//! 6. `change`
//! 7. `stop`
//! 8. `set`, `watch`, `run`
//! 9. `follow`, `serve`

mod change;
pub mod cluster;
mod display;
pub mod evidence;
mod files;
mod follow;
pub mod gates;
pub mod http;
pub mod judge;
mod lock;
mod log;
mod metrics;
mod nginx;
mod own;
mod prometheus;
mod pulse;
pub mod run;
mod samples;
mod serve;
mod set;
pub mod simulate;
mod split;
pub mod state;
mod stop;
pub mod trial;
mod watch;

pub use change::{pending, prepare, route_of, take, write};
pub use display::lines;
pub use follow::{copy, follow};
pub use judge::{Judgement, Reading, Verdict};
pub use lock::{Lock, holder};
pub use nginx::{At, Nginx, choose, choose_here, prepared, route_dir};
pub use prometheus::Prometheus;
pub use route::{Key, Route, Share};
pub use serve::{Desk, serve};
pub use set::{Changed, set};
pub use split::{Split, Wanted, current, read as read_split};
pub use stop::{Stop, clear, in_force, keep as keep_stop, prepare as prepare_stops, stop};
pub use watch::watch;
