//! The finished symbol: a square of dark and light modules.

use crate::level::Level;
use crate::modules::{Modules, Row};
use crate::version::size_of;

/// Rows of the largest symbol.
pub(crate) const MAX_SIZE: usize = size_of(40);
/// Words of a row of the largest symbol.
pub(crate) const ROW_WORDS: usize = MAX_SIZE.div_ceil(64);

/// A QR symbol: its version, level and mask, and its modules without the quiet zone.
#[derive(Clone, PartialEq, Eq)]
pub struct Symbol {
    pub(crate) version: u8,
    pub(crate) level: Level,
    pub(crate) mask: u8,
    /// Module `x` of row `y` is bit `x % 64` of `rows[y][x / 64]`; dark is 1.
    pub(crate) rows: [[u64; ROW_WORDS]; MAX_SIZE],
}

impl Symbol {
    /// Version, 1 to 40.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Error correction level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Mask pattern reference, 0 to 7.
    pub fn mask(&self) -> u8 {
        self.mask
    }

    /// Modules a side, 21 to 177, without the quiet zone.
    pub fn size(&self) -> usize {
        size_of(self.version)
    }

    /// Whether the module in column `x` and row `y` is dark; false outside the symbol.
    pub fn is_dark(&self, x: usize, y: usize) -> bool {
        x < self.size() && y < self.size() && self.rows[y][x / 64] >> (x % 64) & 1 == 1
    }

    /// The modules, which every format is written from.
    pub fn modules(&self) -> Modules<'_> {
        let size = self.size();
        Modules::new(&self.rows[..size], size)
    }

    /// The rows from the top, each an iterator over its modules that says which are dark.
    ///
    /// ```
    /// use qr_core::{Level, encode};
    ///
    /// let symbol = encode("text", Level::M)?;
    /// let first: Vec<bool> = symbol.rows().next().into_iter().flatten().collect();
    /// assert_eq!(first[..8], [true, true, true, true, true, true, true, false]);
    /// # Ok::<(), qr_core::EncodeError>(())
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
