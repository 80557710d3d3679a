//! What makes the pictures: `qr-core`, or the article's function to compare it with.

use std::fmt;
use std::str::FromStr;

use qr_core::{Level, Raster};

/// Which function makes the pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// `qr-core`.
    #[default]
    Default,
    /// The published article's function, `qr-reference`: its picture is not exactly 200 px wide, and
    /// it may choose Kanji mode. Only in builds with the feature `reference`.
    #[cfg(feature = "reference")]
    Reference,
}

impl Engine {
    /// Makes the service's picture of `text`, a PNG, in `out`; reuses its capacity.
    ///
    /// # Errors
    /// What the function says. Texts of up to 512 bytes always fit.
    pub(crate) fn generate(
        self,
        text: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        match self {
            Engine::Default => Ok(qr_core::generate(text, Level::L, &Raster::SERVICE, out)?),
            #[cfg(feature = "reference")]
            Engine::Reference => Ok(qr_reference::generate(text, out)?),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Default => "default",
            #[cfg(feature = "reference")]
            Engine::Reference => "reference",
        })
    }
}

impl FromStr for Engine {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "default" => Ok(Engine::Default),
            #[cfg(feature = "reference")]
            "reference" => Ok(Engine::Reference),
            #[cfg(not(feature = "reference"))]
            "reference" => {
                Err("this build has no reference engine; build with --features reference")
            }
            _ => Err("use \"default\" or \"reference\""),
        }
    }
}
