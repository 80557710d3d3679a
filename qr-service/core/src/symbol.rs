//! The finished symbol: a square of dark and light modules.

use crate::level::Level;
pub(crate) use crate::modules::ROW_WORDS;
use crate::modules::{Modules, Row, Rows};
use crate::version::size_of;

/// Rows of the largest symbol.
pub(crate) const MAX_SIZE: usize = size_of(40);

/// A QR symbol: its version, level and mask, and its modules without the quiet zone.
#[doc = example!(symbol:
    assert_eq!((symbol.version(), symbol.level(), symbol.size()), (1, Level::M, 21));
)]
#[derive(Clone, PartialEq, Eq)]
pub struct Symbol {
    pub(crate) version: u8,
    pub(crate) level: Level,
    pub(crate) mask: u8,
    pub(crate) matrix: Matrix,
}

/// The rows of a symbol; dark is 1. Symbols up to version 11 have rows of one word: filling more words with
/// zeros would take longer than drawing some of these symbols.
#[derive(Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a symbol is on the stack: nothing is allocated")]
pub(crate) enum Matrix {
    /// Module `x` of row `y` is bit `x` of word `y`.
    OneWord([u64; 64]),
    /// Module `x` of row `y` is bit `x % 64` of word `x / 64` of row `y`.
    ThreeWords([[u64; ROW_WORDS]; MAX_SIZE]),
}

impl Symbol {
    /// Version, 1 to 40.
    #[doc = example!(symbol: assert_eq!(symbol.version(), 1))]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Error correction level.
    #[doc = example!(symbol: assert_eq!(symbol.level(), Level::M))]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Mask pattern reference, 0 to 7.
    #[doc = example!(symbol: assert!(symbol.mask() < 8))]
    pub fn mask(&self) -> u8 {
        self.mask
    }

    /// Modules a side, 21 to 177, without the quiet zone.
    #[doc = example!(symbol: assert_eq!(symbol.size(), 4 * usize::from(symbol.version()) + 17))]
    pub fn size(&self) -> usize {
        size_of(self.version)
    }

    /// Whether the module in column `x` and row `y` is dark; false outside the symbol.
    #[doc = example!(symbol:
        assert!(symbol.is_dark(0, 0) && !symbol.is_dark(1, 1) && !symbol.is_dark(177, 0));
    )]
    pub fn is_dark(&self, x: usize, y: usize) -> bool {
        self.modules().is_dark(x, y)
    }

    /// The modules, for the functions that write a format.
    #[doc = example!(symbol: assert_eq!(symbol.modules().width(), symbol.size()))]
    pub fn modules(&self) -> Modules<'_> {
        let size = self.size();
        match &self.matrix {
            Matrix::OneWord(rows) => Modules::new(Rows::OneWord(&rows[..size]), size),
            Matrix::ThreeWords(rows) => Modules::new(Rows::ThreeWords(&rows[..size]), size),
        }
    }

    /// The rows from the top, each an iterator over its modules that yields true for dark ones.
    #[doc = example!(symbol:
        let first: Vec<bool> = symbol.rows().next().into_iter().flatten().collect();
        assert_eq!(first[..8], [true, true, true, true, true, true, true, false]);
    )]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.modules().rows()
    }
}

impl std::fmt::Debug for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "Symbol {}-{:?}, mask {}", self.version, self.level, self.mask)?;
        for y in 0..self.size() {
            let row: String =
                (0..self.size()).map(|x| if self.is_dark(x, y) { "##" } else { "  " }).collect();
            writeln!(f, "{row}")?;
        }
        Ok(())
    }
}

impl<'a> From<&'a Symbol> for Modules<'a> {
    fn from(symbol: &'a Symbol) -> Self {
        symbol.modules()
    }
}
