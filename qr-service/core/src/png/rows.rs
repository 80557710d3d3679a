//! Rows of modules as machine words, and the bytes of a line that show them.

use crate::modules::Modules;
use crate::raster::Layout;

/// Light columns before the symbol's: modules of 3 pixels can have pixels of three in the byte with the symbol's first
/// one.
pub(super) const LEFT: usize = 3;
/// Words for the rows of any symbol, and for those of a small one.
pub(super) const ANY: usize = 5;
pub(super) const SMALL: usize = 1;

/// A row of modules: that of column `x` of the symbol in bit `LEFT + x`, dark is 1. If there are several words, the
/// last one is light.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Row<const W: usize>([u64; W]);

impl<const W: usize> Row<W> {
    pub(super) const LIGHT: Self = Row([0; W]);

    /// Whether rows of so many modules have room: the bits after them must be light.
    pub(super) fn has_room(width: usize) -> bool {
        LEFT + width + 1 < 64 * W.min(4)
    }

    /// Row `y` of a symbol.
    pub(super) fn of(modules: Modules<'_>, y: usize) -> Self {
        let words = modules.words(y);
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        Row(std::array::from_fn(|i| {
            word(i) << LEFT | if i > 0 { word(i - 1) >> (64 - LEFT) } else { 0 }
        }))
    }

    /// 64 modules from a column on.
    #[inline(always)]
    pub(super) fn from(&self, column: usize) -> u64 {
        if W == 1 {
            return self.0[0] >> (column % 64);
        }
        let (word, bit) = (column / 64, column % 64);
        self.0[word] >> bit | self.0[word + 1] << 1 << (63 - bit)
    }

    /// The modules that differ, as dark ones.
    pub(super) fn differing(&self, other: &Self) -> Self {
        Row(std::array::from_fn(|word| self.0[word] ^ other.0[word]))
    }

    /// The first and last dark column.
    pub(super) fn dark_columns(&self) -> Option<(usize, usize)> {
        let first = self.0.iter().position(|word| *word != 0)?;
        let last = self.0.iter().rposition(|word| *word != 0)?;
        Some((
            64 * first + self.0[first].trailing_zeros() as usize,
            64 * last + self.0[last].ilog2() as usize,
        ))
    }
}

/// The column of a byte's first pixel, how many pixels of the byte it has, and how many it and the next one have, and
/// these and the next one.
#[derive(Clone, Copy)]
pub(super) struct Byte {
    pub(super) column: u8,
    own: u8,
    two: u8,
    three: u8,
}

/// The bytes of a line with its filter type.
pub(super) struct Line {
    pub(super) len: usize,
    pub(super) bytes: Vec<Byte>,
    /// By column: the byte that has its first pixel, or the line's length if that is less.
    pub(super) starts: [u16; 256],
    /// Columns that bytes of the symbol may begin in.
    pub(super) columns: std::ops::Range<usize>,
    scale_px: usize,
    /// The bits of light pixels: 0, as filter types, or 0xff.
    pub(super) light: u8,
}

impl Line {
    pub(super) fn new(width: usize, layout: &Layout, light: u8) -> Self {
        let (len, scale_px) = (1 + layout.size_px.div_ceil(8), layout.scale_px);
        let last = LEFT + width;
        let origin = 8 + layout.offset_px;
        let pixel_of = |column: usize| (origin + column * scale_px).saturating_sub(LEFT * scale_px);
        // Those after the symbol are light, as far as the line goes.
        let starts = std::array::from_fn(|column| (pixel_of(column) / 8).min(len) as u16);
        let (mut column, mut end) = (0, pixel_of(1));
        let bytes = (0..len)
            .map(|at| {
                while column <= last && end <= 8 * at {
                    column += 1;
                    end = pixel_of(column + 1);
                }
                let own = end.saturating_sub(8 * at);
                let [own, two, three] =
                    [0, 1, 2].map(|others| (own + others * scale_px).min(8) as u8);
                Byte { column: column as u8, own, two, three }
            })
            .collect();
        let light_before = (layout.offset_px / scale_px).min(LEFT);
        Line { len, bytes, starts, columns: LEFT - light_before..last, scale_px, light }
    }

    /// Bytes from one column to another that begins at the same pixel of a byte: the difference of these.
    #[inline(always)]
    pub(super) fn offset_of(&self, column: usize) -> usize {
        column * self.scale_px / 8
    }

    /// A byte whose pixels are of these modules: of four at most, since none has fewer than 3 pixels.
    #[inline(always)]
    pub(super) fn pixels(&self, modules: u64, byte: Byte) -> u8 {
        let turns = modules ^ modules >> 1;
        let [first, second, third, fourth] =
            [modules, turns, turns >> 1, turns >> 2].map(|bit| (bit as u16 & 1).wrapping_neg());
        let others = second & 0xff >> byte.own ^ third & 0xff >> byte.two;
        self.light ^ (first ^ others ^ fourth & 0xff >> byte.three) as u8
    }

    /// A byte of a row's line.
    pub(super) fn byte<const W: usize>(&self, row: &Row<W>, at: usize) -> u8 {
        let byte = self.bytes[at];
        let light = if at == 0 { self.light } else { 0 };
        light ^ self.pixels(row.from(byte.column.into()), byte)
    }

    /// The bytes from the first to before the last that may differ if these columns do.
    pub(super) fn bytes_of(&self, first: usize, last: usize) -> (usize, usize) {
        let next = usize::from(self.starts[last + 1]);
        // This byte may have pixels of both columns.
        let has_last = self.bytes.get(next).is_some_and(|byte| usize::from(byte.column) <= last);
        (self.starts[first].into(), next + usize::from(has_last))
    }
}
