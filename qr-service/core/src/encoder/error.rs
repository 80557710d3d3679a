//! Why an encoder refuses.

use std::fmt;

use super::{MAX_SYMBOLS, Modes};
use crate::level::Level;

/// Why [`Encoder`](crate::Encoder) failed.
///
/// ```
/// use qr_core::{Encoder, Level};
///
/// let error = Encoder::new(Level::L).versions(1..=1).encode(&"7".repeat(42)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the message needs 154 bits and has 152; version 2 is the smallest that holds it",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncoderError {
    /// No version allowed holds the message at the level.
    TooLong {
        /// Bits of the message with its headers in the highest version allowed.
        needed_bits: u64,
        /// Bits that this version holds at the level.
        available_bits: u64,
        /// The smallest version that holds the message at the level; `None` if version 40 does not.
        smallest_version: Option<u8>,
    },
    /// None of the versions or sizes allowed has the level: of Micro QR, M1 has none, M2 and M3 have L and M, M4 has
    /// Q too; rMQR has M and H. Without a level, no size is allowed.
    NoSuchSymbol {
        /// The level asked for.
        level: Option<Level>,
    },
    /// The message takes more symbols than structured append can link.
    TooManySymbols {
        /// Bytes of the message that the symbols do hold.
        held_bytes: usize,
    },
    /// The modes cannot encode a character.
    NotInMode {
        /// The modes asked for.
        modes: Modes,
        /// Where in the data the character begins.
        at_byte: usize,
    },
    /// The bounds are not within those of the kind, or the lower one is above the higher one.
    Versions {
        /// The highest version of the kind of symbol.
        most: u8,
        /// The lower bound.
        low: u8,
        /// The higher bound.
        high: u8,
    },
    /// The mask pattern reference is above the highest of the kind.
    Mask {
        /// The highest reference of the kind of symbol.
        most: u8,
        /// The reference asked for.
        mask: u8,
    },
    /// The ECI assignment number is above 999999, or the data is text that is not ASCII and in another encoding:
    /// UTF-8, in the modes with Kanji Shift JIS.
    Eci {
        /// The number asked for.
        assignment: u32,
    },
    /// The AIM application indicator is neither below 100 nor a letter's value plus 100.
    ApplicationIndicator {
        /// The value asked for.
        indicator: u8,
    },
}

impl fmt::Display for EncoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EncoderError::TooLong { needed_bits, available_bits, smallest_version } => {
                write!(f, "the message needs {needed_bits} bits and has {available_bits}; ")?;
                match smallest_version {
                    Some(version) => write!(f, "version {version} is the smallest that holds it"),
                    None => f.write_str("no version holds it at this level"),
                }
            }
            EncoderError::NoSuchSymbol { level: Some(level) } => {
                write!(f, "none of the versions or sizes allowed has level {level}")
            }
            EncoderError::NoSuchSymbol { level: None } => f.write_str("no size is allowed"),
            EncoderError::TooManySymbols { held_bytes } => {
                write!(f, "{MAX_SYMBOLS} symbols hold only {held_bytes} bytes of the message")
            }
            EncoderError::NotInMode { modes, at_byte } => {
                write!(f, "modes {modes:?} cannot encode the character at byte {at_byte}")
            }
            EncoderError::Versions { low, high, most } => {
                write!(f, "versions {low} to {high} are not a range within 1 to {most}")
            }
            EncoderError::Mask { mask, most } => write!(f, "mask {mask} is not within 0 to {most}"),
            EncoderError::Eci { assignment } => write!(
                f,
                "ECI {assignment} is above 999999, or does not declare the text's encoding, which is UTF-8 (26), or \
                 Shift JIS (20) in the modes with Kanji"
            ),
            EncoderError::ApplicationIndicator { indicator } => write!(
                f,
                "application indicator {indicator} is neither below 100 nor a letter's value plus 100"
            ),
        }
    }
}

impl std::error::Error for EncoderError {}
