//! What goes wrong, and the JavaScript error that says so: codes, classes and words are the native
//! addon's.

use js_sys::{Error, RangeError, Reflect, TypeError};
use qr_core::{EncodeError, Raster, RasterError};
use wasm_bindgen::JsValue;

/// Why there is no picture. None names the text: it may be private, and errors are logged.
pub(crate) enum Failure {
    /// What JavaScript threw while its values were read: a getter of the options, say.
    Thrown(JsValue),
    /// An argument of a wrong type: its name, and what it must be.
    Type(&'static str, &'static str),
    /// The text has half a surrogate pair: no UTF-8 can be made of it.
    LoneSurrogate,
    /// A level of another name.
    Level,
    /// Not a whole number in the range: its name, and the range's ends.
    Range(&'static str, u32, u32),
    /// No QR symbol holds the text at this level.
    TooLong,
    /// The picture would need this many pixels a side.
    TooSmall(u32),
}

impl Failure {
    /// The JavaScript error, of the class that Node's own functions would throw.
    #[cold]
    pub(crate) fn into_error(self) -> JsValue {
        let (error, code): (Error, _) = match self {
            Failure::Thrown(thrown) => return thrown,
            Failure::Type(name, wanted) => {
                (type_error(&format!("{name} must be {wanted}")), "ERR_INVALID_ARG_TYPE")
            }
            Failure::LoneSurrogate => (
                type_error("text has a lone surrogate, so it is not Unicode"),
                "ERR_QR_LONE_SURROGATE",
            ),
            Failure::Level => {
                (type_error("options.level must be 'L', 'M', 'Q' or 'H'"), "ERR_INVALID_ARG_VALUE")
            }
            Failure::Range(name, low, high) => (
                range_error(&format!("{name} must be a whole number from {low} to {high}")),
                "ERR_OUT_OF_RANGE",
            ),
            Failure::TooLong => {
                (range_error("text does not fit a QR code at this level"), "ERR_QR_TOO_LONG")
            }
            Failure::TooSmall(least_px) => (
                range_error(&format!(
                    "options.size must be at least {least_px} for this text, level and margin"
                )),
                "ERR_QR_TOO_SMALL",
            ),
        };
        // It fails on objects that refuse properties, which a new error is not.
        let _ = Reflect::set(&error, &"code".into(), &code.into());
        error.into()
    }
}

fn type_error(message: &str) -> Error {
    TypeError::new(message).into()
}

fn range_error(message: &str) -> Error {
    RangeError::new(message).into()
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::TooLong => Failure::TooLong,
        }
    }
}

impl From<RasterError> for Failure {
    fn from(error: RasterError) -> Self {
        match error {
            RasterError::TooSmall { least_px } => Failure::TooSmall(least_px),
            RasterError::TooLarge => Failure::Range("options.size", 1, Raster::MAX_SIZE_PX),
        }
    }
}
