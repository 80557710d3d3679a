//! Text to QR symbol to PNG bytes.
//!
//! Three stages, kept apart: [`encode`] turns text into a [`Symbol`] (ISO/IEC 18004), [`Raster`]
//! says how large its modules are drawn and where, [`write_png`] writes the picture (RFC 2083).
//! [`generate`] is all of them.
//!
//! No I/O, no logging, no global state, no `unsafe`.

mod codewords;
mod encode;
mod generate;
mod level;
mod matrix;
mod png;
mod raster;
mod reed_solomon;
mod segment;
mod symbol;
mod version;

pub use encode::{EncodeError, encode};
pub use generate::{GenerateError, generate};
pub use level::{Level, ParseLevelError};
pub use png::write_png;
pub use raster::{Raster, RasterError};
pub use symbol::Symbol;

/// Bytes of the longest text that a symbol holds: 7,089 digits in version 40 at level L (ISO/IEC 18004,
/// table 7).
pub const MAX_TEXT_BYTES: usize = 7089;
