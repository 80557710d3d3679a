//! Words of modules under all eight masks, and counters of such words.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use super::mask::{MASKS_16, PERIOD, Period};

/// One word of modules under each of the eight masks, in one register.
pub(super) trait Lanes:
    Copy
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + 'static
{
    /// Proves that the processor has the instructions.
    type Proof: Copy;
    /// A word for each mask, in memory.
    type Words: Copy;
    /// Modules in a word.
    const MODULES: usize;

    /// The masks, by line; lines are columns if `turned`, else rows. `word` counts words of a line.
    fn masks(turned: bool, word: usize) -> &'static [Self::Words; PERIOD];
    fn load(proof: Self::Proof, words: &Self::Words) -> Self;
    /// The same word under each mask; bits of `word` beyond [`Self::MODULES`] are dropped.
    fn all(proof: Self::Proof, word: u32) -> Self;
    /// One word of 16 modules for each mask.
    fn each(proof: Self::Proof, words: &[u16; 8]) -> Self;
    /// The word with its modules moved to higher places by `count`; modules beyond the last place are dropped.
    fn shifted_up(self, count: usize) -> Self;
    /// The word with its modules moved to lower places by `count`; the first `count` are dropped.
    fn shifted_down(self, count: usize) -> Self;
    /// Twice `sum`, with the number of ones of each word.
    fn add_ones(self, sum: Self) -> Self;
    fn to_words(self) -> [u32; 8];
    /// Runs a loop in a function of its own, where its counters stay in registers. Several loops in one
    /// function spill them, which costs a tenth of the encoder's time (measured).
    fn apart<R>(proof: Self::Proof, run: impl FnOnce() -> R) -> R;

    /// The word shifted by one module, so that each place has its neighbour to the right; `next` is
    /// the next word of the line.
    #[inline(always)]
    fn to_the_right(self, next: Self) -> Self {
        self.shifted_down(1) | next.shifted_up(Self::MODULES - 1)
    }
}

/// Words of 16 modules, in 128 bits: x86-64, AArch64 and Wasm all have registers of that size, and the compiler
/// vectorises over the array.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct Narrow([u16; 8]);

impl Narrow {
    #[inline(always)]
    fn map(self, f: impl Fn(u16) -> u16) -> Self {
        Narrow(std::array::from_fn(|l| f(self.0[l])))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u16, u16) -> u16) -> Self {
        Narrow(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }
}

macro_rules! operator {
    ($operator:ident, $method:ident) => {
        impl $operator for Narrow {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| a.$method(b))
            }
        }
    };
}
operator!(BitAnd, bitand);
operator!(BitOr, bitor);
operator!(BitXor, bitxor);

impl Not for Narrow {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self.map(|a| !a)
    }
}

impl Lanes for Narrow {
    type Proof = ();
    type Words = [u16; 8];
    const MODULES: usize = 16;

    #[inline(always)]
    fn masks(turned: bool, word: usize) -> &'static Period<u16> {
        &MASKS_16[usize::from(turned)][word % MASKS_16[0].len()]
    }
    #[inline(always)]
    fn load((): (), words: &[u16; 8]) -> Self {
        Narrow(*words)
    }
    #[inline(always)]
    fn all((): (), word: u32) -> Self {
        Narrow([word as u16; 8])
    }
    #[inline(always)]
    fn each((): (), words: &[u16; 8]) -> Self {
        Narrow(*words)
    }
    #[inline(always)]
    fn shifted_up(self, count: usize) -> Self {
        self.map(|a| a << count)
    }
    #[inline(always)]
    fn shifted_down(self, count: usize) -> Self {
        self.map(|a| a >> count)
    }
    // Summed by pairs, fours, bytes and words (Hacker's Delight, section 5-1): few processors have an
    // instruction for it on these registers.
    #[inline(always)]
    fn add_ones(self, sum: Self) -> Self {
        let ones = self
            .map(|x| x - (x >> 1 & 0x5555))
            .map(|x| (x & 0x3333) + (x >> 2 & 0x3333))
            .map(|x| (x + (x >> 4)) & 0x0f0f)
            .map(|x| (x + (x >> 8)) & 0x1f);
        sum.zip(ones, |sum, ones| 2 * sum + ones)
    }
    #[inline(always)]
    fn to_words(self) -> [u32; 8] {
        self.0.map(u32::from)
    }
    #[inline(never)]
    fn apart<R>((): (), run: impl FnOnce() -> R) -> R {
        run()
    }
}

/// A counter for each place of a word, bit-sliced: plane `k` has bit `k` of every counter. 10 bits are
/// enough for any column.
pub(super) struct Tally<L>([L; 10]);

impl<L: Lanes> Tally<L> {
    #[inline(always)]
    pub(super) fn new(proof: L::Proof) -> Self {
        Tally([L::all(proof, 0); 10])
    }

    /// Adds `carry` to plane `from` and its carries to the planes below `to`.
    #[inline(always)]
    pub(super) fn ripple(&mut self, mut carry: L, from: usize, to: usize) {
        for plane in &mut self.0[from..to] {
            let next = *plane & carry;
            *plane = *plane ^ carry;
            carry = next;
        }
    }

    /// Adds `a` and `b` to `plane`; returns the carry.
    #[inline(always)]
    pub(super) fn add2(&mut self, a: L, b: L, plane: usize) -> L {
        let half = a ^ b;
        let carry = a & b | half & self.0[plane];
        self.0[plane] = half ^ self.0[plane];
        carry
    }

    /// Adds `a` to `plane`; returns the carry.
    #[inline(always)]
    pub(super) fn add1(&mut self, a: L, plane: usize) -> L {
        let carry = self.0[plane] & a;
        self.0[plane] = self.0[plane] ^ a;
        carry
    }

    /// Adds four words to plane 0 and their carries to the planes below `to`.
    #[inline(always)]
    pub(super) fn add4(&mut self, [a, b, c, d]: [L; 4], to: usize) {
        let low = self.add2(a, b, 0);
        let high = self.add2(c, d, 0);
        let carry = self.add2(low, high, 1);
        self.ripple(carry, 2, to);
    }

    /// The sum of the counters of a word by mask, below 2^15.
    #[inline(always)]
    pub(super) fn total(&self, proof: L::Proof, planes: usize) -> [u32; 8] {
        let (mut sum, mut k) = (L::all(proof, 0), planes);
        while k > 0 {
            k -= 1;
            sum = self.0[k].add_ones(sum);
        }
        sum.to_words()
    }
}
