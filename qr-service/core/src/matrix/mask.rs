//! The eight mask patterns (ISO/IEC 18004 table 10), worked out ahead.
//!
//! Their conditions on row `i` and column `j` look at `i` and `j` modulo 2 and 3, at `i / 2`
//! modulo 2 and at `j / 3` modulo 2: all repeat after 12 lines, seen as rows or as columns.

use super::lanes::{LANE_BITS, Lanes};
use super::{Lines, Word};

/// Lines after which every mask repeats.
const PERIOD: usize = 12;

/// Whether `mask` inverts the module in row `i`, column `j`.
const fn inverts(mask: usize, i: usize, j: usize) -> bool {
    match mask {
        0 => (i + j).is_multiple_of(2),
        1 => i.is_multiple_of(2),
        2 => j.is_multiple_of(3),
        3 => (i + j).is_multiple_of(3),
        4 => (i / 2 + j / 3).is_multiple_of(2),
        5 => i * j % 2 + i * j % 3 == 0,
        6 => (i * j % 2 + i * j % 3).is_multiple_of(2),
        _ => ((i + j) % 2 + i * j % 3).is_multiple_of(2),
    }
}

/// Words after which a line repeats: 3 of 16 modules are four times 12.
const WORDS: usize = 3;

/// The masks as rows and as columns, by word and line.
static MASKS: [[[[u16; 8]; PERIOD]; WORDS]; 2] = {
    let mut table = [[[[0; 8]; PERIOD]; WORDS]; 2];
    let mut k = 0;
    while k < 2 * WORDS * LANE_BITS * PERIOD * 8 {
        let (mask, line, at) = (k % 8, k / 8 % PERIOD, k / 8 / PERIOD % (WORDS * LANE_BITS));
        let turned = k / 8 / PERIOD / (WORDS * LANE_BITS);
        if if turned == 1 { inverts(mask, at, line) } else { inverts(mask, line, at) } {
            table[turned][at / LANE_BITS][line][mask] |= 1 << (at % LANE_BITS);
        }
        k += 1;
    }
    table
};

/// Word `word` of 16 modules of each line, under all masks; `turned` for columns as lines.
#[inline(always)]
pub(super) fn lines(turned: bool, word: usize) -> impl Iterator<Item = Lanes> {
    MASKS[usize::from(turned)][word % WORDS].iter().cycle().map(|masks| Lanes(*masks))
}

/// Inverts the modules of `rows` that are `free` as `mask` says.
pub(super) fn apply<T: Word, const W: usize, const N: usize>(
    rows: &mut Lines<T, W, N>,
    free: &Lines<T, W, N>,
    mask: u8,
    size: usize,
) {
    let parts = T::BITS / LANE_BITS;
    for i in 0..size {
        for w in 0..W {
            let word = (0..parts).fold(0, |word, k| {
                let part = MASKS[0][(w * parts + k) % WORDS][i % PERIOD][usize::from(mask)];
                word | u64::from(part) << (k * LANE_BITS)
            });
            rows[i][w] = rows[i][w] ^ (T::from_low(word) & free[i][w]);
        }
    }
}
