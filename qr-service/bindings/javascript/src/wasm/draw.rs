//! Draws pictures with every option, in the module with the feature `draw`.

use js_sys::{Error, JSON, JsString, Object, Reflect, Uint8Array};
use qr_options::fault::Fault;
use qr_options::{Drawn, draw_json, draw_query};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use super::failure::Failure;
use crate::mistake::Mistake;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("draw.ts");
#[wasm_bindgen(typescript_custom_section)]
const OPTIONS: &str = include_str!("../../../node/options.d.ts");

/// The most units of UTF-16 that all options together may take. Valid options take less, and copying more would
/// make the module's memory grow for good.
const MAX_UNITS: u32 = 1 << 20;

/// Draws the picture of `options`, an object or a query. Returns an object of `bytes` and `mediaType`. Throws as
/// [`super::draw()`] says.
pub(crate) fn draw(options: &JsValue) -> Result<JsValue, JsValue> {
    let (options, is_query) = read(options).map_err(Failure::into_error)?;
    let drawn = if is_query { draw_query(&options) } else { draw_json(&options) };
    drawn.map_err(|faults| error_of(&faults)).and_then(picture_of)
}

/// Reads the argument. Returns a query, or an object as JSON, and whether it is a query.
fn read(options: &JsValue) -> Result<(String, bool), Failure> {
    let wrong = Mistake::Type("options", "a string or an object");
    if let Some(query) = options.dyn_ref::<JsString>() {
        let text = copy(query)?;
        // Copying replaces lone surrogates with U+FFFD.
        if text.contains(char::REPLACEMENT_CHARACTER) && !query.is_valid_utf16() {
            return Err(Mistake::LoneSurrogate.into());
        }
        return Ok((text, true));
    }
    if !options.is_object() {
        return Err(wrong.into());
    }
    // JSON would write NaN and infinity as null, which means that the option is not given.
    let is_finite = |value: JsValue| value.as_f64().is_none_or(f64::is_finite);
    if !Object::values(options.unchecked_ref()).iter().all(is_finite) {
        return Err(Mistake::Type("each number of options", "finite").into());
    }
    // `stringify` escapes lone surrogates, which are refused later. It returns undefined if a `toJSON` does.
    let json = JSON::stringify(options).map_err(Failure::Thrown)?;
    if !json.is_string() {
        return Err(wrong.into());
    }
    Ok((copy(&json)?, false))
}

fn copy(string: &JsString) -> Result<String, Mistake> {
    if string.length() > MAX_UNITS {
        return Err(Mistake::TooLong);
    }
    Ok(String::from(string))
}

fn picture_of(drawn: Drawn) -> Result<JsValue, JsValue> {
    let picture = Object::new();
    let bytes = Uint8Array::from(&drawn.bytes[..]);
    Reflect::set(&picture, &"bytes".into(), &bytes)?;
    Reflect::set(&picture, &"mediaType".into(), &drawn.format.content_type().into())?;
    Ok(picture.into())
}

/// The same `QrError` as that of the native addon.
#[cold]
fn error_of(faults: &[Fault]) -> JsValue {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let error = Error::new(&lines.join("; "));
    error.set_name("QrError");
    // Strings and numbers always serialise, and their JSON can always be parsed.
    let json = serde_json::to_string(faults).unwrap_or_default();
    let faults = JSON::parse(&json).unwrap_or(JsValue::NULL);
    for (name, value) in [("code", "ERR_QR_FAULTS".into()), ("faults", faults)] {
        // Fails only for objects that refuse new properties, and an error accepts them.
        let _ = Reflect::set(&error, &name.into(), &value);
    }
    error.into()
}
