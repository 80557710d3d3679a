//! What goes wrong, as JavaScript's errors.

use js_sys::{Error, RangeError, Reflect, TypeError};
use qr_javascript::{Class, Mistake};
use wasm_bindgen::JsValue;

/// Why there is no picture.
pub(crate) enum Failure {
    /// What JavaScript threw while its values were read: a getter of the options, say.
    Thrown(JsValue),
    Mistake(Mistake),
}

impl Failure {
    /// What to throw: the same error as the native addon.
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
        // It fails on objects that refuse properties, which a new error is not.
        let _ = Reflect::set(&error, &"code".into(), &mistake.code().into());
        error.into()
    }
}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Failure::Mistake(mistake)
    }
}
