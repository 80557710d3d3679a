//! The crate's only error type.

use std::fmt;
use std::str::FromStr;

use crate::level::Level;
use crate::modes::Modes;
use crate::version::MAX_SYMBOLS;

/// Why a symbol or a picture cannot be made, with the numbers that explain it.
///
/// ```
/// fn modules(text: &str) -> Result<usize, qr_core::Error> {
///     Ok(qr_core::encode(text, "Q".parse()?)?.size())
/// }
/// assert_eq!(modules("text"), Ok(21));
/// let error = modules(&"7".repeat(4000)).unwrap_err();
/// assert!(error.to_string().ends_with("no version holds it at this level"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// No version allowed holds the message at the level.
    TooLong {
        /// Bits of the message with its headers in the highest version allowed.
        needed_bits: u64,
        /// Bits that this version holds at the level.
        available_bits: u64,
        /// The smallest version of this kind of symbol that holds the message at the level; `None` if none does.
        smallest_version: Option<u8>,
    },
    /// No allowed version or size has the level. Of Micro QR, M1 has no level, M2 and M3 have L and M, M4 has L, M and
    /// Q. rMQR has M and H.
    NoSuchSymbol {
        /// The level asked for; `None` if the bounds of an rMQR symbol allow no size at all.
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
    /// The allowed versions reach beyond those of this kind of symbol, or the lower bound is above the higher one.
    Versions {
        /// The highest version of the kind of symbol.
        most: u8,
        /// The lower bound.
        low: u8,
        /// The higher bound.
        high: u8,
    },
    /// The mask pattern reference is above the highest of this kind of symbol.
    Mask {
        /// The highest reference of the kind of symbol.
        most: u8,
        /// The reference asked for.
        mask: u8,
    },
    /// The ECI assignment number is above 999999, or it does not declare the encoding of a text that is not ASCII:
    /// UTF-8, or Shift JIS in the modes with Kanji.
    Eci {
        /// The number asked for.
        assignment: u32,
    },
    /// The AIM application indicator is neither below 100 nor a letter's value plus 100.
    ApplicationIndicator {
        /// The value asked for.
        indicator: u8,
    },
    /// Modules would be smaller than a pixel.
    SizeTooSmall {
        /// The smallest size that has room, in pixels a side.
        least_px: u32,
    },
    /// More pixels a side than [`Raster::MAX_SIZE_PX`](crate::Raster::MAX_SIZE_PX).
    SizeTooLarge {
        /// The size asked for, in pixels a side; `u32::MAX` if it is larger still.
        size_px: u32,
        /// The largest size.
        most_px: u32,
    },
    /// The width in print is not between 1 mm and the largest, `Print::MAX_MM`.
    Width {
        /// The width asked for, in millimetres.
        width_mm: f64,
        /// The largest width, in millimetres.
        most_mm: f64,
    },
    /// The quiet zone takes nearly all of the width in print.
    Margin {
        /// The quiet zone asked for, in modules.
        margin_modules: u32,
    },
    /// A caption in print has a character that `Helvetica` lacks.
    Character {
        /// The character.
        character: char,
    },
    /// The text is not the letter of a [`Level`].
    Level,
    /// The text is not a colour.
    Color,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::TooLong { needed_bits, available_bits, smallest_version } => {
                write!(f, "the message needs {needed_bits} bits, but only {available_bits} fit; ")?;
                match smallest_version {
                    Some(version) => write!(f, "version {version} is the smallest that holds it"),
                    None => f.write_str("no version holds it at this level"),
                }
            }
            Error::NoSuchSymbol { level: Some(level) } => {
                write!(f, "no allowed version or size has level {level}")
            }
            Error::NoSuchSymbol { level: None } => f.write_str("no symbol has an allowed size"),
            Error::TooManySymbols { held_bytes } => {
                write!(f, "{MAX_SYMBOLS} symbols hold only {held_bytes} bytes of the message")
            }
            Error::NotInMode { modes, at_byte } => {
                write!(f, "modes {modes:?} cannot encode the character at byte {at_byte}")
            }
            Error::Versions { low, high, most } => {
                write!(f, "versions {low} to {high} are not a range within 1 to {most}")
            }
            Error::Mask { mask, most } => write!(f, "mask {mask} is not within 0 to {most}"),
            Error::Eci { assignment } => write!(
                f,
                "ECI {assignment} is above 999999, or does not declare the text's encoding, which is UTF-8 (26), or \
                 Shift JIS (20) in the modes with Kanji"
            ),
            Error::ApplicationIndicator { indicator } => write!(
                f,
                "application indicator {indicator} is neither below 100 nor a letter's value plus 100"
            ),
            Error::SizeTooSmall { least_px } => {
                write!(f, "the symbol and its margin need at least {least_px} px a side")
            }
            Error::SizeTooLarge { size_px, most_px } => {
                write!(f, "a picture of {size_px} px exceeds the maximum of {most_px} px a side")
            }
            Error::Width { width_mm, most_mm } => {
                write!(f, "a width of {width_mm} mm is not within 1 to {most_mm} mm")
            }
            Error::Margin { margin_modules } => {
                write!(f, "a margin of {margin_modules} modules leaves no room for the symbol")
            }
            Error::Character { character } => {
                let code = u32::from(character);
                write!(f, "a caption cannot have U+{code:04X}, only characters of Windows-1252")
            }
            Error::Level => f.write_str("use L, M, Q or H"),
            Error::Color => f.write_str(
                "use 3, 4, 6 or 8 hexadecimal digits, three decimals up to 255 with dashes, or transparent",
            ),
        }
    }
}

impl std::error::Error for Error {}

// Here, not in `level.rs`: [`Error`] has a [`Level`], and modules must not depend on each other in a circle.
/// Reads one letter, in either case.
impl FromStr for Level {
    type Err = Error;

    fn from_str(letter: &str) -> Result<Self, Self::Err> {
        match letter {
            "L" | "l" => Ok(Level::L),
            "M" | "m" => Ok(Level::M),
            "Q" | "q" => Ok(Level::Q),
            "H" | "h" => Ok(Level::H),
            _ => Err(Error::Level),
        }
    }
}
