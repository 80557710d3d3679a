//! Servers on cores of their own ([`server`]), load from others ([`load`]), what it costs
//! ([`sampling`]), and whether the answers are right ([`check`]). And faults under load ([`chaos`]).

pub mod chaos;
pub mod check;
pub mod ladder;
pub mod load;
pub mod report;
pub mod rows;
pub mod sampling;
pub mod server;
pub mod texts;
