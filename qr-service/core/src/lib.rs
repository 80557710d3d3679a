//! Text to QR symbol to PNG bytes.
//!
//! Three stages, kept apart: [`encode`] turns text into a [`Symbol`] (ISO/IEC 18004), [`Raster`]
//! says how large its modules are drawn and where, [`write_png`] writes the picture (RFC 2083).
//! [`Engine::generate`] is all of them for the service's picture of 200 x 200 pixels.
//!
//! No I/O, no logging, no global state, no `unsafe`.

mod codewords;
mod encode;
mod engine;
mod matrix;
mod png;
mod raster;
mod reed_solomon;
#[cfg(feature = "reference")]
mod reference;
mod segment;
mod symbol;
mod version;

pub use encode::{EncodeError, encode};
pub use engine::{Engine, GenerateError, UnknownEngine};
pub use png::write_png;
pub use raster::{Raster, RasterError};
pub use symbol::{Level, Symbol};
