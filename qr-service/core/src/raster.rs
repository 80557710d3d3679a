//! Where the modules lie in the picture.

/// Size and margin of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raster {
    /// Pixels a side of the square picture.
    pub size_px: u32,
    /// Least width of the quiet zone on every side, in modules; the standard asks for 4.
    pub margin_modules: u32,
}

/// Why a symbol cannot be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RasterError {
    /// Modules would be smaller than a pixel.
    TooSmall {
        /// The least size that would do, in pixels a side.
        least_px: u32,
    },
    /// More pixels a side than [`Raster::MAX_SIZE_PX`].
    TooLarge,
}

impl std::fmt::Display for RasterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RasterError::TooSmall { least_px } => {
                write!(f, "the symbol and its margin need at least {least_px} px a side")
            }
            RasterError::TooLarge => {
                write!(f, "a picture has at most {} px a side", Raster::MAX_SIZE_PX)
            }
        }
    }
}

impl std::error::Error for RasterError {}

/// A raster worked out for one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Pixels a side of the picture.
    pub(crate) size_px: usize,
    /// Pixels a side of a module.
    pub(crate) scale_px: usize,
    /// Light pixels left of and above the symbol; an odd spare pixel goes right and below.
    pub(crate) offset_px: usize,
}

impl Raster {
    /// The contract's picture: 200 px, a quiet zone of at least 4 modules.
    pub const SERVICE: Raster = Raster { size_px: 200, margin_modules: 4 };

    /// The largest picture drawn, in pixels a side: 32 MB of pixels at one bit each.
    pub const MAX_SIZE_PX: u32 = 16384;

    /// The largest whole number of pixels a module that fits, centred.
    pub(crate) fn layout(&self, modules: usize) -> Result<Layout, RasterError> {
        if self.size_px > Self::MAX_SIZE_PX {
            return Err(RasterError::TooLarge);
        }
        let least = modules as u64 + 2 * u64::from(self.margin_modules);
        let scale_px = (u64::from(self.size_px) / least) as usize;
        if scale_px == 0 {
            return Err(RasterError::TooSmall {
                least_px: u32::try_from(least).unwrap_or(u32::MAX),
            });
        }
        let size_px = self.size_px as usize;
        Ok(Layout { size_px, scale_px, offset_px: (size_px - modules * scale_px) / 2 })
    }
}
