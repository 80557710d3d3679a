//! Error correction levels.

use std::fmt;

/// Error correction level, ISO/IEC 18004 section 7.5.1: the share of codewords that can be restored.
#[doc = example!(assert_eq!("q".parse(), Ok(Level::Q)); assert_eq!(Level::Q.to_string(), "Q"))]
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
    #[doc = example!(assert_eq!(Level::ALL.map(|level| level.to_string()).concat(), "LMQH"))]
    pub const ALL: [Level; 4] = [Level::L, Level::M, Level::Q, Level::H];
}

/// The letter, upper case.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
