use super::*;
use crate::level;
use crate::matrix::function::Patterns;
use crate::matrix::lines::Sizes;
use crate::matrix::place::place_codewords;
use crate::matrix::transpose::transpose;
use crate::version::{size_of, total_codewords};

/// Returns the points of random symbols of `version`, computed with words of 16 modules and with each kind of wide
/// word that the processor has.
fn scores<T: Word, const WORDS: usize, const LINES: usize>(version: u8) -> Vec<[u32; 8]> {
    let size = size_of(version);
    let mut state = u64::from(version);
    let count = total_codewords(version);
    let mut codewords = [0; Sizes::up_to(40, 64).codewords];
    codewords[..count].fill_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Half of the bytes are equal, so that runs, blocks and finders occur.
        if state >> 63 == 1 { (state >> 40) as u8 } else { 0b0101_1101 }
    });
    let Patterns { free, dark } = Patterns::<T, WORDS, LINES>::new(version);
    let mut columns = place_codewords(&codewords, count, size, &free);
    let mut rows = transpose(&columns);
    for lines in [&mut columns, &mut rows] {
        for (line, dark) in lines.iter_mut().zip(&dark).take(size) {
            (0..WORDS).for_each(|w| line[w] = line[w] | dark[w]);
        }
    }
    let formats = &Formats::new(level::Level::Q, size);
    let [rows, columns] = [(&rows, false), (&columns, true)].map(|(lines, turned)| Unmasked {
        lines,
        free: &free,
        formats,
        turned,
        size,
    });
    let mut scores = vec![score::<Narrow, T, WORDS, LINES>((), &rows, &columns)];
    scores.extend(Level::new().as_avx2().map(|avx2| score_wide(avx2, &rows, &columns)));
    scores.extend(Level::new().as_avx512().map(|avx512| score_wide(avx512, &rows, &columns)));
    scores
}

#[test]
fn words_of_all_widths_give_the_same_points() {
    const SIZES: [Sizes; 5] = [
        Sizes::up_to(3, 32),
        Sizes::up_to(11, 64),
        Sizes::up_to(15, 64),
        Sizes::up_to(27, 64),
        Sizes::up_to(40, 64),
    ];
    let mut compared = 0;
    for version in 1..=40 {
        let scores = match version {
            1..=3 => scores::<u32, { SIZES[0].words }, { SIZES[0].lines }>(version),
            4..=11 => scores::<u64, { SIZES[1].words }, { SIZES[1].lines }>(version),
            12..=15 => scores::<u64, { SIZES[2].words }, { SIZES[2].lines }>(version),
            16..=27 => scores::<u64, { SIZES[3].words }, { SIZES[3].lines }>(version),
            _ => scores::<u64, { SIZES[4].words }, { SIZES[4].lines }>(version),
        };
        assert!(scores.iter().all(|score| *score == scores[0]), "version {version}: {scores:?}");
        compared += scores.len() - 1;
    }
    assert!(compared > 0 || Level::new().as_avx2().is_none());
}
