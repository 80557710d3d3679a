//! `relay-home`: tells nginx which side a key of the relay belongs to.
//!
//! Both halves of a pair must reach the same side, also if the share moves between them. nginx asks
//! before it reads the body (`auth_request`). The answer is the side that was given for the key a moment
//! ago, else the side that holds the key, else the one that another home gave a moment ago, else the side by the key's
//! hash and the share, unless that one is away. So a second instance can stand in at once.

mod ask;
pub mod homes;
mod program;
mod share;
mod stranded;

pub use program::run;
