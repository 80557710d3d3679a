//! A request for a picture.

use qr_core::{Level, Raster, generate};

use crate::mistake::Mistake;

/// The widest margin at which each of the 21 modules of the smallest symbol still has a pixel.
const MAX_MARGIN_MODULES: u32 = (Raster::MAX_SIZE_PX - 21) / 2;

/// Room for most pictures of 200 px, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 2048;

/// A text and the options of its picture.
#[derive(Clone, Debug)]
pub struct Request {
    text: String,
    level: Level,
    raster: Raster,
}

impl Request {
    /// A request for the service's picture of `text`: 200 px, margin 4, level L.
    pub fn new(text: String) -> Self {
        Request { text, level: Level::L, raster: Raster::SERVICE }
    }

    /// Sets `options.size`. Fails with [`Mistake::Range`] if it is not a whole number or is out of range.
    pub fn set_size(&mut self, number: f64) -> Result<(), Mistake> {
        self.raster.size_px = whole(number, "options.size", 1, Raster::MAX_SIZE_PX)?;
        Ok(())
    }

    /// Sets `options.margin`. Fails with [`Mistake::Range`] if it is not a whole number or is out of range.
    pub fn set_margin(&mut self, number: f64) -> Result<(), Mistake> {
        self.raster.margin_modules = whole(number, "options.margin", 0, MAX_MARGIN_MODULES)?;
        Ok(())
    }

    /// Sets `options.level`, which must be upper case. Fails with [`Mistake::Level`] if no level has this name.
    pub fn set_level(&mut self, name: &str) -> Result<(), Mistake> {
        // Parsing also accepts lower case, which is not allowed here.
        let level = name.parse().ok().filter(|level: &Level| level.to_string() == name);
        self.level = level.ok_or(Mistake::Level)?;
        Ok(())
    }

    /// Draws the PNG. Fails with [`Mistake::TooLong`] if no symbol holds the text, [`Mistake::TooSmall`] if the size is
    /// too small for it.
    pub fn draw(&self) -> Result<Vec<u8>, Mistake> {
        let mut png = Vec::with_capacity(USUAL_BYTES);
        generate(&self.text, self.level, &self.raster, &mut png)?;
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
