//! The function that draws the pictures: `qr-core`, or the article's function for comparison.

use std::error::Error;
use std::str::FromStr;

use qr_core::{Level, Raster};
use strum::Display;

#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Engine {
    /// `qr-core`.
    #[default]
    Default,
    /// The published article's function, `qr_bench::reference`. Its picture is not exactly 200 px wide, and
    /// it may choose Kanji mode.
    #[cfg(feature = "reference")]
    Reference,
}

impl Engine {
    /// Replaces the content of `out` with the service's picture of `text`, a PNG. Fails as the engine does; texts of up
    /// to 512 bytes always fit into a QR code.
    pub(crate) fn generate(self, text: &str, out: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        match self {
            Engine::Default => Ok(qr_core::generate(text, Level::L, &Raster::SERVICE, out)?),
            #[cfg(feature = "reference")]
            Engine::Reference => qr_bench::reference::generate(text, out),
        }
    }

    /// The version of the engine's output, which changes whenever the pictures' bytes change.
    pub(crate) fn output_version(self) -> String {
        match self {
            Engine::Default => qr_core::OUTPUT_VERSION.to_string(),
            // A release fixes the versions of the libraries that this engine uses.
            #[cfg(feature = "reference")]
            Engine::Reference => env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl FromStr for Engine {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "default" => Ok(Engine::Default),
            #[cfg(feature = "reference")]
            "reference" => Ok(Engine::Reference),
            #[cfg(feature = "reference")]
            _ => Err("use default or reference"),
            #[cfg(not(feature = "reference"))]
            "reference" => Err("this build lacks it; build with --features reference"),
            #[cfg(not(feature = "reference"))]
            _ => Err("use default"),
        }
    }
}

#[cfg(test)]
mod tests;
