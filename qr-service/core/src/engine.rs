//! The hot function, and the choice between ours and the reference.

use std::fmt;
use std::str::FromStr;

use crate::{EncodeError, Level, Raster, RasterError, encode, write_png};

/// Which implementation makes the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// This crate's own.
    #[default]
    Default,
    /// The published article's function, for measuring and comparing: its picture is not 200 px
    /// wide, and it may choose Kanji mode.
    #[cfg(feature = "reference")]
    Reference,
}

/// Why a text has no picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerateError {
    /// The text does not fit a symbol, or the symbol not the picture.
    TooLong,
    /// The picture could not be written.
    Picture,
}

impl Engine {
    /// Makes the service's picture of `text`, a PNG of 200 x 200 pixels at level L, in `out`,
    /// whose former content is dropped and whose capacity is reused.
    ///
    /// # Errors
    /// [`GenerateError::TooLong`] where the symbol would need modules smaller than a pixel; texts of
    /// up to 512 bytes always fit.
    pub fn generate(self, text: &str, out: &mut Vec<u8>) -> Result<(), GenerateError> {
        out.clear();
        match self {
            Engine::Default => Ok(write_png(&encode(text, Level::L)?, &Raster::SERVICE, out)?),
            #[cfg(feature = "reference")]
            Engine::Reference => crate::reference::generate(text, out),
        }
    }
}

impl From<EncodeError> for GenerateError {
    fn from(_: EncodeError) -> Self {
        GenerateError::TooLong
    }
}

impl From<RasterError> for GenerateError {
    fn from(_: RasterError) -> Self {
        GenerateError::TooLong
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GenerateError::TooLong => "text does not fit the picture",
            GenerateError::Picture => "the picture could not be written",
        })
    }
}

impl std::error::Error for GenerateError {}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Default => "default",
            #[cfg(feature = "reference")]
            Engine::Reference => "reference",
        })
    }
}

/// The name of no engine that this build has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown engine {:?}: use \"default\" or \"reference\"", self.0)
    }
}

impl std::error::Error for UnknownEngine {}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "default" => Ok(Engine::Default),
            #[cfg(feature = "reference")]
            "reference" => Ok(Engine::Reference),
            _ => Err(UnknownEngine(name.to_owned())),
        }
    }
}
