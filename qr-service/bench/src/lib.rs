//! The functions to compare ([`makers`]), the texts to run them on ([`inputs`]), and the [`turns`] in which they run.
//!
//! Without the feature `peers` there is the [`mod@reference`] alone, which qr-service can serve.

#[cfg(feature = "peers")]
pub mod inputs;
#[cfg(feature = "peers")]
mod libqrencode;
#[cfg(feature = "peers")]
pub mod makers;
pub mod reference;
#[cfg(feature = "peers")]
pub mod turns;
