//! Reads JavaScript's arguments strictly.
//!
//! wasm-bindgen's own conversions turn 1.5 into 1, -1 into 4294967295 and a lone surrogate into U+FFFD,
//! so the caller would get a picture other than the requested one.

use js_sys::JsString;
use qr_core::MAX_TEXT_BYTES;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use super::failure::Failure;
use crate::mistake::Mistake;
use crate::request::Request;

#[wasm_bindgen]
extern "C" {
    /// The caller's options. Its getters may throw.
    type Options;
    #[wasm_bindgen(method, getter, catch)]
    fn size(this: &Options) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, getter, catch)]
    fn margin(this: &Options) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, getter, catch)]
    fn level(this: &Options) -> Result<JsValue, JsValue>;
}

/// Reads both arguments.
pub(crate) fn read(text: &JsValue, options: &JsValue) -> Result<Request, Failure> {
    let mut request = Request::new(read_text(text)?);
    if options.is_undefined() {
        return Ok(request);
    }
    if !options.is_object() {
        return Err(Mistake::Type("options", "an object").into());
    }
    read_options(&mut request, options.unchecked_ref())?;
    Ok(request)
}

fn read_options(request: &mut Request, options: &Options) -> Result<(), Failure> {
    let size = options.size().map_err(Failure::Thrown)?;
    if let Some(number) = read_number(&size, "options.size")? {
        request.set_size(number)?;
    }
    let margin = options.margin().map_err(Failure::Thrown)?;
    if let Some(number) = read_number(&margin, "options.margin")? {
        request.set_margin(number)?;
    }
    let level = options.level().map_err(Failure::Thrown)?;
    if level.is_undefined() {
        return Ok(());
    }
    let wrong = Mistake::Type("options.level", "a string");
    let name = level.dyn_ref::<JsString>().ok_or(wrong)?;
    // Checked before copying, because the string may be long.
    if name.length() != 1 {
        return Err(Mistake::Level.into());
    }
    Ok(request.set_level(&level.as_string().ok_or(wrong)?)?)
}

fn read_text(value: &JsValue) -> Result<String, Mistake> {
    let wrong = Mistake::Type("text", "a string");
    let string = value.dyn_ref::<JsString>().ok_or(wrong)?;
    // Checked before copying. A unit of UTF-16 takes at least one byte of UTF-8.
    if string.length() as usize > MAX_TEXT_BYTES {
        return Err(Mistake::TooLong);
    }
    let text = value.as_string().ok_or(wrong)?;
    // Copying replaces lone surrogates with U+FFFD. Few texts contain it, so only those are checked.
    if text.contains(char::REPLACEMENT_CHARACTER) && !string.is_valid_utf16() {
        return Err(Mistake::LoneSurrogate);
    }
    Ok(text)
}

fn read_number(value: &JsValue, name: &'static str) -> Result<Option<f64>, Mistake> {
    if value.is_undefined() {
        return Ok(None);
    }
    value.as_f64().map(Some).ok_or(Mistake::Type(name, "a number"))
}
