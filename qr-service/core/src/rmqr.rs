//! Rectangular Micro QR symbols (ISO/IEC 23941): codewords and modules.

use crate::level::Level;
#[cfg(feature = "read")]
use crate::matrix::Row;
use crate::matrix::{is_set, mask_rows, zigzag};
use crate::modules::{Modules, Rows};
use crate::reed_solomon::remainder;
use crate::symbol::ROW_WORDS;
use crate::version::bch_remainder;

/// Rows of the highest symbol.
const MAX_HEIGHT: usize = 17;

/// A size, with the numbers that depend on it.
pub(crate) struct Kind {
    pub(crate) height: u8,
    pub(crate) width: u8,
    /// Widths of the character count indicator in numeric, alphanumeric, byte and Kanji mode (table 3).
    pub(crate) count_bits: [u8; 4],
    /// At levels M and H: error correction codewords of each block, blocks, data codewords of all blocks
    /// (table 8).
    blocks: [(usize, usize, usize); 2],
}

const fn kind(
    height: u8,
    width: u8,
    count_bits: [u8; 4],
    m: (usize, usize, usize),
    h: (usize, usize, usize),
) -> Kind {
    Kind { height, width, count_bits, blocks: [m, h] }
}

/// All sizes, in the order of their version indicators.
#[rustfmt::skip]
pub(crate) static KINDS: [Kind; 32] = [
    kind(7, 43, [4, 3, 3, 2], (7, 1, 6), (10, 1, 3)),
    kind(7, 59, [5, 5, 4, 3], (9, 1, 12), (14, 1, 7)),
    kind(7, 77, [6, 5, 5, 4], (12, 1, 20), (22, 1, 10)),
    kind(7, 99, [7, 6, 5, 5], (16, 1, 28), (30, 1, 14)),
    kind(7, 139, [7, 6, 6, 5], (24, 1, 44), (22, 2, 24)),
    kind(9, 43, [5, 5, 4, 3], (9, 1, 12), (14, 1, 7)),
    kind(9, 59, [6, 5, 5, 4], (12, 1, 21), (22, 1, 11)),
    kind(9, 77, [7, 6, 5, 5], (18, 1, 31), (16, 2, 17)),
    kind(9, 99, [7, 6, 6, 5], (24, 1, 42), (22, 2, 22)),
    kind(9, 139, [8, 7, 6, 6], (18, 2, 63), (22, 3, 33)),
    kind(11, 27, [4, 4, 3, 2], (8, 1, 7), (10, 1, 5)),
    kind(11, 43, [6, 5, 5, 4], (12, 1, 19), (20, 1, 11)),
    kind(11, 59, [7, 6, 5, 5], (16, 1, 31), (16, 2, 15)),
    kind(11, 77, [7, 6, 6, 5], (24, 1, 43), (22, 2, 23)),
    kind(11, 99, [8, 7, 6, 6], (16, 2, 57), (30, 2, 29)),
    kind(11, 139, [8, 7, 7, 6], (24, 2, 84), (30, 3, 42)),
    kind(13, 27, [5, 5, 4, 3], (9, 1, 12), (14, 1, 7)),
    kind(13, 43, [6, 6, 5, 5], (14, 1, 27), (28, 1, 13)),
    kind(13, 59, [7, 6, 6, 5], (22, 1, 38), (20, 2, 20)),
    kind(13, 77, [7, 7, 6, 6], (16, 2, 53), (28, 2, 29)),
    kind(13, 99, [8, 7, 7, 6], (20, 2, 73), (26, 3, 35)),
    kind(13, 139, [8, 8, 7, 7], (20, 3, 106), (28, 4, 54)),
    kind(15, 43, [7, 6, 6, 5], (18, 1, 33), (18, 2, 15)),
    kind(15, 59, [7, 7, 6, 5], (26, 1, 48), (24, 2, 26)),
    kind(15, 77, [8, 7, 7, 6], (18, 2, 67), (24, 3, 31)),
    kind(15, 99, [8, 7, 7, 6], (24, 2, 88), (22, 4, 48)),
    kind(15, 139, [9, 8, 7, 7], (24, 3, 127), (26, 5, 69)),
    kind(17, 43, [7, 6, 6, 5], (22, 1, 39), (20, 2, 21)),
    kind(17, 59, [8, 7, 6, 6], (16, 2, 56), (30, 2, 28)),
    kind(17, 77, [8, 7, 7, 6], (22, 2, 78), (28, 3, 38)),
    kind(17, 99, [8, 8, 7, 6], (20, 3, 100), (26, 4, 56)),
    kind(17, 139, [9, 8, 8, 7], (20, 4, 152), (26, 6, 76)),
];

impl Kind {
    /// Data codewords; `None` if there is no such level.
    pub(crate) fn data_codewords(&self, level: Level) -> Option<usize> {
        self.blocks_at(level).map(|(_, _, data)| data)
    }

    /// Error correction codewords of each block, blocks, data codewords; `None` if there is no such level.
    pub(crate) fn blocks_at(&self, level: Level) -> Option<(usize, usize, usize)> {
        match level {
            Level::M => Some(self.blocks[0]),
            Level::H => Some(self.blocks[1]),
            Level::L | Level::Q => None,
        }
    }

    /// The columns of the alignment patterns and of the timing patterns between them (annex D).
    fn alignments(&self) -> &'static [usize] {
        match self.width {
            27 => &[],
            43 => &[21],
            59 => &[19, 39],
            77 => &[25, 51],
            99 => &[23, 49, 75],
            _ => &[27, 55, 83, 111],
        }
    }
}

/// A rectangular Micro QR symbol (rMQR), without its quiet zone, which is 2 modules wide.
#[doc = example!(
    let symbol = RmqrEncoder::new(Level::M).heights(7..=7).encode("RMQR")?;
    assert_eq!(symbol.modules().rows().len(), 7);
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RmqrSymbol {
    index: usize,
    level: Level,
    /// As in [`crate::Symbol`].
    rows: [[u64; ROW_WORDS]; MAX_HEIGHT],
}

impl RmqrSymbol {
    /// Version, 1 for R7x43 to 32 for R17x139.
    #[doc = example!(
        let symbol = RmqrEncoder::new(Level::M).heights(17..=17).widths(139..=139).encode("1")?;
        assert_eq!(symbol.version(), 32);
    )]
    pub fn version(&self) -> u8 {
        self.index as u8 + 1
    }

    /// Error correction level, M or H.
    #[doc = example!(assert_eq!(RmqrEncoder::new(Level::M).encode("1")?.level(), Level::M))]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The modules: 7 to 17 rows of 27 to 139 modules.
    #[doc = example!(
        let symbol = RmqrEncoder::new(Level::M).heights(7..=7).encode("1")?;
        assert_eq!(symbol.modules().width(), 43);
    )]
    pub fn modules(&self) -> Modules<'_> {
        let Kind { height, width, .. } = KINDS[self.index];
        Modules::new(Rows::ThreeWords(&self.rows[..usize::from(height)]), usize::from(width))
    }

    /// Draws data codewords. Their number must be exactly what the size holds at this level.
    pub(crate) fn draw(index: usize, level: Level, data: &[u8]) -> Self {
        let kind = &KINDS[index];
        let (ec_len, count, _) = kind.blocks_at(level).unwrap_or((0, 1, 0));
        let mut canvas = Canvas::new(kind);
        canvas.draw_patterns(kind);
        canvas.draw_format(index, level);
        canvas.place(&interleave(data, count, ec_len));
        RmqrSymbol { index, level, rows: canvas.dark }
    }
}

impl<'a> From<&'a RmqrSymbol> for Modules<'a> {
    fn from(symbol: &'a RmqrSymbol) -> Self {
        symbol.modules()
    }
}

/// The codewords of all blocks, interleaved; the last blocks may have one data codeword more.
fn interleave(data: &[u8], count: usize, ec_len: usize) -> Vec<u8> {
    let (short, long_count) = (data.len() / count, data.len() % count);
    let mut rest = data;
    let blocks: Vec<(&[u8], Vec<u8>)> = (0..count)
        .map(|block| {
            let (data, after) = rest.split_at(short + usize::from(block >= count - long_count));
            rest = after;
            (data, remainder(data, ec_len))
        })
        .collect();
    let data = (0..=short).flat_map(|i| blocks.iter().filter_map(move |(data, _)| data.get(i)));
    let ec = (0..ec_len).flat_map(|i| blocks.iter().filter_map(move |(_, ec)| ec.get(i)));
    data.chain(ec).copied().collect()
}

/// The mask of QR that rMQR has as its only one.
pub(crate) const MASK: u8 = 4;

/// The rows of a symbol before its message.
#[cfg(feature = "read")]
pub(crate) fn empty_rows(version: u8, level: Level) -> Vec<[Row; 2]> {
    let index = usize::from(version) - 1;
    let mut canvas = Canvas::new(&KINDS[index]);
    canvas.draw_patterns(&KINDS[index]);
    canvas.draw_format(index, level);
    let rows = canvas.dark.iter().zip(&canvas.reserved).take(canvas.height);
    rows.map(|(dark, reserved)| [*dark, reserved.map(|word| !word)]).collect()
}

/// The places of a bit of the format information in both copies.
pub(crate) fn format_places(width: usize, height: usize, bit: usize) -> [(usize, usize); 2] {
    let second = match bit {
        0..15 => (width - 8 + bit / 5, height - 6 + bit % 5),
        _ => (width - 20 + bit, height - 6),
    };
    [(8 + bit / 5, 1 + bit % 5), second]
}

/// Both copies of the format information: version and level with their BCH code, each with its own mask (section 7.9).
pub(crate) fn format_bits(index: usize, level: Level) -> [u32; 2] {
    let data = u32::from(level == Level::H) << 5 | index as u32;
    let format = data << 12 | bch_remainder(data, 12, 0x1f25);
    [format ^ 0x1fab2, format ^ 0x20a7b]
}

struct Canvas {
    width: usize,
    height: usize,
    dark: [[u64; ROW_WORDS]; MAX_HEIGHT],
    /// Modules of function patterns.
    reserved: [[u64; ROW_WORDS]; MAX_HEIGHT],
}

impl Canvas {
    fn new(kind: &Kind) -> Self {
        let (width, height) = (usize::from(kind.width), usize::from(kind.height));
        let empty = [[0; ROW_WORDS]; MAX_HEIGHT];
        Canvas { width, height, dark: empty, reserved: empty }
    }

    /// Draws a module of a function pattern over the former content.
    fn put(&mut self, x: usize, y: usize, dark: bool) {
        let bit = 1 << (x % 64);
        self.reserved[y][x / 64] |= bit;
        self.dark[y][x / 64] &= !bit;
        self.dark[y][x / 64] |= if dark { bit } else { 0 };
    }

    fn draw_patterns(&mut self, kind: &Kind) {
        let (width, height) = (self.width, self.height);
        let (right, bottom) = (width - 1, height - 1);
        // Timing patterns along the edges and through the alignment patterns.
        for x in 0..width {
            self.put(x, 0, x % 2 == 0);
            self.put(x, bottom, x % 2 == 0);
        }
        for &x in [0, right].iter().chain(kind.alignments()) {
            (0..height).for_each(|y| self.put(x, y, y % 2 == 0));
        }
        for &centre in kind.alignments() {
            for (x, y) in (0..9).map(|k| (centre - 1 + k % 3, k / 3)) {
                self.put(x, y, (x, y) != (centre, 1));
                self.put(x, bottom - y, (x, y) != (centre, 1));
            }
        }
        // Corner finder patterns.
        for (x, y) in
            [(right, 0), (right - 1, 0), (right, 1), (0, bottom), (1, bottom), (2, bottom)]
        {
            self.put(x, y, true);
        }
        self.put(right - 1, 1, false);
        if height > 9 {
            self.put(0, bottom - 1, true);
            self.put(1, bottom - 1, false);
        }
        // The finder pattern with its separator, and the sub-finder pattern.
        for (x, y) in (0..64_usize).map(|k| (k % 8, k / 8)).filter(|(_, y)| *y < height) {
            let ring = x.abs_diff(3).max(y.abs_diff(3));
            self.put(x, y, ring != 2 && ring < 4);
        }
        for (x, y) in (0..25_usize).map(|k| (k % 5, k / 5)) {
            let ring = x.abs_diff(2).max(y.abs_diff(2));
            self.put(width - 5 + x, height - 5 + y, ring != 1);
        }
    }

    /// Draws both copies of the format information.
    fn draw_format(&mut self, index: usize, level: Level) {
        for bit in 0..18 {
            let places = format_places(self.width, self.height, bit);
            for ((x, y), bits) in places.into_iter().zip(format_bits(index, level)) {
                self.put(x, y, bits >> bit & 1 == 1);
            }
        }
    }

    /// Places the codewords in strips of two columns from the right, upwards first, under the only mask of rMQR.
    fn place(&mut self, codewords: &[u8]) {
        let bits = codewords.iter().flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1 == 1));
        let mut bits = bits.chain(std::iter::repeat(false));
        let masks = mask_rows(MASK);
        for (x, y) in zigzag(self.width - 2, self.height, false) {
            if !is_set(&self.reserved[y], x) {
                let dark = bits.next().unwrap_or(false) != is_set(&masks[y % masks.len()], x);
                self.dark[y][x / 64] |= u64::from(dark) << (x % 64);
            }
        }
    }
}
