//! Text to QR symbol to PNG bytes.
//!
//! [`generate`] makes the picture in one call. Its stages can be called separately: [`encode`] turns
//! the text into a [`Symbol`] (ISO/IEC 18004), a [`Raster`] sets the size of the picture and the
//! quiet zone, and [`write_png`] writes the file (RFC 2083).
//!
//! No I/O, no logging, no global state, no `unsafe`.

mod bits;
mod codewords;
mod encode;
mod encoder;
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
pub use encoder::{Data, ECI_UTF_8, Encoder, EncoderError, Fnc1, MAX_SYMBOLS, Modes};
pub use generate::{GenerateError, generate};
pub use level::{Level, ParseLevelError};
pub use png::write_png;
pub use raster::{Raster, RasterError};
pub use symbol::Symbol;
pub use version::MAX_TEXT_BYTES;
