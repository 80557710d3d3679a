//! A picture that was asked for.

use qr_core::{Level, Raster, encode, write_png};

use crate::Mistake;

/// What a QR symbol holds at most, digits at level L (ISO/IEC 18004, table 7). A text of more UTF-16
/// units cannot fit, so it need not be copied out of JavaScript at all.
pub const MAX_UNITS: usize = 7089;

/// The widest margin that leaves the smallest symbol, of 21 modules, a pixel each.
const MAX_MARGIN_MODULES: u32 = (Raster::MAX_SIZE_PX - 21) / 2;

/// Room for most pictures of the usual size, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 2048;

/// A text and how its picture is to look.
#[derive(Clone, Debug)]
pub struct Request {
    text: String,
    level: Level,
    raster: Raster,
}

impl Request {
    /// The service's picture of `text`: 200 px, margin 4, level L.
    pub fn new(text: String) -> Self {
        Request { text, level: Level::L, raster: Raster::SERVICE }
    }

    /// Takes `options.size`.
    ///
    /// # Errors
    /// [`Mistake::Range`] where it is not whole or out of range.
    pub fn set_size(&mut self, number: f64) -> Result<(), Mistake> {
        self.raster.size_px = whole(number, "options.size", 1, Raster::MAX_SIZE_PX)?;
        Ok(())
    }

    /// Takes `options.margin`.
    ///
    /// # Errors
    /// [`Mistake::Range`] where it is not whole or out of range.
    pub fn set_margin(&mut self, number: f64) -> Result<(), Mistake> {
        self.raster.margin_modules = whole(number, "options.margin", 0, MAX_MARGIN_MODULES)?;
        Ok(())
    }

    /// Takes `options.level`.
    ///
    /// # Errors
    /// [`Mistake::Level`] where no level is called so.
    pub fn set_level(&mut self, name: &str) -> Result<(), Mistake> {
        self.level = match name {
            "L" => Level::L,
            "M" => Level::M,
            "Q" => Level::Q,
            "H" => Level::H,
            _ => return Err(Mistake::Level),
        };
        Ok(())
    }

    /// Makes the PNG.
    ///
    /// # Errors
    /// [`Mistake::TooLong`] or [`Mistake::TooSmall`].
    pub fn draw(&self) -> Result<Vec<u8>, Mistake> {
        let symbol = encode(&self.text, self.level)?;
        let mut png = Vec::with_capacity(USUAL_BYTES);
        write_png(&symbol, &self.raster, &mut png)?;
        Ok(png)
    }
}

fn whole(number: f64, name: &'static str, low: u32, high: u32) -> Result<u32, Mistake> {
    let in_range = (f64::from(low)..=f64::from(high)).contains(&number);
    if in_range && number.fract() == 0.0 {
        Ok(number as u32)
    } else {
        Err(Mistake::Range(name, low, high))
    }
}
