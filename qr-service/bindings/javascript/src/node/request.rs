//! Reads JavaScript's arguments strictly.
//!
//! Node-API's own conversions turn 1.5 into 1, -1 into 4294967295 and a lone surrogate into U+FFFD, so
//! the caller would get a picture other than the requested one.

use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, Unknown};
use napi::{JsString, JsValue, ValueType};
use qr_core::MAX_TEXT_BYTES;

use super::failure::Failure;
use crate::mistake::Mistake;
use crate::request::Request;

/// Reads both arguments.
pub(crate) fn read(text: &Unknown<'_>, options: &Unknown<'_>) -> Result<Request, Failure> {
    let mut request = Request::new(read_text(text)?);
    match options.get_type()? {
        ValueType::Undefined => {}
        ValueType::Object => read_options(&mut request, &to::<Object<'_>>(options)?)?,
        _ => return Err(Mistake::Type("options", "an object").into()),
    }
    Ok(request)
}

fn read_options(request: &mut Request, options: &Object<'_>) -> Result<(), Failure> {
    let size = options.get_named_property("size")?;
    if let Some(number) = read_number(&size, "options.size")? {
        request.set_size(number)?;
    }
    let margin = options.get_named_property("margin")?;
    if let Some(number) = read_number(&margin, "options.margin")? {
        request.set_margin(number)?;
    }
    read_level(request, &options.get_named_property("level")?)
}

fn read_text(text: &Unknown<'_>) -> Result<String, Failure> {
    if text.get_type()? != ValueType::String {
        return Err(Mistake::Type("text", "a string").into());
    }
    let text = to::<JsString<'_>>(text)?;
    let units = text.utf16_len()?;
    // Checked before copying. A unit of UTF-16 takes at least one byte of UTF-8.
    if units > MAX_TEXT_BYTES {
        return Err(Mistake::TooLong.into());
    }
    let text = text.into_utf16()?;
    // The slice has a terminator after the text.
    Ok(String::from_utf16(&text.as_slice()[..units]).map_err(|_| Mistake::LoneSurrogate)?)
}

fn read_number(value: &Unknown<'_>, name: &'static str) -> Result<Option<f64>, Failure> {
    match value.get_type()? {
        ValueType::Undefined => Ok(None),
        ValueType::Number => to::<f64>(value).map(Some),
        _ => Err(Mistake::Type(name, "a number").into()),
    }
}

fn read_level(request: &mut Request, value: &Unknown<'_>) -> Result<(), Failure> {
    match value.get_type()? {
        ValueType::Undefined => return Ok(()),
        ValueType::String => {}
        _ => return Err(Mistake::Type("options.level", "a string").into()),
    }
    let name = to::<JsString<'_>>(value)?;
    // Checked before copying, because the string may be long.
    if name.utf16_len()? != 1 {
        return Err(Mistake::Level.into());
    }
    Ok(request.set_level(name.into_utf8()?.as_str()?)?)
}

/// Converts `value`, whose type the caller has checked.
fn to<T: FromNapiValue>(value: &Unknown<'_>) -> Result<T, Failure> {
    let value = value.value();
    // SAFETY: both handles belong to the call in progress.
    Ok(unsafe { T::from_napi_value(value.env, value.value) }?)
}
