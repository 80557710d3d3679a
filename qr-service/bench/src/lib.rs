//! The functions to compare ([`makers`]), the texts to run them on ([`inputs`]), and the [`turns`] in which they run.
//!
//! Without the feature `peers` there is only the [`mod@reference`], which qr-service can use as an engine.

#[cfg(feature = "peers")]
pub mod inputs;
#[cfg(feature = "peers")]
mod libqrencode;
#[cfg(feature = "peers")]
pub mod makers;
pub mod reference;
#[cfg(feature = "peers")]
pub mod turns;
