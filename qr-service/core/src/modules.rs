//! The modules of a symbol of any kind: a rectangle of dark and light.

use std::marker::PhantomData;

use crate::version::size_of;

/// Words of a row of the largest symbol.
pub(crate) const ROW_WORDS: usize = size_of(40).div_ceil(64);

/// The modules of a symbol without its quiet zone. All functions that write a format accept it.
#[doc = example!(symbol:
    let modules = symbol.modules();
    assert_eq!((modules.width(), modules.height()), (21, 21));
    let dark = modules.rows().flatten().filter(|dark| *dark).count();
    assert!(dark > 21 * 21 / 3);
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modules<'a> {
    rows: Rows<'a>,
    width: usize,
}

/// The rows of the symbol, in the words of `crate::symbol::Matrix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows<'a> {
    OneWord(&'a [u64]),
    ThreeWords(&'a [[u64; ROW_WORDS]]),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Rows::OneWord(rows) => rows.len(),
            Rows::ThreeWords(rows) => rows.len(),
        }
    }

    /// The words of row `y`; zeros after the last row.
    fn words(&self, y: usize) -> [u64; ROW_WORDS] {
        match self {
            Rows::OneWord(rows) => rows.get(y).map_or([0; ROW_WORDS], |row| [*row, 0, 0]),
            Rows::ThreeWords(rows) => rows.get(y).copied().unwrap_or_default(),
        }
    }
}

impl<'a> Modules<'a> {
    pub(crate) fn new(rows: Rows<'a>, width: usize) -> Self {
        Modules { rows, width }
    }

    /// Modules in a row.
    #[doc = example!(symbol: assert_eq!(symbol.modules().width(), 21))]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    #[doc = example!(symbol: assert_eq!(symbol.modules().height(), 21))]
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Whether the module in column `x` and row `y` is dark; false outside the symbol.
    #[doc = example!(symbol:
        let modules = symbol.modules();
        assert!(modules.is_dark(0, 0) && !modules.is_dark(7, 0) && !modules.is_dark(21, 0));
    )]
    pub fn is_dark(&self, x: usize, y: usize) -> bool {
        x < self.width && self.words(y)[x / 64] >> (x % 64) & 1 == 1
    }

    /// The rows from the top.
    #[doc = example!(symbol: for row in symbol.modules().rows() { assert_eq!(row.len(), 21);})]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'a>> + use<'a> {
        let Modules { rows, width } = *self;
        (0..rows.len()).map(move |y| Row { words: rows.words(y), x: 0, width, of: PhantomData })
    }

    /// The row's words, module `x` in bit `x % 64` of word `x / 64`; light outside the symbol.
    pub(crate) fn words(&self, y: usize) -> [u64; ROW_WORDS] {
        self.rows.words(y)
    }
}

/// A row of modules: an iterator from the left that yields true for dark modules.
#[doc = example!(symbol:
    let first: Option<Row<'_>> = symbol.rows().next();
    assert_eq!(first.map(|row| row.take_while(|dark| *dark).count()), Some(7));
)]
#[derive(Clone, Debug)]
pub struct Row<'a> {
    words: [u64; ROW_WORDS],
    x: usize,
    width: usize,
    of: PhantomData<Modules<'a>>,
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
