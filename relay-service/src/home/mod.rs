//! `relay-home`: tells nginx which side a key of the relay belongs to.
//!
//! Both halves of a pair must reach the same side, even if the share moves between them. nginx asks before it reads the
//! body (`auth_request`). The answer is the first of these: the side given for the key a moment ago; the side that
//! holds the key; the side that another home gave a moment ago; the only side that can take it; the client's choice;
//! the side by the key's hash and the share. Since the sides know the keys, a second instance can stand in at once.

mod ask;
pub mod homes;
mod program;
mod share;
mod stranded;

pub use program::run;
