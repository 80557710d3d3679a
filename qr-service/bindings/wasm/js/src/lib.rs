//! `qr-core` as a Wasm module for JavaScript, with wasm-bindgen; `types.ts` is its documentation.
//!
//! `request` reads arguments strictly; `failure` makes the errors of the native addon.

mod failure;
mod request;

use js_sys::{Object, Reflect, Uint8Array};
use qr_javascript::Drawn;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::Failure;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");
#[wasm_bindgen(typescript_custom_section)]
const OPTIONS: &str = include_str!("../../../node/options.d.ts");

/// Draws the PNG of `text`.
///
/// # Errors
/// The JavaScript error that `failure` makes, or the error that a getter of `options` threw.
#[wasm_bindgen(skip_typescript)]
pub fn generate(text: &JsValue, options: &JsValue) -> Result<Vec<u8>, JsValue> {
    request::read(text, options)
        .and_then(|request| Ok(request.draw()?))
        .map_err(Failure::into_error)
}

/// Draws with every option, as an object or a query.
///
/// # Errors
/// As [`generate`], or an error with all `faults`.
#[wasm_bindgen(skip_typescript)]
pub fn draw(options: &JsValue) -> Result<JsValue, JsValue> {
    let (options, is_query) = request::read_all(options).map_err(Failure::into_error)?;
    let drawn = qr_javascript::draw(&options, is_query);
    drawn.map_err(Failure::Faults).and_then(|drawn| picture(&drawn)).map_err(Failure::into_error)
}

fn picture(drawn: &Drawn) -> Result<JsValue, Failure> {
    let picture = Object::new();
    let bytes = Uint8Array::from(&drawn.bytes[..]);
    Reflect::set(&picture, &"bytes".into(), &bytes).map_err(Failure::Thrown)?;
    Reflect::set(&picture, &"mediaType".into(), &drawn.format.content_type().into())
        .map_err(Failure::Thrown)?;
    Ok(picture.into())
}
