//! Arguments of JavaScript, read strictly.
//!
//! wasm-bindgen's own conversions would take 1.5 for 1, -1 for 4294967295, and half a surrogate
//! pair for U+FFFD: a picture of something else than was asked for.

use js_sys::JsString;
use qr_core::{Level, Raster};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use crate::failure::Failure;

/// A picture that was asked for.
pub(crate) struct Request {
    pub(crate) text: String,
    pub(crate) level: Level,
    pub(crate) raster: Raster,
}

/// What a QR symbol holds at most, digits at level L (ISO/IEC 18004, table 7). A text of more UTF-16
/// units cannot fit, so it is not copied out of JavaScript at all.
const MAX_UNITS: u32 = 7089;

/// The widest margin that leaves the smallest symbol, of 21 modules, a pixel each.
const MAX_MARGIN_MODULES: u32 = (Raster::MAX_SIZE_PX - 21) / 2;

#[wasm_bindgen]
extern "C" {
    /// The caller's options, whose getters may throw.
    type Options;
    #[wasm_bindgen(method, getter, catch)]
    fn size(this: &Options) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, getter, catch)]
    fn margin(this: &Options) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, getter, catch)]
    fn level(this: &Options) -> Result<JsValue, JsValue>;
}

impl Request {
    /// Reads the arguments, both as JavaScript gave them.
    pub(crate) fn read(text: &JsValue, options: &JsValue) -> Result<Request, Failure> {
        let text = read_text(text)?;
        let mut request = Request { text, level: Level::L, raster: Raster::SERVICE };
        if options.is_undefined() {
            return Ok(request);
        }
        if !options.is_object() {
            return Err(Failure::Type("options", "an object"));
        }
        request.read_options(options.unchecked_ref())?;
        Ok(request)
    }

    fn read_options(&mut self, options: &Options) -> Result<(), Failure> {
        let size = options.size().map_err(Failure::Thrown)?;
        if let Some(size_px) = read_number(&size, "options.size", 1, Raster::MAX_SIZE_PX)? {
            self.raster.size_px = size_px;
        }
        let margin = options.margin().map_err(Failure::Thrown)?;
        if let Some(modules) = read_number(&margin, "options.margin", 0, MAX_MARGIN_MODULES)? {
            self.raster.margin_modules = modules;
        }
        if let Some(level) = read_level(&options.level().map_err(Failure::Thrown)?)? {
            self.level = level;
        }
        Ok(())
    }
}

fn read_text(value: &JsValue) -> Result<String, Failure> {
    let wrong = Failure::Type("text", "a string");
    let Some(string) = value.dyn_ref::<JsString>() else { return Err(wrong) };
    if string.length() > MAX_UNITS {
        return Err(Failure::TooLong);
    }
    let Some(text) = value.as_string() else { return Err(wrong) };
    // Lone surrogates have become U+FFFD; a text that has it is rare enough to look again.
    if text.contains(char::REPLACEMENT_CHARACTER) && !string.is_valid_utf16() {
        return Err(Failure::LoneSurrogate);
    }
    Ok(text)
}

fn read_number(
    value: &JsValue,
    name: &'static str,
    low: u32,
    high: u32,
) -> Result<Option<u32>, Failure> {
    if value.is_undefined() {
        return Ok(None);
    }
    let Some(number) = value.as_f64() else { return Err(Failure::Type(name, "a number")) };
    let in_range = (f64::from(low)..=f64::from(high)).contains(&number);
    if in_range && number.fract() == 0.0 {
        Ok(Some(number as u32))
    } else {
        Err(Failure::Range(name, low, high))
    }
}

fn read_level(value: &JsValue) -> Result<Option<Level>, Failure> {
    if value.is_undefined() {
        return Ok(None);
    }
    let Some(name) = value.dyn_ref::<JsString>() else {
        return Err(Failure::Type("options.level", "a string"));
    };
    // Looked at first, so that a long string is not copied to be refused.
    if name.length() != 1 {
        return Err(Failure::Level);
    }
    match value.as_string().as_deref() {
        Some("L") => Ok(Some(Level::L)),
        Some("M") => Ok(Some(Level::M)),
        Some("Q") => Ok(Some(Level::Q)),
        Some("H") => Ok(Some(Level::H)),
        _ => Err(Failure::Level),
    }
}
