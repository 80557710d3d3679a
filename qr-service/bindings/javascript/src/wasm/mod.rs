//! `qr-core` as a Wasm module for JavaScript, with wasm-bindgen; `types.ts` and `generate.d.ts` document it.
//!
//! `request` reads arguments strictly; `failure` makes the same errors as the native addon. With the feature
//! `draw`, the module also has every option of the service: `draw.rs` and `draw.ts`.

#[cfg(feature = "draw")]
mod draw;
mod failure;
mod request;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::request::Request;
use failure::Failure;

#[wasm_bindgen(typescript_custom_section)]
const SHARED: &str = include_str!("../../../node/generate.d.ts");
#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");

/// Draws the PNG of `text`. Throws the JavaScript error that `failure` makes, or the one that a getter of
/// `options` threw.
#[wasm_bindgen(skip_typescript)]
pub fn generate(text: &JsValue, options: &JsValue) -> Result<Vec<u8>, JsValue> {
    Request::read(text, options)
        .and_then(|request| Ok(request.draw()?))
        .map_err(Failure::into_error)
}

/// Draws with every option, given as an object or a query. Throws a `QrError` with every fault, a TypeError or
/// RangeError like those of [`generate`], or the error that `JSON.stringify` threw.
#[cfg(feature = "draw")]
#[wasm_bindgen(skip_typescript)]
pub fn draw(options: &JsValue) -> Result<JsValue, JsValue> {
    draw::draw(options)
}
