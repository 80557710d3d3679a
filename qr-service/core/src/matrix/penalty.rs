//! The choice of the mask: the four penalty rules of ISO/IEC 18004 section 7.8.3.1, for all eight
//! masks, several at a time.
//!
//! Every rule looks at a module and those above it, so a line of the matrix is compared with the
//! lines before it, word by word, 32 or 64 modules at once; on the columns that gives the rules
//! for the horizontal. A register of 128 bits holds the same word under several masks.
//!
//! - Rule 1, runs of 5 or more of one colour, 3 + (length - 5) each: with `window` the places where
//!   five equal modules end, a run of length `n` has `n - 4` of them in a row, so its points are
//!   its windows and 2 more for the first.
//! - Rule 2, blocks of 2 x 2 of one colour, 3 each: counted by the rows.
//! - Rule 3, 40 for each dark-light-dark-dark-dark-light-dark with 4 light modules before or after
//!   it; the quiet zone is light.
//! - Rule 4, 10 for each full 5 % that the share of dark modules is off 50 %.
//!
//! Counting the ones of each word would take longer than finding them. They are added up in
//! bit-sliced counters instead: word `k` of a [`Tally`] holds bit `k` of a count for each column,
//! and adding a word is a ripple of half adders, with full adders where two words come together
//! (Warren, Hacker's Delight, section 8-8). Only at the end are the planes' ones counted.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use super::format::Formats;
use super::{BORDER, Lines, Word};

/// One word under each of `L` masks.
#[derive(Clone, Copy)]
struct Lanes<T, const L: usize>([T; L]);

impl<T: Word<L>, const L: usize> Lanes<T, L> {
    #[inline(always)]
    fn all(word: T) -> Self {
        Lanes([word; L])
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        Lanes(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }

    #[inline(always)]
    fn map(self, f: impl Fn(T) -> T) -> Self {
        Lanes(self.0.map(f))
    }
}

macro_rules! lane_operator {
    ($operator:ident, $method:ident) => {
        impl<T: Word<L>, const L: usize> $operator for Lanes<T, L> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| a.$method(b))
            }
        }
    };
}
lane_operator!(BitAnd, bitand);
lane_operator!(BitOr, bitor);
lane_operator!(BitXor, bitxor);

impl<T: Word<L>, const L: usize> Not for Lanes<T, L> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self.map(|a| !a)
    }
}

/// A full adder: the sum and the carry of three bits, in every place.
#[inline(always)]
fn add3<V: Copy + BitAnd<Output = V> + BitOr<Output = V> + BitXor<Output = V>>(
    a: V,
    b: V,
    c: V,
) -> (V, V) {
    let half = a ^ b;
    (half ^ c, a & b | half & c)
}

/// A count for each place of a word, bit-sliced; 10 bits are enough for any column.
#[derive(Clone, Copy)]
struct Tally<T, const L: usize>([Lanes<T, L>; 10]);

impl<T: Word<L>, const L: usize> Tally<T, L> {
    #[inline(always)]
    fn new() -> Self {
        Tally([Lanes::all(T::ZERO); 10])
    }

    /// Adds `carry` with the weight of plane `from`; planes from `to` on stay as they are.
    #[inline(always)]
    fn ripple(&mut self, mut carry: Lanes<T, L>, from: usize, to: usize) {
        for plane in &mut self.0[from..to] {
            let next = *plane & carry;
            *plane = *plane ^ carry;
            carry = next;
        }
    }

    /// Adds `a` and `b` in plane `from`; gives the carry.
    #[inline(always)]
    fn add2(&mut self, a: Lanes<T, L>, b: Lanes<T, L>, plane: usize) -> Lanes<T, L> {
        let (sum, carry) = add3(self.0[plane], a, b);
        self.0[plane] = sum;
        carry
    }

    /// Adds `a` in plane `from`; gives the carry.
    #[inline(always)]
    fn add1(&mut self, a: Lanes<T, L>, plane: usize) -> Lanes<T, L> {
        let carry = self.0[plane] & a;
        self.0[plane] = self.0[plane] ^ a;
        carry
    }

    /// The sum over all places, by lane.
    #[inline(always)]
    fn total(&self, planes: usize) -> [u32; L] {
        std::array::from_fn(|l| (0..planes).map(|k| self.0[k].0[l].count_ones() << k).sum())
    }
}

/// Lines of the symbol under `L` masks, with [`BORDER`] light lines before and after.
type Masked<T, const L: usize, const W: usize, const N: usize> = [[Lanes<T, L>; W]; N];

// The four functions below stay out of their caller: each then keeps its counters in registers,
// where inlined together they spill (a tenth of the encoder's time, measured).

/// Applies the masks of `group` to `lines` and adds their format information.
#[inline(never)]
fn mask_lines<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    lines: &Lines<T, W, N>,
    free: &Lines<T, W, N>,
    formats: &Formats,
    (turned, group, size): (bool, usize, usize),
) -> Masked<T, L, W, N> {
    let mut masked = [[Lanes::all(T::ZERO); W]; N];
    for i in 0..size {
        for w in 0..W {
            let mask = Lanes(T::masks(turned, i, w, group));
            masked[BORDER + i][w] = Lanes::all(lines[i][w]) ^ (mask & Lanes::all(free[i][w]));
        }
    }
    formats.for_each(turned, |line, at, bits| {
        let (w, shift) = (at / T::BITS, (at % T::BITS) as u32);
        let dark =
            Lanes(std::array::from_fn(|l| T::from_low(u64::from(bits[group * L + l])) << shift));
        masked[BORDER + line][w] = masked[BORDER + line][w] | dark;
    });
    masked
}

/// Each module's neighbour to the right, in its place.
#[inline(always)]
fn to_the_right<T: Word<L>, const L: usize, const W: usize>(
    line: &[Lanes<T, L>; W],
    w: usize,
) -> Lanes<T, L> {
    let next = if w + 1 < W { line[w + 1] } else { Lanes::all(T::ZERO) };
    line[w].zip(next, |a, b| a >> 1 | b << (T::BITS as u32 - 1))
}

/// Points for rule 1 along the other axis of `lines`, and for rule 2 if they are rows.
#[inline(never)]
fn score_runs<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    masked: &Masked<T, L, W, N>,
    rows: bool,
    size: usize,
    w: usize,
) -> [u32; L] {
    let ones = Lanes::all(T::ONES);
    let mut tally = Tally::new();
    let (mut before, mut before_right) = (masked[BORDER][w], to_the_right(&masked[BORDER], w));
    // Where modules differ: from the line above (`differs`), within the last 3 lines and the last
    // 3 lines before those (`within_3`), within the last 5 (`within_5`).
    let (mut differs, mut within_3, mut within_5) = (ones, [ones; 2], ones);
    for line in &masked[BORDER + 1..BORDER + size] {
        let here = line[w];
        let differs_here = here ^ before;
        let within_3_here = differs_here | differs;
        let within_5_here = within_3_here | within_3[1];
        let window = !within_5_here;
        let first = window & within_5;
        let carry = if rows {
            let right = to_the_right(line, w);
            let block = !(differs_here | (right ^ before_right) | (here ^ right));
            before_right = right;
            // 1 for a window, 2 for the first of a run, 1 + 2 for a block.
            let carry = tally.add2(window, block, 0);
            let high = tally.add2(first, block, 1);
            let low = tally.add1(carry, 1);
            tally.add2(high, low, 2)
        } else {
            let carry = tally.add1(window, 0);
            let high = tally.add2(first, carry, 1);
            tally.add1(high, 2)
        };
        tally.ripple(carry, 3, T::PLANES);
        (before, differs, within_5) = (here, differs_here, within_5_here);
        within_3 = [within_3_here, within_3[0]];
    }
    tally.total(T::PLANES)
}

/// Finder-like patterns along the other axis of `lines`, for rule 3.
#[inline(never)]
fn count_finders<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    masked: &Masked<T, L, W, N>,
    size: usize,
    w: usize,
) -> [u32; L] {
    // Planes for the at most 44 that a column of the largest symbol has room for.
    const PLANES: usize = 6;
    let mut tally = Tally::new();
    let x = |i: usize| masked[i][w];
    // Where not all of 4 lines are light, by the last of them; where a pattern ended.
    let mut not_light = [Lanes::all(T::ZERO); N];
    let mut pattern = [Lanes::all(T::ZERO); N];
    for i in BORDER..BORDER + size + BORDER {
        not_light[i] = (x(i) | x(i - 1)) | (x(i - 2) | x(i - 3));
        if i >= BORDER + 6 {
            pattern[i] =
                (x(i) & x(i - 2)) & (x(i - 3) & x(i - 4)) & x(i - 6) & !(x(i - 1) | x(i - 5));
        }
        if i >= BORDER + 10 {
            let found = pattern[i - 4] & !(not_light[i] & not_light[i - 11]);
            tally.ripple(found, 0, PLANES.min(T::PLANES - 4));
        }
    }
    tally.total(PLANES)
}

/// Dark modules, the filler beyond the edge included.
#[inline(never)]
fn count_dark<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    masked: &Masked<T, L, W, N>,
    size: usize,
    w: usize,
) -> [u32; L] {
    const PLANES: usize = 8;
    let mut tally = Tally::new();
    for pair in masked[BORDER..BORDER + size + 1].chunks_exact(2) {
        let carry = tally.add2(pair[0][w], pair[1][w], 0);
        tally.ripple(carry, 1, PLANES.min(T::PLANES - 2));
    }
    tally.total(PLANES)
}

/// Penalties of the masks `L * group ..`.
fn score_group<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    lines: [&Lines<T, W, N>; 2],
    free: &Lines<T, W, N>,
    formats: &Formats,
    size: usize,
    group: usize,
) -> [u32; L] {
    let mut points = [0; L];
    for (turned, lines) in [false, true].into_iter().zip(lines) {
        let masked = mask_lines(lines, free, formats, (turned, group, size));
        let mut dark = [0; L];
        for w in 0..W {
            let runs = score_runs(&masked, !turned, size, w);
            let finders = count_finders(&masked, size, w);
            let dark_here = if turned { [0; L] } else { count_dark(&masked, size, w) };
            for l in 0..L {
                points[l] += runs[l] + 40 * finders[l];
                dark[l] += dark_here[l];
            }
        }
        if !turned {
            let filler = filler_dark::<T, L>(size, W);
            for l in 0..L {
                points[l] += share_points(dark[l] - filler, size);
            }
        }
    }
    points
}

/// Dark modules of the filler beyond the right edge (see `Patterns::dark`).
fn filler_dark<T: Word<L>, const L: usize>(size: usize, words: usize) -> u32 {
    let (width, from) = (words * T::BITS, size);
    let even = (from..width).filter(|x| x % 2 == 0).count();
    let odd = width - from - even;
    (even * size.div_ceil(2) + odd * (size / 2)) as u32
}

/// Rule 4: 10 for each full 5 % between the share of dark modules and 50 %.
fn share_points(dark: u32, size: usize) -> u32 {
    let total = (size * size) as u32;
    (20 * dark).abs_diff(10 * total) / total * 10
}

/// The mask of least penalty; the lowest of several.
pub(super) fn choose_mask<T: Word<L>, const L: usize, const W: usize, const N: usize>(
    rows: &Lines<T, W, N>,
    columns: &Lines<T, W, N>,
    free: &Lines<T, W, N>,
    formats: &Formats,
    size: usize,
) -> u8 {
    let mut best = (u32::MAX, 0);
    for group in 0..8 / L {
        let points: [u32; L] = score_group([rows, columns], free, formats, size, group);
        for (l, &points) in points.iter().enumerate() {
            best = best.min((points, (group * L + l) as u8));
        }
    }
    best.1
}
