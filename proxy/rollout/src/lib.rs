//! Moves the traffic of a route from the old side to the new side.
//!
//! [`set`] changes the split of a running nginx completely or not at all. [`run`] raises the share step by step, judges
//! each step by gates whose values come from Prometheus, and rolls back if one fails. The crate `evidence` has the
//! statistics. The trait of `store` keeps a route's state, and the trait of `traffic` moves its traffic; each has an
//! implementation for one machine and one for a cluster.
//! `docs/modules.py rollout` prints which module uses which.

mod change;
pub mod cluster;
mod display;
mod exchange;
mod files;
mod folder;
mod follow;
mod guard;
mod history;
pub mod http;
pub mod judge;
mod lock;
mod log;
mod machine;
mod metrics;
mod nginx;
mod own;
mod prometheus;
mod pulse;
pub mod run;
mod samples;
mod serve;
mod set;
mod split;
pub mod state;
mod stop;
mod stop_file;
mod store;
mod traffic;
mod watch;
mod webhooks;

pub use change::{pending, prepare, take};
pub use display::lines;
pub use exchange::{Changes, exchange};
pub use files::hash;
pub use folder::{prepared, route_dir, write};
pub use follow::{copy, follow};
pub use lock::{Lock, holder};
pub use machine::Machine;
pub use nginx::{Nginx, choose, choose_here};
pub use prometheus::Prometheus;
pub use route::{Key, Route, Share};
pub use serve::{Environment, serve};
pub use set::{Changed, set};
pub use split::{ServedRoute, Split, SplitChange, current, read as read_split};
pub use stop::{clear, in_force, stop};
pub use stop_file::{Stop, prepare as prepare_stops, put as put_stop};
pub use traffic::title;
pub use watch::{WATCH, watch};
pub use webhooks::{Webhook, Webhooks};
