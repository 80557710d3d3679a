//! The cheapest ways to the bytes of a line.

#[cfg(target_arch = "x86_64")]
use fearless_simd::{Simd, SimdBase, i32x8};

use super::deflate::MAX_REPEAT;

/// An element on a way: its length in bytes, and its kind, 0 to 7.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) len: usize,
    pub(super) kind: usize,
}

/// A repetition of any length: the last byte that may be reached by it, its cost besides that of the length, and its kind.
pub(super) type Repetition = (usize, u32, usize);

/// Where the cost is in a way, and the length. The kind is below it.
const COST_AT: u32 = 12;
const LEN_AT: u32 = 3;

/// Ways that are compared together.
const TOGETHER: usize = 8;

/// Bytes from one on that its ways may be stored in: the longest repetition, and those that are compared together.
const REACHED: usize = MAX_REPEAT + 1 + TOGETHER;

/// The dearest way.
const NONE: i32 = i32::MAX;

/// The cheapest ways to the bytes of a line: each has its cost and its last element in one number, so that the smaller
/// one is the cheaper one.
pub(super) struct Ways {
    /// By byte, the cheapest way by a repetition.
    repetitions: Vec<i32>,
    /// By byte that was looked at, the cheapest of all ways.
    settled: Vec<i32>,
}

/// By length: its cost, and the length itself, as [`Ways`] has them.
#[derive(Clone)]
pub(super) struct LengthCosts {
    costs: [i32; REACHED],
}

impl LengthCosts {
    pub(super) const fn new() -> Self {
        LengthCosts { costs: [0; REACHED] }
    }

    pub(super) const fn set(&mut self, len: usize, cost: u32) {
        self.costs[len] = (cost << COST_AT) as i32 + (len << LEN_AT) as i32;
    }
}

/// What compares ways.
pub(super) trait Registers: Copy {
    /// Replaces those of the `ways` that cost more than `base` and these `costs`, if they are not hidden.
    fn reach(self, ways: &mut Together, base: i32, costs: &Together, hidden: &Together);
}

/// Numbers that are compared at once.
type Together = [i32; TOGETHER];

/// The registers that every processor has.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Registers for Plain {
    #[inline(always)]
    fn reach(self, ways: &mut Together, base: i32, costs: &Together, hidden: &Together) {
        for i in 0..TOGETHER {
            ways[i] = ways[i].min(base.wrapping_add(costs[i]) | hidden[i]);
        }
    }
}

/// Registers of 256 bits.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Wide<S>(pub(super) S);

#[cfg(target_arch = "x86_64")]
impl<S: Simd> Registers for Wide<S> {
    #[inline(always)]
    fn reach(self, ways: &mut Together, base: i32, costs: &Together, hidden: &Together) {
        let [before, costs, hidden] = [&*ways, costs, hidden].map(
            #[inline(always)]
            |numbers| i32x8::load_array_ref(self.0, numbers),
        );
        let there = (costs + i32x8::splat(self.0, base)) | hidden;
        before.min(there).store_array(ways);
    }
}

/// Hides as many of the ways that are compared together as its place says, from the last one on.
static HIDDEN: [Together; TOGETHER] = {
    let mut hidden = [[0; TOGETHER]; TOGETHER];
    let mut count = 0;
    while count < TOGETHER {
        let mut i = TOGETHER - count;
        while i < TOGETHER {
            hidden[count][i] = NONE;
            i += 1;
        }
        count += 1;
    }
    hidden
};

/// The way by a literal from a byte on; `cost` is that of the literal too.
#[inline(always)]
pub(super) fn by_literal(cost: u32, kind: usize) -> i32 {
    (cost << COST_AT) as i32 | (1 << LEN_AT | kind) as i32
}

impl Ways {
    /// No way, and the way to the first byte.
    pub(super) const NONE: i32 = NONE;
    pub(super) const START: i32 = 0;

    pub(super) fn new(line_len: usize) -> Self {
        Ways { repetitions: vec![NONE; line_len + REACHED], settled: vec![NONE; line_len + 1] }
    }

    /// Forgets all ways from a byte on.
    pub(super) fn begin(&mut self, start: usize) {
        self.repetitions[start..].fill(NONE);
    }

    /// The cost of the cheapest way to a byte: by a repetition, or the one given.
    #[inline(always)]
    pub(super) fn cost_to(&self, at: usize, other: i32) -> u32 {
        self.repetitions[at].min(other) as u32 >> COST_AT
    }

    /// The same, and the way is kept.
    #[inline(always)]
    pub(super) fn settle(&mut self, at: usize, other: i32) -> u32 {
        let way = self.repetitions[at].min(other);
        self.settled[at] = way;
        way as u32 >> COST_AT
    }

    /// Whether this is the cost of no way.
    #[inline(always)]
    pub(super) const fn is_none(cost: u32) -> bool {
        cost == NONE as u32 >> COST_AT
    }

    /// The cost of the way to a byte; `None` if nothing reaches it.
    pub(super) fn cost(&self, at: usize) -> Option<u32> {
        Some(self.settled[at]).filter(|way| *way != NONE).map(|way| way as u32 >> COST_AT)
    }

    /// The last element on the way to a byte.
    pub(super) fn last(&self, at: usize) -> Way {
        let way = self.settled[at] as usize;
        Way { len: way >> LEN_AT & 0x1ff, kind: way & 7 }
    }

    /// Ways by a repetition from a byte on, the cost to which is known, to bytes after `known`, the last one that cheaper
    /// repetitions reach. Returns the last one that is reached now.
    #[inline(always)]
    pub(super) fn reach_on<R: Registers>(
        &mut self,
        registers: R,
        (at, cost): (usize, u32),
        known: usize,
        (to, cost_there, kind): Repetition,
        costs: &LengthCosts,
    ) -> usize {
        let to = to.min(at + MAX_REPEAT);
        if to <= known {
            return known;
        }
        let base = ((cost + cost_there) << COST_AT) as i32 | kind as i32;
        let Some(ways) = self.repetitions[at..].first_chunk_mut::<REACHED>() else { return known };
        let (mut len, end) = (known + 1 - at, to + 1 - at);
        while len < end {
            let hidden = &HIDDEN[(len + TOGETHER).saturating_sub(end) % TOGETHER];
            let costs = costs.costs.get(len..).and_then(|costs| costs.first_chunk());
            let ways = ways.get_mut(len..).and_then(|ways| ways.first_chunk_mut());
            if let (Some(ways), Some(costs)) = (ways, costs) {
                registers.reach(ways, base, costs, hidden);
            }
            len += TOGETHER;
        }
        to
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use fearless_simd::Level;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn registers_of_all_widths_find_the_same_ways(
            repetitions in proptest::collection::vec((0..300_usize, 0..400_u32, 3..400_usize, 1..8_usize), 1..40),
            costs in proptest::collection::vec(0..4000_u32, MAX_REPEAT + 1),
        ) {
            let mut of_lengths = LengthCosts::new();
            costs.iter().enumerate().for_each(|(len, cost)| of_lengths.set(len, *cost));
            let [mut plain, mut wide] = [Ways::new(700), Ways::new(700)];
            for &(at, cost, len, kind) in &repetitions {
                let (from, repetition) = ((at, cost), (at + len, 7, kind));
                let reached = plain.reach_on(Plain, from, at + 2, repetition, &of_lengths);
                prop_assert_eq!(reached, at + len.min(MAX_REPEAT));
                if let Some(avx2) = Level::new().as_avx2() {
                    wide.reach_on(Wide(avx2), from, at + 2, repetition, &of_lengths);
                    prop_assert!(plain.repetitions == wide.repetitions);
                }
            }
            // The same, one by one.
            let mut expected = vec![NONE; plain.repetitions.len()];
            for (at, cost, len, kind) in repetitions {
                for len in 3..=len.min(MAX_REPEAT) {
                    let way = ((cost + 7 + costs[len]) << COST_AT) as i32 | (len << LEN_AT | kind) as i32;
                    expected[at + len] = expected[at + len].min(way);
                }
            }
            prop_assert!(plain.repetitions == expected);
        }
    }
}
