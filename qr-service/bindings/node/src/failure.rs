//! What goes wrong, and the JavaScript error that says so.

use napi::{Env, Error, JsError, JsRangeError, JsTypeError};
use qr_core::{EncodeError, Raster, RasterError};

/// Why there is no picture. None names the text: it may be private, and errors are logged.
#[derive(Debug)]
pub enum Failure {
    /// What JavaScript threw while its values were read: a getter of the options, say.
    Thrown(Error),
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
    /// A panic, which is a mistake of this library.
    Internal,
}

impl Failure {
    /// The error's `code`. Those without `QR` are Node's own, and mean what they mean there.
    fn code(&self) -> &str {
        match self {
            Failure::Thrown(error) => error.status.as_ref(),
            Failure::Type(..) => "ERR_INVALID_ARG_TYPE",
            Failure::Level => "ERR_INVALID_ARG_VALUE",
            Failure::Range(..) => "ERR_OUT_OF_RANGE",
            Failure::LoneSurrogate => "ERR_QR_LONE_SURROGATE",
            Failure::TooLong => "ERR_QR_TOO_LONG",
            Failure::TooSmall(_) => "ERR_QR_TOO_SMALL",
            Failure::Internal => "ERR_QR_INTERNAL",
        }
    }

    fn message(&self) -> String {
        match self {
            Failure::Thrown(error) => error.reason.clone(),
            Failure::Type(name, wanted) => format!("{name} must be {wanted}"),
            Failure::LoneSurrogate => "text has a lone surrogate, so it is not Unicode".to_owned(),
            Failure::Level => "options.level must be 'L', 'M', 'Q' or 'H'".to_owned(),
            Failure::Range(name, low, high) => {
                format!("{name} must be a whole number from {low} to {high}")
            }
            Failure::TooLong => "text does not fit a QR code at this level".to_owned(),
            Failure::TooSmall(least_px) => {
                format!("options.size must be at least {least_px} for this text, level and margin")
            }
            Failure::Internal => "qr-core panicked, which it never should".to_owned(),
        }
    }

    /// The JavaScript error, of the class that Node's own functions would throw.
    pub(crate) fn into_error(self, env: &Env) -> Error {
        if let Failure::Thrown(error) = self {
            return error;
        }
        let error = Error::new(self.code(), self.message());
        let env = Env::from_raw(env.raw());
        Error::from(match &self {
            Failure::Type(..) | Failure::LoneSurrogate | Failure::Level => {
                JsTypeError::from(error).into_unknown(env)
            }
            Failure::Range(..) | Failure::TooLong | Failure::TooSmall(_) => {
                JsRangeError::from(error).into_unknown(env)
            }
            Failure::Thrown(_) | Failure::Internal => JsError::from(error).into_unknown(env),
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Thrown(error)
    }
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
