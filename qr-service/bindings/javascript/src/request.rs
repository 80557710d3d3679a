//! A request for a picture, read strictly from JavaScript's arguments.
//!
//! Node-API's and wasm-bindgen's own conversions turn 1.5 into 1, -1 into 4294967295 and a lone surrogate into U+FFFD,
//! so the caller would get a picture other than the requested one.

use qr_core::{Level, MAX_TEXT_BYTES, Raster, generate};

use crate::mistake::{Failure, Mistake};

/// The widest margin at which each of the 21 modules of the smallest symbol still has a pixel.
const MAX_MARGIN_MODULES: u32 = (Raster::MAX_SIZE_PX - 21) / 2;

/// Room for most pictures of 200 px, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 2048;

/// A value of JavaScript, as a library for it has it. A call fails if JavaScript throws, for example in a getter.
pub trait Value: Sized {
    /// What JavaScript throws.
    type Thrown;

    /// What it is.
    fn kind(&self) -> Result<Kind, Failure<Self::Thrown>>;
    /// The length of a string, in units of UTF-16.
    fn units(&self) -> Result<usize, Failure<Self::Thrown>>;
    /// A string; `None` if it has a lone surrogate.
    fn string(&self) -> Result<Option<String>, Failure<Self::Thrown>>;
    /// A property of an object.
    fn property(&self, name: &'static str) -> Result<Self, Failure<Self::Thrown>>;
}

/// What a value is, as far as arguments differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `undefined`.
    Undefined,
    /// A number.
    Number(f64),
    /// A string.
    String,
    /// An object, not `null`.
    Object,
    /// Anything else.
    Other,
}

/// A text and the options of its picture.
#[derive(Clone, Debug)]
pub struct Request {
    text: String,
    level: Level,
    raster: Raster,
}

impl Request {
    /// Reads both arguments. By default the request is for the service's picture: 200 px, margin 4, level L.
    pub fn read<V: Value>(text: &V, options: &V) -> Result<Self, Failure<V::Thrown>> {
        let (text, level) = (read_text(text)?, Level::L);
        let mut request = Request { text, level, raster: Raster::SERVICE };
        match options.kind()? {
            Kind::Undefined => return Ok(request),
            Kind::Object => {}
            _ => return Err(Mistake::Type("options", "an object").into()),
        }
        let Raster { size_px, margin_modules, .. } = &mut request.raster;
        let size = options.property("size")?;
        set_number(size_px, &size, "options.size", 1, Raster::MAX_SIZE_PX)?;
        let margin = options.property("margin")?;
        set_number(margin_modules, &margin, "options.margin", 0, MAX_MARGIN_MODULES)?;
        if let Some(level) = read_level(&options.property("level")?)? {
            request.level = level;
        }
        Ok(request)
    }

    /// Draws the PNG. Fails with [`Mistake::TooLong`] if no symbol holds the text, [`Mistake::TooSmall`] if the size is
    /// too small for it.
    pub fn draw(&self) -> Result<Vec<u8>, Mistake> {
        let mut png = Vec::with_capacity(USUAL_BYTES);
        generate(&self.text, self.level, &self.raster, &mut png)?;
        Ok(png)
    }
}

fn read_text<V: Value>(text: &V) -> Result<String, Failure<V::Thrown>> {
    if text.kind()? != Kind::String {
        return Err(Mistake::Type("text", "a string").into());
    }
    // Checked before copying. A unit of UTF-16 takes at least one byte of UTF-8.
    if text.units()? > MAX_TEXT_BYTES {
        return Err(Mistake::TooLong.into());
    }
    text.string()?.ok_or(Mistake::LoneSurrogate.into())
}

/// Sets a number that is given; it must be whole and in range.
fn set_number<V: Value>(
    number: &mut u32,
    value: &V,
    name: &'static str,
    low: u32,
    high: u32,
) -> Result<(), Failure<V::Thrown>> {
    match value.kind()? {
        Kind::Undefined => {}
        Kind::Number(given) => {
            let in_range = (f64::from(low)..=f64::from(high)).contains(&given);
            if !in_range || given.fract() != 0.0 {
                return Err(Mistake::Range(name, low, high).into());
            }
            *number = given as u32;
        }
        _ => return Err(Mistake::Type(name, "a number").into()),
    }
    Ok(())
}

/// The level of this name, which must be upper case.
fn read_level<V: Value>(value: &V) -> Result<Option<Level>, Failure<V::Thrown>> {
    match value.kind()? {
        Kind::Undefined => return Ok(None),
        Kind::String => {}
        _ => return Err(Mistake::Type("options.level", "a string").into()),
    }
    // The length is checked before copying, because the string may be long.
    let name = if value.units()? == 1 { value.string()? } else { None }.unwrap_or_default();
    // Parsing also accepts lower case, which is not allowed here.
    let level = name.parse().ok().filter(|level: &Level| level.to_string() == name);
    level.map(Some).ok_or(Mistake::Level.into())
}
