//! What is wrong with a request, and the words of the JavaScript error that says so.

use qr_core::{EncodeError, Raster, RasterError};

/// Why there is no picture. None names the text: it may be private, and errors are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
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
    /// The error's `code`. Those without `QR` are Node's own, and mean what they mean there.
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

    /// The class that Node's own functions would throw.
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
            Mistake::Type(name, wanted) => format!("{name} must be {wanted}"),
            Mistake::LoneSurrogate => "text has a lone surrogate, so it is not Unicode".to_owned(),
            Mistake::Level => "options.level must be 'L', 'M', 'Q' or 'H'".to_owned(),
            Mistake::Range(name, low, high) => {
                format!("{name} must be a whole number from {low} to {high}")
            }
            Mistake::TooLong => "text does not fit a QR code at this level".to_owned(),
            Mistake::TooSmall(least_px) => {
                format!("options.size must be at least {least_px} for this text, level and margin")
            }
            Mistake::Internal => "qr-core panicked, which it never should".to_owned(),
        }
    }
}

impl From<EncodeError> for Mistake {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::TooLong => Mistake::TooLong,
        }
    }
}

impl From<RasterError> for Mistake {
    fn from(error: RasterError) -> Self {
        match error {
            RasterError::TooSmall { least_px } => Mistake::TooSmall(least_px),
            RasterError::TooLarge => Mistake::Range("options.size", 1, Raster::MAX_SIZE_PX),
        }
    }
}
