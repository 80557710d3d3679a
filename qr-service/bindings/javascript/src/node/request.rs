//! Values of Node-API as arguments of a request.

use napi::bindgen_prelude::{FromNapiValue, JsObjectValue, Object, Unknown};
use napi::{Error, JsString, JsValue, ValueType};

use super::failure::Failure;
use crate::request::{Kind, Value};

impl Value for Unknown<'_> {
    type Thrown = Error;

    fn kind(&self) -> Result<Kind, Failure> {
        Ok(match self.get_type()? {
            ValueType::Undefined => Kind::Undefined,
            ValueType::Number => Kind::Number(to(self)?),
            ValueType::String => Kind::String,
            ValueType::Object => Kind::Object,
            _ => Kind::Other,
        })
    }

    fn units(&self) -> Result<usize, Failure> {
        Ok(to::<JsString<'_>>(self)?.utf16_len()?)
    }

    fn string(&self) -> Result<Option<String>, Failure> {
        let (units, text) = (self.units()?, to::<JsString<'_>>(self)?.into_utf16()?);
        // The slice has a terminator after the text.
        Ok(String::from_utf16(&text.as_slice()[..units]).ok())
    }

    fn property(&self, name: &'static str) -> Result<Self, Failure> {
        Ok(to::<Object<'_>>(self)?.get_named_property(name)?)
    }
}

/// Converts `value`, whose type the caller has checked.
fn to<T: FromNapiValue>(value: &Unknown<'_>) -> Result<T, Failure> {
    let value = value.value();
    // SAFETY: both handles belong to the call in progress.
    Ok(unsafe { T::from_napi_value(value.env, value.value) }?)
}
