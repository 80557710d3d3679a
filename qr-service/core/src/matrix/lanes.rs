//! A word of modules under all eight masks, and counters of such words.

use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Modules in a word.
pub(super) const LANE_BITS: usize = 16;

/// One word under each of the eight masks, in 128 bits: x86-64, AArch64 and Wasm all have registers of
/// that size, and the compiler vectorises over the array.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct Lanes(pub(super) [u16; 8]);

impl Lanes {
    /// A word of light modules.
    pub(super) const LIGHT: Self = Lanes([0; 8]);

    #[inline(always)]
    pub(super) fn all(word: u16) -> Self {
        Lanes([word; 8])
    }

    /// The word shifted by one module, so that each place has its neighbour to the right; `next` is
    /// the next word of the line.
    #[inline(always)]
    pub(super) fn to_the_right(self, next: Lanes) -> Self {
        self.zip(next, |a, b| a >> 1 | b << (LANE_BITS - 1))
    }

    /// The word with its modules `count` places further on; those beyond the last are lost.
    #[inline(always)]
    pub(super) fn shifted_up(self, count: usize) -> Self {
        self.map(|a| a << count)
    }

    /// The word with its modules `count` places further down; the first `count` are lost.
    #[inline(always)]
    pub(super) fn shifted_down(self, count: usize) -> Self {
        self.map(|a| a >> count)
    }

    /// Module `at` alone.
    #[inline(always)]
    pub(super) fn bit(self, at: usize) -> Self {
        self.map(|a| a & (1 << at))
    }

    /// The number of ones by mask, summed by pairs, fours, bytes and words (Hacker's Delight, section
    /// 5-1): few processors have an instruction for it on these registers.
    #[inline(always)]
    fn ones(self) -> Self {
        self.map(|x| x - (x >> 1 & 0x5555))
            .map(|x| (x & 0x3333) + (x >> 2 & 0x3333))
            .map(|x| (x + (x >> 4)) & 0x0f0f)
            .map(|x| (x + (x >> 8)) & 0x1f)
    }

    #[inline(always)]
    fn map(self, f: impl Fn(u16) -> u16) -> Self {
        Lanes(std::array::from_fn(|l| f(self.0[l])))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u16, u16) -> u16) -> Self {
        Lanes(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }
}

macro_rules! lane_operator {
    ($operator:ident, $method:ident) => {
        impl $operator for Lanes {
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

impl Not for Lanes {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self.map(|a| !a)
    }
}

/// A counter for each place of a word, bit-sliced: plane `k` has bit `k` of every counter. 10 bits are
/// enough for any column.
pub(super) struct Tally([Lanes; 10]);

impl Tally {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Tally([Lanes::LIGHT; 10])
    }

    /// Adds `carry` to plane `from` and its carries to the planes below `to`.
    #[inline(always)]
    pub(super) fn ripple(&mut self, mut carry: Lanes, from: usize, to: usize) {
        for plane in &mut self.0[from..to] {
            let next = *plane & carry;
            *plane = *plane ^ carry;
            carry = next;
        }
    }

    /// Adds `a` and `b` to `plane`; returns the carry.
    #[inline(always)]
    pub(super) fn add2(&mut self, a: Lanes, b: Lanes, plane: usize) -> Lanes {
        let half = a ^ b;
        let carry = a & b | half & self.0[plane];
        self.0[plane] = half ^ self.0[plane];
        carry
    }

    /// Adds `a` to `plane`; returns the carry.
    #[inline(always)]
    pub(super) fn add1(&mut self, a: Lanes, plane: usize) -> Lanes {
        let carry = self.0[plane] & a;
        self.0[plane] = self.0[plane] ^ a;
        carry
    }

    /// Adds four words to plane 0 and their carries to the planes below `to`.
    #[inline(always)]
    pub(super) fn add4(&mut self, [a, b, c, d]: [Lanes; 4], to: usize) {
        let low = self.add2(a, b, 0);
        let high = self.add2(c, d, 0);
        let carry = self.add2(low, high, 1);
        self.ripple(carry, 2, to);
    }

    /// The sum of all 16 counters by mask, below 2^14.
    #[inline(always)]
    pub(super) fn total(&self, planes: usize) -> [u16; 8] {
        let (mut sum, mut k) = (Lanes::LIGHT, planes);
        while k > 0 {
            k -= 1;
            sum = sum.zip(self.0[k].ones(), |sum, ones| 2 * sum + ones);
        }
        sum.0
    }
}
