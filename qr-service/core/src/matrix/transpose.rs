//! Rows to columns and back.

use super::lines::{PackedLines, Word};

/// Transposes the matrix by square blocks of one word per line.
pub(super) fn transpose<T: Word, const WORDS: usize, const LINES: usize>(
    lines: &PackedLines<T, WORDS, LINES>,
) -> PackedLines<T, WORDS, LINES> {
    let mut turned = [[T::ZERO; WORDS]; LINES];
    for from in 0..WORDS {
        for to in 0..WORDS {
            // As many lines as a word has bits, at most 64; the last block may have fewer.
            let mut block = [T::ZERO; 64];
            let len = T::BITS.min(LINES - to * T::BITS);
            for (word, line) in block.iter_mut().zip(&lines[to * T::BITS..][..len]) {
                *word = line[from];
            }
            transpose_block(&mut block);
            let len = T::BITS.min(LINES - from * T::BITS);
            for (line, word) in turned[from * T::BITS..][..len].iter_mut().zip(&block) {
                line[to] = *word;
            }
        }
    }
    turned
}

/// Transposes a square of bits by swapping off-diagonal squares, each time half as large (Warren,
/// Hacker's Delight, section 7-3).
fn transpose_block<T: Word>(block: &mut [T; 64]) {
    let mut half = T::BITS / 2;
    // The bits of the left half of every square.
    let mut low = T::ONES >> half as u32;
    while half > 0 {
        for square in block[..T::BITS].chunks_exact_mut(2 * half) {
            let (top, bottom) = square.split_at_mut(half);
            for (a, b) in top.iter_mut().zip(bottom) {
                let swap = ((*a >> half as u32) ^ *b) & low;
                *b = *b ^ swap;
                *a = *a ^ (swap << half as u32);
            }
        }
        half /= 2;
        low = low ^ (low << half as u32);
    }
}
