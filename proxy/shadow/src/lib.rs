//! `shadow`: asks both implementations the same request, and compares what they answer.
//!
//! [`run`] is the service: it takes requests that a proxy mirrors, answers 204 at once, and compares
//! later, as much as its bounds allow. [`offline`] does the same with the lines of a file. What is
//! compared, and what it is called, is in [`verdict`].

mod app;
pub mod asked;
pub mod comparison;
pub mod config;
mod metrics;
pub mod offline;
pub mod picture;
mod queue;
pub mod record;
mod serve;
pub mod side;
pub mod verdict;

pub use serve::run;
