//! Arguments of JavaScript, read strictly.
//!
//! Node-API would take 1.5 for 1, -1 for 4294967295, and half a surrogate pair for U+FFFD: a picture
//! of something else than was asked for.

use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, Unknown};
use napi::{JsString, JsValue, ValueType};
use qr_core::{Level, Raster};

use crate::failure::Failure;

/// A picture that was asked for.
pub struct Request {
    pub(crate) text: String,
    pub(crate) level: Level,
    pub(crate) raster: Raster,
}

/// What a QR symbol holds at most, digits at level L (ISO/IEC 18004, table 7). A text of more UTF-16
/// units cannot fit, so it is not copied out of JavaScript at all.
const MAX_UNITS: usize = 7089;

/// The widest margin that leaves the smallest symbol, of 21 modules, a pixel each.
const MAX_MARGIN_MODULES: u32 = (Raster::MAX_SIZE_PX - 21) / 2;

impl Request {
    /// Reads the arguments, both as JavaScript gave them.
    pub(crate) fn read(text: &Unknown<'_>, options: &Unknown<'_>) -> Result<Request, Failure> {
        let text = read_text(text)?;
        let mut request = Request { text, level: Level::L, raster: Raster::SERVICE };
        match options.get_type()? {
            ValueType::Undefined => {}
            ValueType::Object => request.read_options(&to::<Object<'_>>(options)?)?,
            _ => return Err(Failure::Type("options", "an object")),
        }
        Ok(request)
    }

    fn read_options(&mut self, options: &Object<'_>) -> Result<(), Failure> {
        let size = options.get_named_property("size")?;
        if let Some(size_px) = read_number(&size, "options.size", 1, Raster::MAX_SIZE_PX)? {
            self.raster.size_px = size_px;
        }
        let margin = options.get_named_property("margin")?;
        if let Some(modules) = read_number(&margin, "options.margin", 0, MAX_MARGIN_MODULES)? {
            self.raster.margin_modules = modules;
        }
        if let Some(level) = read_level(&options.get_named_property("level")?)? {
            self.level = level;
        }
        Ok(())
    }
}

fn read_text(text: &Unknown<'_>) -> Result<String, Failure> {
    if text.get_type()? != ValueType::String {
        return Err(Failure::Type("text", "a string"));
    }
    let text = to::<JsString<'_>>(text)?;
    let units = text.utf16_len()?;
    if units > MAX_UNITS {
        return Err(Failure::TooLong);
    }
    let text = text.into_utf16()?;
    // A terminator follows.
    String::from_utf16(&text.as_slice()[..units]).map_err(|_| Failure::LoneSurrogate)
}

fn read_number(
    value: &Unknown<'_>,
    name: &'static str,
    low: u32,
    high: u32,
) -> Result<Option<u32>, Failure> {
    match value.get_type()? {
        ValueType::Undefined => return Ok(None),
        ValueType::Number => {}
        _ => return Err(Failure::Type(name, "a number")),
    }
    let number = to::<f64>(value)?;
    let in_range = (f64::from(low)..=f64::from(high)).contains(&number);
    if in_range && number.fract() == 0.0 {
        Ok(Some(number as u32))
    } else {
        Err(Failure::Range(name, low, high))
    }
}

fn read_level(value: &Unknown<'_>) -> Result<Option<Level>, Failure> {
    match value.get_type()? {
        ValueType::Undefined => return Ok(None),
        ValueType::String => {}
        _ => return Err(Failure::Type("options.level", "a string")),
    }
    let name = to::<JsString<'_>>(value)?;
    // Looked at first, so that a long string is not copied to be refused.
    if name.utf16_len()? != 1 {
        return Err(Failure::Level);
    }
    match name.into_utf8()?.as_str()? {
        "L" => Ok(Some(Level::L)),
        "M" => Ok(Some(Level::M)),
        "Q" => Ok(Some(Level::Q)),
        "H" => Ok(Some(Level::H)),
        _ => Err(Failure::Level),
    }
}

/// `value` as what its type, looked at before, says that it is.
fn to<T: FromNapiValue>(value: &Unknown<'_>) -> Result<T, Failure> {
    let value = value.value();
    // SAFETY: both are of the call that is under way.
    Ok(unsafe { T::from_napi_value(value.env, value.value) }?)
}
