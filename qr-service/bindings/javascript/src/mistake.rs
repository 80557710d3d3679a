//! The errors, and the JavaScript code, class and message of each.

use qr_core::{Error, Raster};

/// Why a picture cannot be made. No message repeats the text, because errors are logged and the text may be private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// An argument has the wrong type: its name, and the type it must have.
    Type(&'static str, &'static str),
    /// The text has a lone surrogate, which UTF-8 cannot represent.
    LoneSurrogate,
    /// No level has this name.
    Level,
    /// A number is not whole or out of range: its name, and the lowest and highest value.
    Range(&'static str, u32, u32),
    /// No QR symbol holds the text at this level.
    TooLong,
    /// Modules would be smaller than a pixel: the smallest size that works, in pixels a side.
    TooSmall(u32),
    /// The library panicked, which is a bug.
    Internal,
}

/// Why a picture cannot be made.
#[derive(Debug)]
pub enum Failure<T> {
    /// JavaScript threw this while a value was read, for example in a getter of the options.
    Thrown(T),
    /// The request is invalid, or the library panicked.
    Mistake(Mistake),
}

impl<T> From<Mistake> for Failure<T> {
    fn from(mistake: Mistake) -> Self {
        Failure::Mistake(mistake)
    }
}

/// The class of a JavaScript error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `Error`.
    Error,
    /// `RangeError`.
    Range,
    /// `TypeError`.
    Type,
}

impl Mistake {
    /// The error's `code`. Codes without `QR` are Node's own, with the same meaning.
    pub fn code(&self) -> &'static str {
        match self {
            Mistake::Type(..) => "ERR_INVALID_ARG_TYPE",
            Mistake::Level => "ERR_INVALID_ARG_VALUE",
            Mistake::Range(..) => "ERR_OUT_OF_RANGE",
            Mistake::LoneSurrogate => "ERR_QR_LONE_SURROGATE",
            Mistake::TooLong => "ERR_QR_TOO_LONG",
            Mistake::TooSmall(_) => "ERR_QR_TOO_SMALL",
            Mistake::Internal => "ERR_QR_INTERNAL",
        }
    }

    /// The error's class, the same that Node's own functions use for such errors.
    pub fn class(&self) -> Class {
        match self {
            Mistake::Type(..) | Mistake::LoneSurrogate | Mistake::Level => Class::Type,
            Mistake::Range(..) | Mistake::TooLong | Mistake::TooSmall(_) => Class::Range,
            Mistake::Internal => Class::Error,
        }
    }

    /// The error's `message`.
    pub fn message(&self) -> String {
        match self {
            Mistake::Type(name, expected) => format!("{name} must be {expected}"),
            Mistake::LoneSurrogate => "text has a lone surrogate, so it is not Unicode".to_owned(),
            Mistake::Level => "options.level must be 'L', 'M', 'Q' or 'H'".to_owned(),
            Mistake::Range(name, low, high) => {
                format!("{name} must be a whole number from {low} to {high}")
            }
            Mistake::TooLong => "text does not fit a QR code at this level".to_owned(),
            Mistake::TooSmall(least_px) => {
                format!("options.size must be at least {least_px} for this text, level and margin")
            }
            Mistake::Internal => "qr-core panicked; this is a bug".to_owned(),
        }
    }
}

impl From<Error> for Mistake {
    fn from(error: Error) -> Self {
        match error {
            Error::TooLong { .. } => Mistake::TooLong,
            Error::SizeTooSmall { least_px } => Mistake::TooSmall(least_px),
            _ => Mistake::Range("options.size", 1, Raster::MAX_SIZE_PX),
        }
    }
}
