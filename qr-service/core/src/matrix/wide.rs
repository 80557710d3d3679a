//! Words of 32 modules, in 256 bits, for processors that have AVX2 or AVX-512.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use fearless_simd::{Simd, SimdBase, u32x8};

use super::lanes::Lanes;
use super::mask::{MASKS_32, Period};

#[derive(Clone, Copy)]
pub(super) struct Wide<S: Simd>(u32x8<S>);

macro_rules! operator {
    ($operator:ident, $method:ident) => {
        impl<S: Simd> $operator for Wide<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Wide(self.0.$method(other.0))
            }
        }
    };
}
operator!(BitAnd, bitand);
operator!(BitOr, bitor);
operator!(BitXor, bitxor);

impl<S: Simd> Not for Wide<S> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Wide(!self.0)
    }
}

impl<S: Simd> Lanes for Wide<S> {
    type Proof = S;
    type Words = [u32; 8];
    const MODULES: usize = 32;

    #[inline(always)]
    fn masks(turned: bool, word: usize) -> &'static Period<u32> {
        &MASKS_32[usize::from(turned)][word % MASKS_32[0].len()]
    }
    #[inline(always)]
    fn load(simd: S, words: &[u32; 8]) -> Self {
        Wide(u32x8::load_array_ref(simd, words))
    }
    #[inline(always)]
    fn all(simd: S, word: u32) -> Self {
        Wide(u32x8::splat(simd, word))
    }
    #[inline(always)]
    fn each(simd: S, words: &[u16; 8]) -> Self {
        Wide(u32x8::load_array(simd, words.map(u32::from)))
    }
    #[inline(always)]
    fn shifted_up(self, count: usize) -> Self {
        Wide(self.0 << count as u32)
    }
    #[inline(always)]
    fn shifted_down(self, count: usize) -> Self {
        Wide(self.0 >> count as u32)
    }
    // Summed as in `Narrow`.
    #[inline(always)]
    fn add_ones(self, sum: Self) -> Self {
        let x = self.0;
        let x = x - (x >> 1 & 0x5555_5555);
        let x = (x & 0x3333_3333) + (x >> 2 & 0x3333_3333);
        let x = (x + (x >> 4)) & 0x0f0f_0f0f;
        let x = x + (x >> 8);
        let ones = (x + (x >> 16)) & 0x3f;
        Wide(sum.0 + sum.0 + ones)
    }
    #[inline(always)]
    fn to_words(self) -> [u32; 8] {
        self.0.to_array()
    }
    #[inline(never)]
    fn apart<R>(simd: S, run: impl FnOnce() -> R) -> R {
        simd.vectorize(run)
    }
}
