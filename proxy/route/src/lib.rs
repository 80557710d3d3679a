//! Route files: which path is carved out, between which two sides, and how answers are compared.
//!
//! [`Route`] is one file, [`load`] reads a folder of them, and [`render`] makes nginx' files from them. [`CarveFile`]
//! has the settings of the front and of the rest of the app.

mod carve_file;
mod file;
mod folder;
mod hosts;
mod judge;
mod key;
mod parse;
mod path;
pub mod render;
mod share;
mod side;
mod units;

pub use carve_file::{
    App, CARVE_FILE, CarveFile, Choose, ChooseBy, Front, Headers, Host, Listener, Tls,
};
pub use file::{
    Body, Counters, Fallback, Gateway, Home, OnLost, Ramp, Route, RouteFile, Shadow, Slower,
    check_steps, gateway_object,
};
pub use folder::load;
pub use hosts::settle;
pub use judge::{ExecSettings, ImageSettings, JsonSettings, JudgeSettings, TextSettings};
pub use key::Key;
pub use parse::{parse, schema};
pub use path::{Methods, Path};
pub use share::Share;
pub use side::{FarUrl, Side, SideUrl};
pub use units::{BaseUrl, HostName, Network, Size, Time};
