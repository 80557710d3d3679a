//! All three stages in one call.

use std::fmt;

use crate::{EncodeError, Level, Raster, RasterError, encode, write_png};

/// Why a text has no picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerateError {
    /// No symbol holds the text at this level.
    Encode(EncodeError),
    /// The symbol cannot be drawn at this size.
    Raster(RasterError),
}

/// Makes the PNG of `text` in `out`. The former content of `out` is dropped, its capacity is reused.
///
/// The service's picture is `generate(text, Level::L, &Raster::SERVICE, out)`; it exists for every
/// text of up to 512 bytes.
///
/// # Errors
/// [`GenerateError::Encode`] where version 40 does not hold the text, [`GenerateError::Raster`] where
/// modules would be smaller than a pixel or the picture is too large. `out` is empty then.
pub fn generate(
    text: &str,
    level: Level,
    raster: &Raster,
    out: &mut Vec<u8>,
) -> Result<(), GenerateError> {
    out.clear();
    Ok(write_png(&encode(text, level)?, raster, out)?)
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
