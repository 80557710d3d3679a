//! One type for all errors of the crate.

use std::fmt;

/// Defines the type and the way from each error into it.
macro_rules! errors {
    ($($(#[$gate:meta])* $name:ident: $of:ty,)+) => {
        /// Any error of this crate, for who passes them on by `?`. Its text is that of the error within.
        ///
        /// ```
        /// fn modules(text: &str) -> Result<usize, qr_core::Error> {
        ///     Ok(qr_core::encode(text, "Q".parse()?)?.size())
        /// }
        /// assert_eq!(modules("text"), Ok(21));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each is the error whose name it has")]
        pub enum Error {
            $($(#[$gate])* $name($of),)+
        }

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$gate])* Error::$name(error) => error.fmt(f),)+
                }
            }
        }

        $($(#[$gate])* impl From<$of> for Error {
            fn from(error: $of) -> Self {
                Error::$name(error)
            }
        })+
    };
}

errors! {
    Encode: crate::EncodeError,
    Encoder: crate::EncoderError,
    Generate: crate::GenerateError,
    ParseLevel: crate::ParseLevelError,
    Raster: crate::RasterError,
    #[cfg(any(feature = "png-color", feature = "svg"))]
    ParseColor: crate::ParseColorError,
    #[cfg(any(feature = "eps", feature = "pdf"))]
    Print: crate::PrintError,
}

impl std::error::Error for Error {}
