//! `qr-core` as a Wasm module for JavaScript, by wasm-bindgen; `types.ts` is its documentation.
//!
//! Arguments are read strictly (`request`), and what goes wrong is thrown as the native addon
//! throws it (`failure`).

mod failure;
mod request;

use qr_core::{encode, write_png};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::Failure;
use crate::request::Request;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");

/// Room for most pictures of the usual size, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 2048;

/// The PNG of `text`.
///
/// # Errors
/// The JavaScript error that `failure` makes, or the one that a getter of `options` threw.
#[wasm_bindgen(skip_typescript)]
pub fn generate(text: &JsValue, options: &JsValue) -> Result<Vec<u8>, JsValue> {
    Request::read(text, options).and_then(|request| draw(&request)).map_err(Failure::into_error)
}

fn draw(request: &Request) -> Result<Vec<u8>, Failure> {
    let symbol = encode(&request.text, request.level)?;
    let mut png = Vec::with_capacity(USUAL_BYTES);
    write_png(&symbol, &request.raster, &mut png)?;
    Ok(png)
}
