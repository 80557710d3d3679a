//! Text to QR symbol to PNG bytes.
//!
//! [`generate`] makes the picture in one call. Its stages can be called separately: [`encode`] turns
//! the text into a [`Symbol`] (ISO/IEC 18004), a [`Raster`] sets the size of the picture and the
//! quiet zone, and [`write_png`] writes the file (RFC 2083).
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

/// The version of the pictures' bytes: the same text, level and raster give the same bytes as long as it
/// is the same. Caches and entity tags use it. `tests/output.rs` fails if bytes change without it.
pub const OUTPUT_VERSION: u32 = 1;

pub use encode::{EncodeError, encode};
pub use generate::{GenerateError, generate};
pub use level::{Level, ParseLevelError};
pub use png::write_png;
pub use raster::{Raster, RasterError};
pub use symbol::Symbol;
pub use version::MAX_TEXT_BYTES;
