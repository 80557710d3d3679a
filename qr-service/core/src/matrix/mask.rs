//! The eight mask patterns (ISO/IEC 18004 table 10), worked out ahead.
//!
//! Their conditions on row `i` and column `j` look at `i` and `j` modulo 2 and 3, at `i / 2`
//! modulo 2 and at `j / 3` modulo 2: all repeat after 12 lines, seen as rows or as columns.

use super::{Lines, Word};

/// Lines after which every mask repeats.
pub(super) const PERIOD: usize = 12;

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

/// 64 modules of a line of `mask`, from module `start`.
const fn line_of(mask: usize, turned: bool, line: usize, start: usize) -> u64 {
    let (mut bits, mut k) = (0, 0);
    while k < 64 {
        let at = start + k;
        if if turned { inverts(mask, at, line) } else { inverts(mask, line, at) } {
            bits |= 1 << k;
        }
        k += 1;
    }
    bits
}

/// Masks for lines of one `u32`: as rows and as columns, by line, in groups of four masks.
pub(super) static NARROW: [[[[u32; 4]; 2]; PERIOD]; 2] = {
    let mut table = [[[[0; 4]; 2]; PERIOD]; 2];
    let mut i = 0;
    while i < 2 * PERIOD * 8 {
        let (turned, line, mask) = (i / 8 / PERIOD, i / 8 % PERIOD, i % 8);
        table[turned][line][mask / 4][mask % 4] = line_of(mask, turned == 1, line, 0) as u32;
        i += 1;
    }
    table
};

/// Masks for lines of up to three `u64`: as rows and as columns, by line and word, in groups of two.
pub(super) static WIDE: [[[[[u64; 2]; 4]; 3]; PERIOD]; 2] = {
    let mut table = [[[[[0; 2]; 4]; 3]; PERIOD]; 2];
    let mut i = 0;
    while i < 2 * PERIOD * 3 * 8 {
        let (turned, line, word, mask) = (i / 24 / PERIOD, i / 24 % PERIOD, i / 8 % 3, i % 8);
        table[turned][line][word][mask / 2][mask % 2] = line_of(mask, turned == 1, line, 64 * word);
        i += 1;
    }
    table
};

/// Inverts the modules of `rows` that are `free` as `mask` says.
pub(super) fn apply<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    rows: &mut Lines<T, W, N>,
    free: &Lines<T, W, N>,
    mask: u8,
    size: usize,
) {
    let mask = usize::from(mask);
    for i in 0..size {
        for w in 0..W {
            rows[i][w] = rows[i][w] ^ (T::masks(false, i, w, mask / L)[mask % L] & free[i][w]);
        }
    }
}
