//! Values of wasm-bindgen as arguments of a request.

use js_sys::{JsString, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::failure::Failure;
use crate::request::{Kind, Value};

impl Value for JsValue {
    type Thrown = JsValue;

    fn kind(&self) -> Result<Kind, Failure> {
        Ok(match self.as_f64() {
            _ if self.is_string() => Kind::String,
            _ if self.is_undefined() => Kind::Undefined,
            Some(number) => Kind::Number(number),
            None if self.is_object() => Kind::Object,
            None => Kind::Other,
        })
    }

    fn units(&self) -> Result<usize, Failure> {
        Ok(self.unchecked_ref::<JsString>().length() as usize)
    }

    fn string(&self) -> Result<Option<String>, Failure> {
        // Copying replaces lone surrogates with U+FFFD. Few texts contain it, so only those are checked.
        let is_right = |text: &String| {
            let may_be_wrong = text.contains(char::REPLACEMENT_CHARACTER);
            !may_be_wrong || self.unchecked_ref::<JsString>().is_valid_utf16()
        };
        Ok(self.as_string().filter(is_right))
    }

    fn property(&self, name: &'static str) -> Result<Self, Failure> {
        Reflect::get(self, &name.into()).map_err(Failure::Thrown)
    }
}
