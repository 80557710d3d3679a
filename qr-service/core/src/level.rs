//! Error correction levels.

use std::fmt;
use std::str::FromStr;

/// Error correction level, ISO/IEC 18004 section 7.5.1: the share of codewords that can be restored.
///
/// ```
/// use qr_core::Level;
///
/// assert_eq!("q".parse(), Ok(Level::Q));
/// assert_eq!(Level::Q.to_string(), "Q");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// About 7 %.
    L,
    /// About 15 %.
    M,
    /// About 25 %.
    Q,
    /// About 30 %.
    H,
}

impl Level {
    /// Every level, the weakest first.
    ///
    /// ```
    /// use qr_core::Level;
    ///
    /// assert_eq!(Level::ALL.map(|level| level.to_string()).concat(), "LMQH");
    /// ```
    pub const ALL: [Level; 4] = [Level::L, Level::M, Level::Q, Level::H];
}

/// The letter, upper case.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Reads one letter, in either case.
impl FromStr for Level {
    type Err = ParseLevelError;

    fn from_str(letter: &str) -> Result<Self, Self::Err> {
        match letter {
            "L" | "l" => Ok(Level::L),
            "M" | "m" => Ok(Level::M),
            "Q" | "q" => Ok(Level::Q),
            "H" | "h" => Ok(Level::H),
            _ => Err(ParseLevelError),
        }
    }
}

/// The text is not the letter of a [`Level`].
///
/// ```
/// use qr_core::{Level, ParseLevelError};
///
/// assert_eq!("X".parse::<Level>(), Err(ParseLevelError));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLevelError;

impl fmt::Display for ParseLevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("use L, M, Q or H")
    }
}

impl std::error::Error for ParseLevelError {}

#[cfg(test)]
mod tests;
