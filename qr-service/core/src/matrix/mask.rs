//! The eight mask patterns (ISO/IEC 18004 table 10), computed at compile time.
//!
//! Their conditions use row `i` and column `j` modulo 2 and 3, `i / 2` modulo 2 and `j / 3` modulo 2,
//! so every mask repeats after 12 rows and after 12 columns.

use super::lines::{PackedLines, Word};

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

/// Words after which a line repeats: 3 words of 16 modules are four periods of 12, 3 words of 32 are eight.
const PERIOD_WORDS: usize = 3;

/// A word of all masks, by line.
pub(super) type Period<W> = [[W; 8]; PERIOD];

/// The masks as rows and as columns, by word and line.
type Masks<W> = [[Period<W>; PERIOD_WORDS]; 2];

macro_rules! masks {
    ($word:ident) => {{
        const BITS: usize = $word::BITS as usize;
        let mut table: Masks<$word> = [[[[0; 8]; PERIOD]; PERIOD_WORDS]; 2];
        let mut k = 0;
        while k < 2 * PERIOD_WORDS * BITS * PERIOD * 8 {
            let (mask, line, at) = (k % 8, k / 8 % PERIOD, k / 8 / PERIOD % (PERIOD_WORDS * BITS));
            let turned = k / 8 / PERIOD / (PERIOD_WORDS * BITS);
            if if turned == 1 { inverts(mask, at, line) } else { inverts(mask, line, at) } {
                table[turned][at / BITS][line][mask] |= 1 << (at % BITS);
            }
            k += 1;
        }
        table
    }};
}

pub(super) static MASKS_16: Masks<u16> = masks!(u16);
#[cfg(target_arch = "x86_64")]
pub(super) static MASKS_32: Masks<u32> = masks!(u32);

/// The modules that `mask` inverts, by row; rows repeat after [`PERIOD`], and so does each from the left. Micro QR has
/// the masks 1, 4, 6 and 7 under other numbers, rMQR only mask 4.
#[cfg(any(feature = "micro", feature = "rmqr"))]
pub(crate) fn mask_rows(mask: u8) -> [[u64; 3]; PERIOD] {
    let part = |i: usize, k: usize| u64::from(MASKS_16[0][k % PERIOD_WORDS][i][usize::from(mask)]);
    let word = |i: usize, w: usize| (0..4).fold(0, |word, k| word | part(i, 4 * w + k) << (16 * k));
    std::array::from_fn(|i| std::array::from_fn(|w| word(i, w)))
}

/// Applies `mask` to the `free` modules of `rows`.
pub(super) fn apply<T: Word, const WORDS: usize, const LINES: usize>(
    rows: &mut PackedLines<T, WORDS, LINES>,
    free: &PackedLines<T, WORDS, LINES>,
    mask: u8,
    size: usize,
) {
    let parts = T::BITS / 16;
    let period: [[T; WORDS]; PERIOD] = std::array::from_fn(|i| {
        std::array::from_fn(|w| {
            T::from_low((0..parts).fold(0, |word, k| {
                let part = MASKS_16[0][(w * parts + k) % PERIOD_WORDS][i][usize::from(mask)];
                word | u64::from(part) << (16 * k)
            }))
        })
    });
    let lines = rows[..size].chunks_mut(PERIOD).zip(free[..size].chunks(PERIOD));
    for (rows, free) in lines {
        for ((row, free), mask) in rows.iter_mut().zip(free).zip(&period) {
            (0..WORDS).for_each(|w| row[w] = row[w] ^ (mask[w] & free[w]));
        }
    }
}
