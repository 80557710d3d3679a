//! Converts errors to JavaScript errors.

use js_sys::{Error, RangeError, Reflect, TypeError};
use wasm_bindgen::JsValue;

use crate::mistake::Class;

/// Why a picture cannot be made.
pub(crate) type Failure = crate::mistake::Failure<JsValue>;

impl Failure {
    /// The error to throw, the same as that of the native addon.
    #[cold]
    pub(crate) fn into_error(self) -> JsValue {
        let mistake = match self {
            Failure::Thrown(thrown) => return thrown,
            Failure::Mistake(mistake) => mistake,
        };
        let message = mistake.message();
        let error: Error = match mistake.class() {
            Class::Error => Error::new(&message),
            Class::Range => RangeError::new(&message).into(),
            Class::Type => TypeError::new(&message).into(),
        };
        // Fails only for objects that refuse new properties, and an error accepts them.
        let _ = Reflect::set(&error, &"code".into(), &mistake.code().into());
        error.into()
    }
}
