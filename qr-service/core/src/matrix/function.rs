//! Function patterns: finders with separators, timing, alignment, version information, and the area
//! reserved for format information (ISO/IEC 18004 sections 6.3, 7.9, 7.10).

use super::lines::{Lines, Word};
use crate::version::{alignment_centre, alignments_per_side, size_of, version_bits};

/// The function patterns of a version, as rows. They are symmetric about the main diagonal, so they
/// serve as columns too. Format information and the dark module are not symmetric; `format` draws
/// them once the mask is known.
pub(super) struct Patterns<T, const WORDS: usize, const LINES: usize> {
    /// Modules that hold no codeword, including those beyond the symbol's edge.
    pub(super) reserved: Lines<T, WORDS, LINES>,
    /// The complement of `reserved`: the modules that a mask may invert.
    pub(super) free: Lines<T, WORDS, LINES>,
    /// Dark modules of the patterns; format information is left light. The words beyond the right
    /// edge hold a chequered filler. Its lines always differ from their neighbours, so the penalty
    /// rules never see a run, a block or a finder there and need no bounds.
    pub(super) dark: Lines<T, WORDS, LINES>,
}

/// A line under construction, in as many words as the widest symbol needs.
#[derive(Clone, Copy)]
struct Wide([u64; 3]);

impl Wide {
    /// Sets the bits of `bits`, the lowest at `at`.
    fn or(&mut self, at: usize, bits: u64) {
        self.0[at / 64] |= bits << (at % 64);
        if !at.is_multiple_of(64) && at / 64 < 2 {
            self.0[at / 64 + 1] |= bits >> (64 - at % 64);
        }
    }

    fn to_words<T: Word, const WORDS: usize>(self) -> [T; WORDS] {
        std::array::from_fn(|w| T::from_low(self.0[w * T::BITS / 64] >> (w * T::BITS % 64)))
    }
}

/// Rows of the finder pattern with its separator: 8 modules, the separator last.
const FINDER: [u64; 8] = [0x7f, 0x41, 0x5d, 0x5d, 0x5d, 0x41, 0x7f, 0];
/// Rows of the alignment pattern: 5 modules.
const ALIGNMENT: [u64; 5] = [0x1f, 0x11, 0x15, 0x11, 0x1f];

impl<T: Word, const WORDS: usize, const LINES: usize> Patterns<T, WORDS, LINES> {
    pub(super) fn new(version: u8) -> Self {
        let size = size_of(version);
        let (edge, filler) = beyond(size);
        let mut patterns = Patterns {
            reserved: [[T::ONES; WORDS]; LINES],
            free: [[T::ZERO; WORDS]; LINES],
            dark: [[T::ZERO; WORDS]; LINES],
        };
        let mut alignments = Alignments::new(version);
        for y in 0..size {
            let (mut reserved, mut dark) = (edge, Wide([0; 3]));
            draw_finders(y, size, &mut reserved, &mut dark);
            alignments.draw(y, &mut reserved, &mut dark);
            if version >= 7 {
                draw_version(version, y, &mut reserved, &mut dark);
            }
            for w in 0..3 {
                dark.0[w] |= filler[y % 2].0[w];
            }
            patterns.reserved[y] = reserved.to_words();
            patterns.free[y] = patterns.reserved[y].map(|word: T| !word);
            patterns.dark[y] = dark.to_words();
        }
        patterns
    }
}

/// The modules beyond the right edge, and the chequered filler there for even and odd lines.
fn beyond(size: usize) -> (Wide, [Wide; 2]) {
    let mut edge = Wide([0; 3]);
    for w in 0..3 {
        edge.0[w] = match (w * 64 + 64).checked_sub(size) {
            None | Some(0) => 0,
            Some(over) if over >= 64 => !0,
            Some(over) => !0 << (64 - over),
        };
    }
    let even = Wide(edge.0.map(|word| word & 0x5555_5555_5555_5555));
    let odd = Wide(edge.0.map(|word| word & 0xaaaa_aaaa_aaaa_aaaa));
    (edge, [even, odd])
}

/// Draws row `y` of the finders with separators and of the timing patterns, and reserves the format
/// information beside them.
fn draw_finders(y: usize, size: usize, reserved: &mut Wide, dark: &mut Wide) {
    if y < 9 {
        reserved.or(0, 0x1ff);
        reserved.or(size - 8, 0xff);
    } else if y >= size - 8 {
        reserved.or(0, 0x1ff);
    } else {
        reserved.or(6, 1);
    }
    if y < 8 {
        dark.or(0, FINDER[y]);
        // At the right end, the separator comes first.
        dark.or(size - 7, FINDER[y]);
    } else if y >= size - 7 {
        dark.or(0, FINDER[y - (size - 7)]);
    } else {
        dark.or(6, u64::from(y.is_multiple_of(2)));
    }
    if y == 6 {
        let mut x = 8;
        while x < size - 8 {
            let len = (size - 8 - x).min(32);
            let all = (1 << len) - 1;
            reserved.or(x, all);
            dark.or(x, all & 0x5555_5555);
            x += len;
        }
    }
}

/// Draws the alignment patterns, one row of the matrix after the other.
struct Alignments {
    version: u8,
    /// Patterns per row and per column of their grid.
    count: usize,
    /// The row of the grid that is being drawn or comes next, and the matrix row that it begins in.
    row: usize,
    top: usize,
}

impl Alignments {
    fn new(version: u8) -> Self {
        let count = alignments_per_side(version);
        let top = if count > 0 { alignment_centre(version, 0) - 2 } else { usize::MAX };
        Alignments { version, count, row: 0, top }
    }

    /// Draws row `y`; rows must come in order.
    fn draw(&mut self, y: usize, reserved: &mut Wide, dark: &mut Wide) {
        let Some(line) = y.checked_sub(self.top) else { return };
        let (row, last) = (self.row, self.count - 1);
        // Three corners have finders instead.
        let columns = match row {
            0 => 1..last,
            row if row == last => 1..last + 1,
            _ => 0..last + 1,
        };
        for column in columns {
            let left = alignment_centre(self.version, column) - 2;
            reserved.or(left, 0x1f);
            // A pattern on a timing pattern has the same modules there.
            dark.or(left, ALIGNMENT[line]);
        }
        if line == 4 {
            self.row += 1;
            let more = self.row < self.count;
            self.top = if more { alignment_centre(self.version, self.row) - 2 } else { usize::MAX };
        }
    }
}

/// Draws row `y` of the version information: 6 rows of 3 modules at the top right, and their mirror
/// image at the bottom left.
fn draw_version(version: u8, y: usize, reserved: &mut Wide, dark: &mut Wide) {
    let (size, bits) = (size_of(version), u64::from(version_bits(version)));
    if y < 6 {
        reserved.or(size - 11, 7);
        dark.or(size - 11, bits >> (3 * y) & 7);
    }
    if let Some(from_top) = y.checked_sub(size - 11).filter(|k| *k < 3) {
        reserved.or(0, 0x3f);
        for k in 0..6 {
            dark.or(k, bits >> (3 * k + from_top) & 1);
        }
    }
}
