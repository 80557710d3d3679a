//! The whole stack on one machine: nginx, the shadow, Prometheus, and the parts of `--parts`.
//!
//! `carve up` runs it in the background. [`Stack`] runs it on free ports in a temporary folder, for tests and
//! measurements. Both [`render`] the embedded files of `proxy/` and `dashboards/` with the stack's addresses, and
//! [`supervise`] starts the parts.

pub mod apply;
pub mod http;
mod names;
mod parts;
pub mod port_holder;
pub mod preflight;
pub mod readiness;
pub mod render;
pub mod settings;
pub mod stack;
pub mod supervise;
pub mod supervisor;

pub use rollout::{Key, Share};
pub use settings::{Addresses, Settings, Sides};
pub use stack::Stack;
