//! Sizes, capacities and blocks by version and level (ISO/IEC 18004 tables 7 and 9, annex E).

use crate::level::Level;

/// Bytes of the longest text that a symbol holds: 7,089 digits in version 40 at level L (table 7).
#[doc = example!(assert_eq!(encode(&"7".repeat(MAX_TEXT_BYTES), Level::L)?.version(), 40))]
pub const MAX_TEXT_BYTES: usize = 7089;

/// The most symbols that structured append links.
///
/// ```
/// use qr_core::{Encoder, Error, Level, MAX_SYMBOLS};
///
/// // 15 bytes per symbol.
/// let encoder = Encoder::new(Level::L).versions(1..=1);
/// let symbols = encoder.encode_append(&"a".repeat(15 * MAX_SYMBOLS))?;
/// assert_eq!(symbols.len(), MAX_SYMBOLS);
/// # Ok::<(), qr_core::Error>(())
/// ```
pub const MAX_SYMBOLS: usize = 16;

/// Error correction codewords per block, by level and version (table 9).
const EC_PER_BLOCK: [[u8; 40]; 4] = [
    [
        7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30,
        30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    ],
    [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    ],
    [
        13, 22, 18, 26, 18, 24, 18, 22, 20, 24, 28, 26, 24, 20, 30, 24, 28, 28, 26, 30, 28, 30, 30,
        30, 30, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    ],
    [
        17, 28, 22, 16, 22, 28, 26, 26, 24, 28, 24, 28, 22, 24, 24, 30, 28, 28, 26, 28, 30, 24, 30,
        30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
    ],
];

/// Number of blocks, by level and version (table 9).
const BLOCKS: [[u8; 40]; 4] = [
    [
        1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13,
        14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25,
    ],
    [
        1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23,
        25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
    ],
    [
        1, 1, 2, 2, 4, 4, 6, 6, 8, 8, 8, 10, 12, 16, 12, 17, 16, 18, 21, 20, 23, 23, 25, 27, 29,
        34, 34, 35, 38, 40, 43, 45, 48, 51, 53, 56, 59, 62, 65, 68,
    ],
    [
        1, 1, 2, 4, 4, 4, 5, 6, 8, 8, 11, 11, 16, 16, 18, 16, 19, 21, 25, 25, 25, 34, 30, 32, 35,
        37, 40, 42, 45, 48, 51, 54, 57, 60, 63, 66, 70, 74, 77, 81,
    ],
];

/// How a symbol's codewords are divided into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Number of blocks.
    pub(crate) count: usize,
    /// Error correction codewords of each block.
    pub(crate) ec_len: usize,
    /// Data codewords of a short block; the `long_count` last blocks have one more.
    pub(crate) short_len: usize,
    /// How many blocks are long.
    pub(crate) long_count: usize,
}

impl Blocks {
    /// `count` blocks that share `data` codewords.
    pub(crate) const fn new(count: usize, ec_len: usize, data: usize) -> Self {
        Blocks { count, ec_len, short_len: data / count, long_count: data % count }
    }

    /// The block of the codeword at `index` in the interleaved sequence (section 7.6).
    pub(crate) fn block_of(&self, index: usize) -> usize {
        let Blocks { count, short_len, long_count, .. } = *self;
        let (short, data) = (short_len * count, short_len * count + long_count);
        match index {
            index if index < short => index % count,
            // Only the last blocks have one more data codeword.
            index if index < data => count - long_count + index - short,
            index => (index - data) % count,
        }
    }

    /// Wrong codewords that a block can correct. The smallest symbols repair one fewer, to detect errors (table 9,
    /// note b).
    pub(crate) fn correctable(&self) -> usize {
        self.ec_len / 2 - usize::from(self.ec_len <= 10)
    }
}

/// Modules a side.
pub(crate) const fn size_of(version: u8) -> usize {
    version as usize * 4 + 17
}

/// Alignment patterns in a row of their grid; 0 for version 1.
pub(crate) const fn alignments_per_side(version: u8) -> usize {
    if version == 1 { 0 } else { version as usize / 7 + 2 }
}

/// Centre of the alignment pattern `i` of a row of the grid (annex E): the first at 6, the last at
/// `size - 7`, with equal even steps between them except the first, which takes the remainder.
pub(crate) const fn alignment_centre(version: u8, i: usize) -> usize {
    let last = size_of(version) - 7;
    let gaps = alignments_per_side(version) - 1;
    // The table rounds version 32 the other way.
    let step = if version == 32 { 26 } else { (last - 6).div_ceil(gaps * 2) * 2 };
    if i == 0 { 6 } else { last - step * (gaps - i) }
}

/// Codewords of data and error correction together (table 1).
pub(crate) const fn total_codewords(version: u8) -> usize {
    let size = size_of(version);
    let per_side = alignments_per_side(version);
    // Finder patterns with separators and format information, timing patterns, dark module.
    let mut function = 3 * 64 + 2 * 15 + 1 + 2 * (size - 16);
    if per_side > 0 {
        // The grid without three corners. Patterns on a timing pattern share 5 modules with it.
        function += (per_side * per_side - 3) * 25 - (per_side - 2) * 2 * 5;
    }
    if version >= 7 {
        function += 2 * 18;
    }
    (size * size - function) / 8
}

/// The blocks of `version` at `level`.
pub(crate) const fn blocks(version: u8, level: Level) -> Blocks {
    let (l, v) = (level as usize, version as usize - 1);
    let count = BLOCKS[l][v] as usize;
    let ec_len = EC_PER_BLOCK[l][v] as usize;
    let data = total_codewords(version) - count * ec_len;
    Blocks::new(count, ec_len, data)
}

const fn data_codewords_of(version: u8, level: Level) -> u16 {
    let b = blocks(version, level);
    (b.count * b.short_len + b.long_count) as u16
}

/// Data codewords by level and version. A table, because every encoding needs several of them.
const DATA_CODEWORDS: [[u16; 40]; 4] = {
    let mut table = [[0; 40]; 4];
    let mut i = 0;
    while i < 4 * 40 {
        table[i / 40][i % 40] = data_codewords_of((i % 40) as u8 + 1, Level::ALL[i / 40]);
        i += 1;
    }
    table
};

/// Data codewords that `version` holds at `level` (table 7).
pub(crate) fn data_codewords(version: u8, level: Level) -> usize {
    usize::from(DATA_CODEWORDS[level as usize][usize::from(version) - 1])
}

/// Format information of 15 bits: level and mask with their BCH code, masked (section 7.9.1).
pub(crate) const fn format_bits(level: Level, mask: u8) -> u16 {
    let indicator = match level {
        Level::L => 1,
        Level::M => 0,
        Level::Q => 3,
        Level::H => 2,
    };
    let data = indicator << 3 | mask as u32;
    ((data << 10 | bch_remainder(data, 10, 0x537)) ^ 0x5412) as u16
}

/// Version information of 18 bits with its BCH code (section 7.10), for versions from 7.
pub(crate) const fn version_bits(version: u8) -> u32 {
    (version as u32) << 12 | bch_remainder(version as u32, 12, 0x1f25)
}

/// Remainder of `data * x^degree` divided by `generator` over GF(2).
pub(crate) const fn bch_remainder(data: u32, degree: u32, generator: u32) -> u32 {
    let mut rest = data;
    let mut i = 0;
    while i < degree {
        rest = (rest << 1) ^ ((rest >> (degree - 1) & 1) * generator);
        i += 1;
    }
    rest & ((1 << degree) - 1)
}

#[cfg(test)]
mod tests;
