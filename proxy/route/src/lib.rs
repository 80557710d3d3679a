//! Route files: which path is carved out, between which two sides, and what "the same" means.
//!
//! [`Route`] is one file, [`load`] reads a folder of them, and [`render`] makes of them what nginx
//! includes.

mod file;
mod folder;
mod judge;
mod key;
mod path;
pub mod render;
mod share;
mod side;
mod units;

pub use file::{Body, Fallback, Home, OnLost, Ramp, Route, RouteFile, Shadow, Slower, schema};
pub use folder::load;
pub use judge::{ExecSettings, ImageSettings, JsonSettings, JudgeSettings};
pub use key::Key;
pub use path::{Methods, Path};
pub use share::Share;
pub use side::{Side, SideUrl};
pub use units::{BaseUrl, Size, Time};
