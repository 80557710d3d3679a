//! The functions to compare ([`makers`]), the texts to run them on ([`inputs`]), the [`turns`] in which they run, and
//! the [`files`] of their figures.
//!
//! Without the feature `peers` there is only the [`mod@reference`], which qr-service can use as an engine.

#[cfg(feature = "peers")]
pub mod files;
#[cfg(feature = "peers")]
pub mod inputs;
#[cfg(feature = "peers")]
pub mod libqrencode;
#[cfg(feature = "peers")]
pub mod makers;
pub mod reference;
#[cfg(feature = "peers")]
pub mod turns;
