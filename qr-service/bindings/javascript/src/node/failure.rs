//! Converts errors to JavaScript errors.

use napi::{Env, Error, JsError, JsRangeError, JsTypeError};

use crate::mistake::Class;

/// Why a picture cannot be made.
pub(crate) type Failure = crate::mistake::Failure<Error>;

impl Failure {
    /// The error to throw.
    pub(crate) fn into_error(self, env: &Env) -> Error {
        let mistake = match self {
            Failure::Thrown(error) => return error,
            Failure::Mistake(mistake) => mistake,
        };
        let error = Error::new(mistake.code(), mistake.message());
        let env = Env::from_raw(env.raw());
        Error::from(match mistake.class() {
            Class::Error => JsError::from(error).into_unknown(env),
            Class::Range => JsRangeError::from(error).into_unknown(env),
            Class::Type => JsTypeError::from(error).into_unknown(env),
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Thrown(error)
    }
}
