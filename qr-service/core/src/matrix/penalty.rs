//! The choice of the mask: the four penalty rules of ISO/IEC 18004 section 7.8.3.1, for all eight
//! masks at once.
//!
//! Each line of the matrix is compared with the lines before it, word by word. On rows this scores
//! the vertical direction, on columns the horizontal one. A register holds 16 modules under all eight
//! masks, or 32 where it has 256 bits; with words that short, little of the last one lies beyond the
//! symbol's edge.
//!
//! - Rule 1: a run of `n >= 5` modules of one colour scores `3 + (n - 5)`. It contains `n - 4` windows
//!   of five equal modules, so it scores 1 for each window and 2 more for the first.
//! - Rule 2: each block of 2 x 2 modules of one colour scores 3; counted on rows only.
//! - Rule 3: each dark-light-dark-dark-dark-light-dark with 4 light modules before or after it scores
//!   40; the quiet zone counts as light.
//! - Rule 4: each full 5 % between the share of dark modules and 50 % scores 10.
//!
//! Counting the ones of every word would take longer than finding them. Instead they are added to the
//! bit-sliced counters of a [`Tally`] by full adders (Warren, Hacker's Delight, section 8-8), four
//! lines at a time: each stage halves the carries of the one before. Only the final planes are
//! counted.

#[cfg(target_arch = "x86_64")]
use fearless_simd::{Level, Simd};

use super::format::{Formats, LINE};
use super::lanes::{Lanes, Narrow, Tally};
use super::lines::{BORDER, PackedLines, Word};
#[cfg(target_arch = "x86_64")]
use super::wide::Wide;

/// The same word of every line, with [`BORDER`] light lines before and after those of the symbol.
type Strip<L, const LINES: usize> = [L; LINES];

/// A symbol to be scored without its format information, by lines: columns if `turned`, else rows.
struct Unmasked<'a, T, const WORDS: usize, const LINES: usize> {
    lines: &'a PackedLines<T, WORDS, LINES>,
    free: &'a PackedLines<T, WORDS, LINES>,
    formats: &'a Formats,
    turned: bool,
    size: usize,
}

impl<T: Word, const WORDS: usize, const LINES: usize> Unmasked<'_, T, WORDS, LINES> {
    /// Writes word `v` of the lines to `strip` under every mask, with its format information. Does not write
    /// the borders: `strip` must be light or hold lines of the same size.
    #[inline(always)]
    fn mask<L: Lanes>(&self, proof: L::Proof, v: usize, strip: &mut Strip<L, LINES>) {
        let Unmasked { lines, free, size, turned, .. } = *self;
        let words = lines[..size].iter().zip(free).zip(strip[BORDER..].iter_mut());
        let masks = L::masks(turned, v).iter().cycle();
        for (((line, free), lanes), mask) in words.zip(masks) {
            let free = L::all(proof, part::<L, T, WORDS>(free, v));
            *lanes = L::all(proof, part::<L, T, WORDS>(line, v)) ^ (L::load(proof, mask) & free);
        }
        let (along, across) = self.formats.along_and_across(turned);
        let last = size - 8;
        let mut along_line = strip[BORDER + LINE];
        if v == 0 {
            along_line = along_line | L::each(proof, &along.first);
            for (bits, lines) in [(&across.first, 0..9), (&across.last, last..size)] {
                let bits = L::each(proof, bits);
                for (k, lanes) in strip[BORDER..][lines].iter_mut().enumerate() {
                    let bit = bits.shifted_down(k) & L::all(proof, 1);
                    *lanes = *lanes | bit.shifted_up(LINE);
                }
            }
            along_line = along_line | strip[BORDER + LINE];
        }
        let (word, at) = (last / L::MODULES, last % L::MODULES);
        if v == word {
            along_line = along_line | L::each(proof, &along.last).shifted_up(at);
        } else if v == word + 1 && at > L::MODULES - 8 {
            // The modules that did not fit the word before.
            along_line = along_line | L::each(proof, &along.last).shifted_down(L::MODULES - at);
        }
        strip[BORDER + LINE] = along_line;
    }
}

/// Words of a line of `size` modules.
fn words_in_use<L: Lanes>(size: usize) -> usize {
    size.div_ceil(L::MODULES)
}

/// Word `v` of a line. Bits beyond its modules are not zero.
#[inline(always)]
fn part<L: Lanes, T: Word, const WORDS: usize>(line: &[T; WORDS], v: usize) -> u32 {
    let at = v * L::MODULES;
    (line[at / T::BITS].to_u64() >> (at % T::BITS)) as u32
}

/// The columns that change colour: on the last line (`differs`), within the last 3 lines (`within_3`,
/// and the same one line earlier), within the last 5 (`within_5`).
struct Runs<L> {
    before: L,
    differs: L,
    within_3: [L; 2],
    within_5: L,
}

impl<L: Lanes> Runs<L> {
    #[inline(always)]
    fn new(proof: L::Proof, first_line: L) -> Self {
        let all = L::all(proof, u32::MAX);
        Runs { before: first_line, differs: all, within_3: [all; 2], within_5: all }
    }

    /// Advances by one line. Returns two masks: the columns whose last five modules are equal, and
    /// the subset where the run has just reached five.
    #[inline(always)]
    fn step(&mut self, here: L) -> (L, L) {
        let differs = here ^ self.before;
        let within_3 = differs | self.differs;
        let within_5 = within_3 | self.within_3[1];
        let window = !within_5;
        let first = window & self.within_5;
        self.within_3 = [within_3, self.within_3[0]];
        (self.before, self.differs, self.within_5) = (here, differs, within_5);
        (window, first)
    }
}

/// Points of rule 1 across the lines of a strip.
#[inline(always)]
fn score_runs<L: Lanes, const LINES: usize>(
    proof: L::Proof,
    strip: &Strip<L, LINES>,
    size: usize,
) -> [u32; 8] {
    let mut tally = Tally::new(proof);
    let mut runs = Runs::new(proof, strip[BORDER]);
    // A symbol has a multiple of 4 lines and one more.
    for four in strip[BORDER + 1..BORDER + size].as_chunks::<4>().0 {
        // Not by `map`: in `qr-service` the compiler did not inline it, nor the register operations in it, and a
        // picture took a quarter more instructions.
        let (a, b) = (runs.step(four[0]), runs.step(four[1]));
        let (c, d) = (runs.step(four[2]), runs.step(four[3]));
        // 1 for a window, 2 for the first of a run.
        let ab = tally.add2(a.0, b.0, 0);
        let cd = tally.add2(c.0, d.0, 0);
        let twos = [tally.add2(ab, cd, 1), tally.add2(a.1, b.1, 1), tally.add2(c.1, d.1, 1)];
        let low = tally.add2(twos[0], twos[1], 2);
        let high = tally.add1(twos[2], 2);
        let carry = tally.add2(low, high, 3);
        tally.ripple(carry, 4, planes::<LINES>(1));
    }
    tally.total(proof, planes::<LINES>(1))
}

/// Points of rules 1 and 2 across the lines of a strip; `next` is the strip to its right.
#[inline(always)]
fn score_runs_and_blocks<L: Lanes, const LINES: usize>(
    proof: L::Proof,
    strip: &Strip<L, LINES>,
    next: &Strip<L, LINES>,
    size: usize,
) -> [u32; 8] {
    let mut tally = Tally::new(proof);
    let mut runs = Runs::new(proof, strip[BORDER]);
    let mut right = strip[BORDER].to_the_right(next[BORDER]);
    let lines = BORDER + 1..BORDER + size;
    for (four, next) in
        strip[lines.clone()].as_chunks::<4>().0.iter().zip(next[lines].as_chunks::<4>().0)
    {
        let a = with_block(&mut runs, &mut right, four[0], next[0]);
        let b = with_block(&mut runs, &mut right, four[1], next[1]);
        let c = with_block(&mut runs, &mut right, four[2], next[2]);
        let d = with_block(&mut runs, &mut right, four[3], next[3]);
        // 1 for a window, 2 for the first of a run, 1 + 2 for a block.
        let (one_a, one_b) = (tally.add2(a.0, a.2, 0), tally.add2(b.0, b.2, 0));
        let (one_c, one_d) = (tally.add2(c.0, c.2, 0), tally.add2(d.0, d.2, 0));
        let (two_a, two_b) = (tally.add2(a.1, a.2, 1), tally.add2(b.1, b.2, 1));
        let (two_c, two_d) = (tally.add2(c.1, c.2, 1), tally.add2(d.1, d.2, 1));
        let low = tally.add2(one_a, one_b, 1);
        let high = tally.add2(one_c, one_d, 1);
        let fours =
            [tally.add2(low, high, 2), tally.add2(two_a, two_b, 2), tally.add2(two_c, two_d, 2)];
        let low = tally.add2(fours[0], fours[1], 3);
        let high = tally.add1(fours[2], 3);
        let carry = tally.add2(low, high, 4);
        tally.ripple(carry, 5, planes::<LINES>(4));
    }
    tally.total(proof, planes::<LINES>(4))
}

/// Advances by one line. Returns the masks of [`Runs::step`], and the columns where a block of 2 x 2
/// ends. `right` is the line shifted by one module.
#[inline(always)]
fn with_block<L: Lanes>(runs: &mut Runs<L>, right: &mut L, here: L, next: L) -> (L, L, L) {
    let (before, before_right) = (runs.before, *right);
    let (window, first) = runs.step(here);
    *right = here.to_the_right(next);
    let block = !(runs.differs | (*right ^ before_right) | (before ^ before_right));
    (window, first, block)
}

/// Number of finder-like patterns across the lines of a strip, for rule 3.
#[inline(always)]
fn count_finders<L: Lanes, const LINES: usize>(
    proof: L::Proof,
    strip: &Strip<L, LINES>,
    size: usize,
) -> [u32; 8] {
    // Patterns of a column begin at least 4 modules apart.
    let planes = planes_for(max_size::<LINES>() / 4);
    let mut tally = Tally::new(proof);
    // One line more makes the positions a multiple of 4; no pattern ends there.
    let lines = &strip[..BORDER + size + BORDER + 1];
    for x in lines.windows(18).step_by(4).filter_map(<[L]>::first_chunk::<18>) {
        tally.add4([finders(x, 0), finders(x, 1), finders(x, 2), finders(x, 3)], planes);
    }
    tally.total(proof, planes)
}

/// The columns that have a finder's cross-section of 7 lines from `at + 4` on, with 4 light lines
/// before or after it.
#[inline(always)]
fn finders<L: Lanes>(x: &[L; 18], at: usize) -> L {
    let any_dark = |from: usize| (x[from] | x[from + 1]) | (x[from + 2] | x[from + 3]);
    let x_at = |k: usize| x[at + 4 + k];
    let dark = (x_at(0) & x_at(2)) & (x_at(3) & x_at(4)) & x_at(6);
    dark & !(x_at(1) | x_at(5)) & !(any_dark(at) & any_dark(at + 11))
}

/// Number of dark modules of a strip, including the filler beyond the edge.
#[inline(always)]
fn count_dark<L: Lanes, const LINES: usize>(
    proof: L::Proof,
    strip: &Strip<L, LINES>,
    size: usize,
) -> [u32; 8] {
    let planes = planes::<LINES>(1);
    let mut tally = Tally::new(proof);
    // The lines after the last are light.
    for four in strip[BORDER..BORDER + size + 3].as_chunks::<4>().0 {
        tally.add4(*four, planes);
    }
    tally.total(proof, planes)
}

/// Lines of the largest symbol in a strip of `LINES`.
const fn max_size<const LINES: usize>() -> usize {
    (LINES - 2 * BORDER - 1) / 4 * 4 + 1
}

/// Planes of a counter for each column of a symbol, of at most `per_line` for each of its lines. Rule 1 has
/// fewer points than there are lines, and rule 2 at most 3 for each.
const fn planes<const LINES: usize>(per_line: usize) -> usize {
    planes_for(per_line * max_size::<LINES>())
}

/// Planes of a counter up to `most`.
const fn planes_for(most: usize) -> usize {
    most.ilog2() as usize + 1
}

/// Calls [`Lanes::apart`] with an inlined closure.
macro_rules! apart {
    ($lanes:ty, $proof:ident, $run:expr) => {
        <$lanes>::apart(
            $proof,
            #[inline(always)]
            || $run,
        )
    };
}

/// The penalty of each mask.
#[inline(always)]
fn score<L: Lanes, T: Word, const WORDS: usize, const LINES: usize>(
    proof: L::Proof,
    rows: &Unmasked<'_, T, WORDS, LINES>,
    columns: &Unmasked<'_, T, WORDS, LINES>,
) -> [u32; 8] {
    let size = rows.size;
    let (mut points, mut dark) = ([0; 8], [0; 8]);
    let words = words_in_use::<L>(size);
    let light = L::all(proof, 0);
    // The strip that is scored, and the one to its right, in turn.
    let (mut even, mut odd) = ([light; LINES], [light; LINES]);
    apart!(L, proof, rows.mask(proof, 0, &mut even));
    for v in 0..words {
        let (strip, next) =
            if v.is_multiple_of(2) { (&mut even, &mut odd) } else { (&mut odd, &mut even) };
        if v + 1 < words {
            apart!(L, proof, rows.mask(proof, v + 1, next));
        } else if v > 0 {
            *next = [light; LINES];
        }
        add(&mut points, apart!(L, proof, score_runs_and_blocks(proof, strip, next, size)), 1);
        add(&mut points, apart!(L, proof, count_finders(proof, strip, size)), 40);
        add(&mut dark, apart!(L, proof, count_dark(proof, strip, size)), 1);
    }
    let strip = &mut even;
    for v in 0..words {
        apart!(L, proof, columns.mask(proof, v, strip));
        add(&mut points, apart!(L, proof, score_runs(proof, strip, size)), 1);
        add(&mut points, apart!(L, proof, count_finders(proof, strip, size)), 40);
    }
    let filler = filler_dark(size, words * L::MODULES);
    std::array::from_fn(|mask| points[mask] + share_points(dark[mask] - filler, size))
}

/// Adds `weight` times `counts` to `sums`.
fn add(sums: &mut [u32; 8], counts: [u32; 8], weight: u32) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += weight * count;
    }
}

/// Number of dark modules of the filler in lines of `width` modules (see `Patterns::dark`).
fn filler_dark(size: usize, width: usize) -> u32 {
    let even = (size..width).filter(|x| x % 2 == 0).count();
    let odd = width - size - even;
    (even * size.div_ceil(2) + odd * (size / 2)) as u32
}

/// Points of rule 4.
fn share_points(dark: u32, size: usize) -> u32 {
    let total = (size * size) as u32;
    (20 * dark).abs_diff(10 * total) / total * 10
}

/// The mask with the lowest penalty; the first if several have it.
pub(super) fn choose_mask<T: Word, const WORDS: usize, const LINES: usize>(
    rows: &PackedLines<T, WORDS, LINES>,
    columns: &PackedLines<T, WORDS, LINES>,
    free: &PackedLines<T, WORDS, LINES>,
    formats: &Formats,
    size: usize,
) -> u8 {
    let [rows, columns] = [(rows, false), (columns, true)].map(|(lines, turned)| Unmasked {
        lines,
        free,
        formats,
        turned,
        size,
    });
    let points = best_score(&rows, &columns);
    (0..8).min_by_key(|&mask| points[usize::from(mask)]).unwrap_or(0)
}

/// The penalty of each mask, computed with the widest registers that the processor has. With AVX-512 this uses
/// registers of the same width as with AVX2, but fewer instructions.
#[cfg(target_arch = "x86_64")]
fn best_score<T: Word, const WORDS: usize, const LINES: usize>(
    rows: &Unmasked<'_, T, WORDS, LINES>,
    columns: &Unmasked<'_, T, WORDS, LINES>,
) -> [u32; 8] {
    let level = Level::new();
    if let Some(avx512) = level.as_avx512() {
        score_wide(avx512, rows, columns)
    } else if let Some(avx2) = level.as_avx2() {
        score_wide(avx2, rows, columns)
    } else {
        score::<Narrow, T, WORDS, LINES>((), rows, columns)
    }
}

#[cfg(target_arch = "x86_64")]
fn score_wide<S: Simd, T: Word, const WORDS: usize, const LINES: usize>(
    simd: S,
    rows: &Unmasked<'_, T, WORDS, LINES>,
    columns: &Unmasked<'_, T, WORDS, LINES>,
) -> [u32; 8] {
    simd.vectorize(
        #[inline(always)]
        || score::<Wide<S>, T, WORDS, LINES>(simd, rows, columns),
    )
}

/// The penalty of each mask.
#[cfg(not(target_arch = "x86_64"))]
fn best_score<T: Word, const WORDS: usize, const LINES: usize>(
    rows: &Unmasked<'_, T, WORDS, LINES>,
    columns: &Unmasked<'_, T, WORDS, LINES>,
) -> [u32; 8] {
    score::<Narrow, T, WORDS, LINES>((), rows, columns)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
