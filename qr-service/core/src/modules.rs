//! The modules of a symbol of any kind: a rectangle of dark and light.

use crate::symbol::{ROW_WORDS, Symbol};

/// The modules of a symbol without its quiet zone. The writers of formats take it.
///
/// ```
/// use qr_core::{Level, encode};
///
/// let symbol = encode("text", Level::M)?;
/// let modules = symbol.modules();
/// assert_eq!((modules.width(), modules.height()), (21, 21));
/// let dark = modules.rows().flatten().filter(|dark| *dark).count();
/// assert!(dark > 21 * 21 / 3);
/// # Ok::<(), qr_core::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modules<'a> {
    /// One for each row of the symbol; see [`Symbol`]'s.
    rows: &'a [[u64; ROW_WORDS]],
    width: usize,
}

impl<'a> Modules<'a> {
    pub(crate) fn new(rows: &'a [[u64; ROW_WORDS]], width: usize) -> Self {
        Modules { rows, width }
    }

    /// Modules in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Whether the module in column `x` and row `y` is dark; false outside the symbol.
    pub fn is_dark(&self, x: usize, y: usize) -> bool {
        x < self.width && self.rows.get(y).is_some_and(|row| row[x / 64] >> (x % 64) & 1 == 1)
    }

    /// The rows from the top.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'a>> + use<'a> {
        let width = self.width;
        self.rows.iter().map(move |words| Row { words, x: 0, width })
    }

    /// The row's words, module `x` in bit `x % 64` of word `x / 64`; light outside the symbol.
    #[cfg(any(feature = "eps", feature = "pdf", feature = "png-color", feature = "svg"))]
    pub(crate) fn words(&self, y: usize) -> [u64; ROW_WORDS] {
        self.rows.get(y).copied().unwrap_or_default()
    }
}

impl<'a> From<&'a Symbol> for Modules<'a> {
    fn from(symbol: &'a Symbol) -> Self {
        symbol.modules()
    }
}

/// A row of modules: an iterator from the left that says of each whether it is dark.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    words: &'a [u64; ROW_WORDS],
    x: usize,
    width: usize,
}

impl Iterator for Row<'_> {
    type Item = bool;

    fn next(&mut self) -> Option<bool> {
        let x = self.x;
        (x < self.width).then(|| {
            self.x += 1;
            self.words[x / 64] >> (x % 64) & 1 == 1
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.width - self.x, Some(self.width - self.x))
    }
}

impl ExactSizeIterator for Row<'_> {}
