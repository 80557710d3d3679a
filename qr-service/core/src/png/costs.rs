//! What the elements of a stream will cost, learnt while it is made.

use super::deflate::{Counts, MAX_REPEAT, distance_code, length_code, lengths_of_code};
use super::elements::pieces;
use super::huffman::{DISTANCES, LITERALS};
use super::ways::LengthCosts;

/// Costs are in sixteenths of a bit.
pub(super) const BIT: u32 = 16;

/// What is guessed before anything is counted.
static GUESSES: Counts = {
    let mut guesses = Counts { literals: [1; LITERALS], distances: [2; DISTANCES] };
    guesses.literals[0] = 8;
    guesses.literals[255] = 8;
    let mut length = 257;
    while length < 276 {
        guesses.literals[length] = 3;
        length += 1;
    }
    guesses.distances[0] = 16;
    guesses
};

/// What everything costs by the guesses.
static GUESSED: Costs = {
    let mut costs = Costs {
        counts: Counts { literals: [0; LITERALS], distances: [0; DISTANCES] },
        sums: [0; 2],
        literals: [0; LITERALS],
        distances: [0; DISTANCES],
        lengths: LengthCosts::new(),
    };
    let mut i = 0;
    while i < LITERALS {
        costs.literals[i] = log(GUESSES.literals[i]);
        costs.sums[0] += GUESSES.literals[i];
        i += 1;
    }
    i = 0;
    while i < DISTANCES {
        costs.distances[i] = log(GUESSES.distances[i]);
        costs.sums[1] += GUESSES.distances[i];
        i += 1;
    }
    i = 3;
    while i <= MAX_REPEAT {
        costs.lengths.set(i, costs.length_by_code(i));
        i += 1;
    }
    costs
};

/// The costs of literals, lengths and distances: the entropy of each symbol by the counts so far. It is the logarithm
/// of how many symbols there are for one of these, so that of all is added once for each way.
#[derive(Clone)]
pub(super) struct Costs {
    counts: Counts,
    /// Symbols with the guesses: literals and lengths, and distances.
    sums: [u32; 2],
    /// The logarithms of the counts with the guesses.
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
    /// What a length adds to a way.
    lengths: LengthCosts,
}

/// The binary logarithm in sixteenths: the exponent of a floating-point number and the first four bits of its fraction
/// are nearly that, but for a constant, which the logarithm of a sum has too.
#[inline(always)]
const fn log(count: u32) -> u32 {
    (count as f32).to_bits() >> 19
}

impl Costs {
    /// Begins with guesses.
    pub(super) fn new() -> Self {
        GUESSED.clone()
    }

    #[inline(always)]
    fn count_symbol(&mut self, symbol: usize, count: u32) {
        let counted = &mut self.counts.literals[symbol];
        *counted += count;
        self.literals[symbol] = log(*counted + GUESSES.literals[symbol]);
        self.sums[0] += count;
    }

    #[inline(always)]
    pub(super) fn count_literal(&mut self, byte: u8) {
        self.count_symbol(usize::from(byte), 1);
    }

    /// Counts a repetition of 3 to 258 bytes.
    #[inline(always)]
    pub(super) fn count_repeat(&mut self, len: usize, distance: usize, count: u32) {
        self.count_symbol(usize::from(length_code(len).0), count);
        let cost = self.length_by_code(len);
        lengths_of_code(len).for_each(|len| self.lengths.set(len, cost));
        let (code, _) = distance_code(distance);
        let counted = &mut self.counts.distances[code];
        *counted += count;
        self.distances[code] = log(*counted + GUESSES.distances[code]);
        self.sums[1] += count;
    }

    const fn length_by_code(&self, len: usize) -> u32 {
        let (code, extra_bits) = length_code(len);
        (BIT * extra_bits as u32).wrapping_sub(self.literals[code as usize])
    }

    /// What to add to the cost of a literal, and to those of a length and a distance.
    pub(super) fn all(&self) -> (u32, u32) {
        let [literals, distances] = self.sums.map(log);
        (literals, literals + distances)
    }

    #[inline(always)]
    pub(super) fn of_literal(&self, byte: u8) -> u32 {
        self.literals[usize::from(byte)].wrapping_neg()
    }

    #[inline(always)]
    pub(super) fn lengths(&self) -> &LengthCosts {
        &self.lengths
    }

    /// The cost of a repetition of any length, but for its longest pieces.
    pub(super) fn of_long(&self, len: usize, distance: usize) -> u32 {
        if len < 3 {
            // Literals, which cost about as much as all have.
            return len as u32 * 4 * BIT;
        }
        let (_, others) = pieces(len);
        let each = self.all().1.wrapping_add(self.of_distance(distance));
        let lengths = others.into_iter().filter(|len| *len > 0);
        lengths.map(|len| each.wrapping_add(self.length_by_code(len))).sum()
    }

    #[inline(always)]
    pub(super) fn of_distance(&self, distance: usize) -> u32 {
        let (code, extra_bits) = distance_code(distance);
        (BIT * u32::from(extra_bits)).wrapping_sub(self.distances[code])
    }

    /// What was counted, and the end of the block.
    pub(super) fn counted(&self) -> Counts {
        let mut counts = self.counts.clone();
        counts.count_end();
        counts
    }
}
