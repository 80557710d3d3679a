//! The finished symbol: a square of dark and light modules.

use crate::level::Level;
pub(crate) use crate::modules::ROW_WORDS;
use crate::modules::{Modules, Row, Rows};
use crate::version::size_of;

/// Rows of the largest symbol.
pub(crate) const MAX_SIZE: usize = size_of(40);

/// A QR symbol: its version, level and mask, and its modules without the quiet zone.
///
/// ```
/// use qr_core::{Level, encode};
///
/// let symbol = encode("text", Level::M)?;
/// assert_eq!((symbol.version(), symbol.level(), symbol.size()), (1, Level::M, 21));
/// # Ok::<(), qr_core::Error>(())
/// ```
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
    Narrow([u64; 64]),
    /// Module `x` of row `y` is bit `x % 64` of word `x / 64` of row `y`.
    Wide([[u64; ROW_WORDS]; MAX_SIZE]),
}

impl Symbol {
    /// Version, 1 to 40.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// assert_eq!(symbol.version(), 1);
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Error correction level.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// assert_eq!(symbol.level(), Level::M);
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn level(&self) -> Level {
        self.level
    }

    /// Mask pattern reference, 0 to 7.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// assert!(symbol.mask() < 8);
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn mask(&self) -> u8 {
        self.mask
    }

    /// Modules a side, 21 to 177, without the quiet zone.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// assert_eq!(symbol.size(), 4 * usize::from(symbol.version()) + 17);
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn size(&self) -> usize {
        size_of(self.version)
    }

    /// Whether the module in column `x` and row `y` is dark; false outside the symbol.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// assert!(symbol.is_dark(0, 0) && !symbol.is_dark(1, 1) && !symbol.is_dark(177, 0));
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn is_dark(&self, x: usize, y: usize) -> bool {
        self.modules().is_dark(x, y)
    }

    /// The modules, for the functions that write a format.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// assert_eq!(symbol.modules().width(), symbol.size());
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn modules(&self) -> Modules<'_> {
        let size = self.size();
        match &self.matrix {
            Matrix::Narrow(rows) => Modules::new(Rows::Narrow(&rows[..size]), size),
            Matrix::Wide(rows) => Modules::new(Rows::Wide(&rows[..size]), size),
        }
    }

    /// The rows from the top, each an iterator over its modules that yields true for dark ones.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// let first: Vec<bool> = symbol.rows().next().into_iter().flatten().collect();
    /// assert_eq!(first[..8], [true, true, true, true, true, true, true, false]);
    /// # Ok::<(), qr_core::Error>(())
    /// ```
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
