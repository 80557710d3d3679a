//! Turns errors into JavaScript's.

use js_sys::{Error, JSON, RangeError, Reflect, TypeError};
use qr_javascript::{Class, Faults, Mistake};
use wasm_bindgen::JsValue;

/// Why there is no picture.
pub(crate) enum Failure {
    /// JavaScript threw this while a value was read, for example in a getter of the options.
    Thrown(JsValue),
    Mistake(Mistake),
    /// The options are wrong, or ask for a picture that there is none of.
    Faults(Faults),
}

impl Failure {
    /// The error to throw, which is that of the native addon.
    #[cold]
    pub(crate) fn into_error(self) -> JsValue {
        let mistake = match self {
            Failure::Thrown(thrown) => return thrown,
            Failure::Mistake(mistake) => mistake,
            Failure::Faults(faults) => return of_faults(&faults),
        };
        let message = mistake.message();
        let error: Error = match mistake.class() {
            Class::Error => Error::new(&message),
            Class::Range => RangeError::new(&message).into(),
            Class::Type => TypeError::new(&message).into(),
        };
        set(&error, "code", &mistake.code().into());
        error.into()
    }
}

/// The native addon's `QrError`.
fn of_faults(faults: &Faults) -> JsValue {
    let error = Error::new(&faults.message);
    set(&error, "name", &"QrError".into());
    set(&error, "code", &"ERR_QR_FAULTS".into());
    // It was just written.
    set(&error, "faults", &JSON::parse(&faults.json).unwrap_or(JsValue::NULL));
    error.into()
}

fn set(error: &Error, name: &str, value: &JsValue) {
    // Fails only for objects that refuse new properties, and an error accepts them.
    let _ = Reflect::set(error, &name.into(), value);
}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Failure::Mistake(mistake)
    }
}
