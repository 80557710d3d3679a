//! Micro QR symbols (ISO/IEC 18004): codewords and modules.

use crate::bits::BitString;
use crate::level::Level;
use crate::matrix::{Row, is_set, mask_rows, zigzag};
use crate::modules::{Modules, Rows};
use crate::reed_solomon::remainder;
use crate::symbol::ROW_WORDS;
use crate::version::bch_remainder;

/// Rows of the largest symbol.
const MAX_SIZE: usize = 17;

/// Data bits and error correction codewords, by symbol number (tables 7 and 9): M1; M2 L and M; M3 L
/// and M; M4 L, M and Q.
const KINDS: [(usize, usize); 8] =
    [(20, 2), (40, 5), (32, 6), (84, 6), (68, 8), (128, 8), (112, 10), (80, 14)];

/// The symbol number (table 13); for `None` that of the version's lowest level.
fn symbol_number(version: u8, level: Option<Level>) -> Option<usize> {
    match (version, level) {
        (1, None) => Some(0),
        (2..=4, None | Some(Level::L)) => Some(usize::from(version) * 2 - 3),
        (2..=4, Some(Level::M)) => Some(usize::from(version) * 2 - 2),
        (4, Some(Level::Q)) => Some(7),
        _ => None,
    }
}

/// Data bits of a version; `None` if it does not have the level.
pub(crate) fn capacity(version: u8, level: Option<Level>) -> Option<usize> {
    shape(version, level).map(|(capacity, _)| capacity)
}

/// Data bits and error correction codewords of a version; `None` if it does not have the level.
pub(crate) fn shape(version: u8, level: Option<Level>) -> Option<(usize, usize)> {
    symbol_number(version, level).map(|number| KINDS[number])
}

/// A Micro QR symbol, without its quiet zone, which is 2 modules wide.
#[doc = example!(
    let symbol = MicroEncoder::new(Some(Level::Q)).encode("MICRO")?;
    assert_eq!((symbol.version(), symbol.modules().width()), (4, 17));
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroSymbol {
    version: u8,
    level: Option<Level>,
    mask: u8,
    /// As in [`crate::Symbol`].
    rows: [[u64; ROW_WORDS]; MAX_SIZE],
}

impl MicroSymbol {
    /// Version, 1 for M1 to 4 for M4.
    #[doc = example!(assert_eq!(MicroEncoder::new(None).encode("123456")?.version(), 2))]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Error correction level; `None` for M1, which only detects errors.
    #[doc = example!(
        assert_eq!(MicroEncoder::new(None).encode("12345")?.level(), None);
        assert_eq!(MicroEncoder::new(None).encode("123456")?.level(), Some(Level::L));
    )]
    pub fn level(&self) -> Option<Level> {
        self.level
    }

    /// Mask pattern reference, 0 to 3.
    #[doc = example!(assert!(MicroEncoder::new(None).encode("12345")?.mask() < 4))]
    pub fn mask(&self) -> u8 {
        self.mask
    }

    /// The modules: 11, 13, 15 or 17 a side.
    #[doc = example!(assert_eq!(MicroEncoder::new(None).encode("12345")?.modules().width(), 11))]
    pub fn modules(&self) -> Modules<'_> {
        let size = size_of(self.version);
        Modules::new(Rows::ThreeWords(&self.rows[..size]), size)
    }

    /// Draws a message that fits the version, with `mask`, or with the mask of the best score if it is `None`.
    pub(crate) fn draw(
        version: u8,
        level: Option<Level>,
        mask: Option<u8>,
        message: BitString,
    ) -> Self {
        // M1 has no level, the others have at least L.
        let level = if version == 1 { None } else { level.or(Some(Level::L)) };
        let number = symbol_number(version, level).unwrap_or(0);
        let size = size_of(version);
        let stream = codewords(version, number, message);
        let masked = |mask| draw_modules(version, level, mask, &stream);
        let best = || (0..4).rev().max_by_key(|mask| score(&masked(*mask), size)).unwrap_or(0);
        let mask = mask.unwrap_or_else(best);
        MicroSymbol { version, level, mask, rows: masked(mask) }
    }
}

impl<'a> From<&'a MicroSymbol> for Modules<'a> {
    fn from(symbol: &'a MicroSymbol) -> Self {
        symbol.modules()
    }
}

pub(crate) fn size_of(version: u8) -> usize {
    usize::from(version) * 2 + 9
}

/// The bits of all codewords. The last data codeword of M1 and M3 has only 4 bits; error correction treats
/// them as the high bits of a byte.
fn codewords(version: u8, number: usize, mut message: BitString) -> Vec<bool> {
    let (capacity, ec_len) = KINDS[number];
    let data_len = capacity.div_ceil(8);
    let short = capacity % 8 > 0;
    message.put(0, (2 * u32::from(version) + 1).min((capacity - message.len()) as u32));
    let is_padded = message.len().div_ceil(8) < data_len;
    let mut data = message.into_padded(data_len);
    if let (true, true, Some(last)) = (short, is_padded, data.last_mut()) {
        *last = 0;
    }
    let ec = remainder(&data, ec_len);
    let widths = (1..).map(|count| if short && count == data_len { 4 } else { 8 });
    let all = data.iter().chain(&ec).zip(widths);
    all.flat_map(|(codeword, width)| (0..width).map(move |k| codeword << k & 0x80 > 0)).collect()
}

/// The masks of QR that those of Micro QR are (table 10).
pub(crate) const MASKS: [u8; 4] = [1, 4, 6, 7];

/// The place of a bit of the format information, the least significant first: down column 8, then along row 8 to the left.
pub(crate) fn format_place(bit: usize) -> (usize, usize) {
    if bit < 7 { (8, bit + 1) } else { (15 - bit, 8) }
}

/// Format information of 15 bits: symbol number and mask with their BCH code, masked (section 7.9.2). `None` if the
/// version lacks the level.
pub(crate) fn format_bits(version: u8, level: Option<Level>, mask: u8) -> Option<u32> {
    let data = (symbol_number(version, level)? as u32) << 2 | u32::from(mask);
    Some((data << 10 | bch_remainder(data, 10, 0x537)) ^ 0x4445)
}

/// The rows of a symbol before its message.
pub(crate) fn empty_rows(version: u8, level: Option<Level>, mask: u8) -> Vec<[Row; 2]> {
    let size = size_of(version);
    let mut rows = vec![[[0; ROW_WORDS]; 2]; size];
    for (x, y) in (0..size * size).map(|at| (at % size, at / size)) {
        let ring = x.abs_diff(3).max(y.abs_diff(3));
        // Timing patterns continue the edges of the finder pattern.
        let is_timing = (x == 0 || y == 0) && (x + y) % 2 == 0;
        let is_dark = if ring > 3 { is_timing && ring > 4 } else { ring != 2 };
        rows[y][0][0] |= u64::from(is_dark) << x;
        rows[y][1][0] |= u64::from(x > 0 && y > 0 && (x > 8 || y > 8)) << x;
    }
    let bits = format_bits(version, level, mask).unwrap_or(0);
    for ((x, y), bit) in (0..15).map(|bit| (format_place(bit), bit)) {
        rows[y][0][0] |= u64::from(bits >> bit & 1) << x;
    }
    rows
}

fn draw_modules(version: u8, level: Option<Level>, mask: u8, stream: &[bool]) -> [Row; MAX_SIZE] {
    let (empty, masks) = (empty_rows(version, level, mask), mask_rows(MASKS[usize::from(mask)]));
    let mut rows = [[0; ROW_WORDS]; MAX_SIZE];
    rows.iter_mut().zip(&empty).for_each(|(row, [dark, _])| *row = *dark);
    let modules = zigzag(empty.len() - 1, empty.len(), false);
    for ((x, y), bit) in modules.filter(|(x, y)| is_set(&empty[*y][1], *x)).zip(stream) {
        rows[y][0] |= u64::from(*bit != is_set(&masks[y % masks.len()], x)) << x;
    }
    rows
}

/// The score of section 7.8.3.2: 16 times the lower plus the higher of two counts, the dark modules of the
/// right column and those of the bottom row, without the timing patterns.
fn score(rows: &[[u64; ROW_WORDS]; MAX_SIZE], size: usize) -> u32 {
    let right = (1..size).map(|y| (rows[y][0] >> (size - 1) & 1) as u32).sum::<u32>();
    let bottom = (rows[size - 1][0] & !1).count_ones();
    16 * right.min(bottom) + right.max(bottom)
}
