//! Text to PNG in one call.

use std::fmt;

use crate::encode::{EncodeError, encode};
use crate::level::Level;
use crate::png::write_png;
use crate::raster::{Raster, RasterError};

/// Why [`generate`] failed.
///
/// ```
/// use qr_core::{GenerateError, Level, Raster, RasterError, generate};
///
/// let raster = Raster { size_px: 20, margin_modules: 4 };
/// let refused = generate("text", Level::L, &raster, &mut Vec::new());
/// assert_eq!(refused, Err(GenerateError::Raster(RasterError::TooSmall { least_px: 29 })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenerateError {
    /// No symbol holds the text at this level.
    Encode(EncodeError),
    /// The symbol cannot be drawn at this size.
    Raster(RasterError),
}

/// Writes the PNG of `text` to `out`, replacing its content and reusing its capacity.
///
/// The service calls `generate(text, Level::L, &Raster::SERVICE, out)`, which succeeds for every text
/// of up to 512 bytes.
///
/// ```
/// use qr_core::{Level, Raster, generate};
///
/// let mut png = b"what was there".to_vec();
/// generate("https://example.com/", Level::L, &Raster::SERVICE, &mut png)?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), qr_core::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError::Encode`] if version 40 does not hold the text, [`GenerateError::Raster`] if
/// modules would be smaller than a pixel or the picture is too large. `out` is then empty.
pub fn generate(
    text: &str,
    level: Level,
    raster: &Raster,
    out: &mut Vec<u8>,
) -> Result<(), GenerateError> {
    out.clear();
    // The symbol is large: it is not moved.
    match &encode(text, level) {
        Ok(symbol) => Ok(write_png(symbol, raster, out)?),
        Err(error) => Err(GenerateError::Encode(*error)),
    }
}

impl From<EncodeError> for GenerateError {
    fn from(error: EncodeError) -> Self {
        GenerateError::Encode(error)
    }
}

impl From<RasterError> for GenerateError {
    fn from(error: RasterError) -> Self {
        GenerateError::Raster(error)
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenerateError::Encode(error) => error.fmt(f),
            GenerateError::Raster(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GenerateError {}
