//! `qr-core` as a Wasm module for JavaScript, by wasm-bindgen; `types.ts` is its documentation.
//!
//! Arguments are read strictly (`request`), and what goes wrong is thrown as the native addon
//! throws it (`failure`).

mod failure;
mod request;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::Failure;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");

/// The PNG of `text`.
///
/// # Errors
/// The JavaScript error that `failure` makes, or the one that a getter of `options` threw.
#[wasm_bindgen(skip_typescript)]
pub fn generate(text: &JsValue, options: &JsValue) -> Result<Vec<u8>, JsValue> {
    request::read(text, options)
        .and_then(|request| Ok(request.draw()?))
        .map_err(Failure::into_error)
}
