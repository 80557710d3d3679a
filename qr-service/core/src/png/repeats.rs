//! Repetitions within the bytes that change from line to line.
//!
//! [`LineCoder`](super::deflate::LineCoder) writes these bytes as literals. Where modules are wide, most of them repeat
//! bytes further back. Hash tables find the last place of the same bytes. A shortest path over the bytes then chooses
//! between these repetitions and literals; costs follow from how often each symbol was used so far. Zopfli does the
//! same, but in many rounds and on all bytes (J. Alakuijala and L. Vandevenne, 2013).

use std::ops::Range;

use super::deflate::{Counts, MAX_REPEAT, Sink, WINDOW, distance_code, length_code};
use super::huffman::{DISTANCES, LITERALS};
use crate::raster::Layout;

/// Whether repetitions make a picture smaller. Where each byte shows one module or several, they hardly do.
pub(super) const fn are_worth_it(layout: &Layout) -> bool {
    !matches!(layout.scale_px, 0..=4 | 8)
}

/// Lengths of the sequences that are hashed to find places, in bytes.
const KEYS: [u32; 3] = [4, 8, 12];
/// Number of hashes for each length.
const HASHES: usize = 2048;
/// Bytes that are read to hash a sequence.
const READ: usize = 16;

/// The shortest repetition.
const MIN_REPEAT: usize = 3;
/// Repetitions that are up to this many bytes shorter than the longest are tried too.
const SHORTER: usize = 3;
/// Decides which bytes inside a repetition are searched for further repetitions: those whose path is cheaper than the
/// repetition's end by a share of the average cost of a byte, for each byte up to that end. Symbols of up to this many
/// rows use a quarter as the share, larger ones the whole cost: they have so many repetitions that little is lost, and
/// the search takes a third of the time.
const FEW_ROWS: usize = 25;
/// Repetitions begin only in the first bytes in which a module has pixels. From other bytes they save little.
const BYTES_OF_MODULE: usize = 4;

/// Costs are in sixteenths of a bit.
const BIT_SHIFT: u32 = 4;
/// Number of symbols that count as used at the start, so that the first costs are not far off.
const PRIOR: u32 = 256;
/// The cost of a byte that no path reaches.
const NEVER: u32 = u32::MAX;

/// A literal if the distance is 0, else a repetition.
#[derive(Clone, Copy, Default)]
struct Element {
    len_or_byte: u16,
    distance: u16,
}

impl Element {
    fn bytes(self) -> usize {
        if self.distance == 0 { 1 } else { self.len_or_byte.into() }
    }

    fn put(self, sink: &mut impl Sink) {
        match self.distance {
            0 => sink.literal(self.len_or_byte as u8),
            distance => sink.repeat(self.len_or_byte.into(), distance.into()),
        }
    }
}

/// The cheapest path found to a byte: its cost and its last element.
#[derive(Clone, Copy)]
struct Way {
    cost: u32,
    last: Element,
}

/// A byte of the lines: its index in [`History::bytes`], and the position of its last copy in the picture.
#[derive(Clone, Copy)]
struct Source {
    index: u32,
    at: u32,
}

/// A source beyond all lines, which matches no byte.
const NO_SOURCE: Source = Source { index: u32::MAX / 2, at: 0 };

/// The changed lines of a picture, each stored once, and the last places of their sequences.
struct History {
    /// The lines, followed by [`READ`] zeros.
    bytes: Vec<u8>,
    line_len: usize,
    /// Bytes from the first copy of a line to the last.
    copies_len: usize,
    /// By hash: the last place of a sequence of each length.
    sources: Vec<[Source; KEYS.len()]>,
}

/// The current line: the index of its first byte, its position in the picture, and the range to write.
struct ChangedLine {
    index: usize,
    at: usize,
    range: Range<usize>,
}

impl History {
    /// Adds a line; returns its index.
    fn add(&mut self, line: &[u8]) -> usize {
        let index = self.bytes.len() - READ;
        self.bytes.truncate(index);
        self.bytes.extend_from_slice(line);
        self.bytes.extend_from_slice(&[0; READ]);
        index
    }

    /// Stores the place of a byte under the sequences that begin there; returns their former places, that of the
    /// shortest sequence first.
    #[inline(always)]
    fn replace(&mut self, line: &ChangedLine, byte: usize) -> [Source; KEYS.len()] {
        let index = line.index + byte;
        let read = self.bytes[index..].first_chunk::<READ>();
        let word = u128::from_le_bytes(*read.unwrap_or(&[0; READ]));
        let at = (line.at + byte + self.copies_len) as u32;
        std::array::from_fn(|k| {
            let bits = 8 * KEYS[k];
            // The sequence's last 8 bytes and its first up to 8.
            let last = (word << (128 - bits) >> 64) as u64;
            let first = (word as u64) << (64 - bits.min(64));
            let key = last.wrapping_add(first.rotate_right(7));
            let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASHES.ilog2());
            let source = Source { index: index as u32, at };
            std::mem::replace(&mut self.sources[hash as usize][k], source)
        })
    }

    /// Length and distance of the repetition of a source from a byte of the line on; `None` if it is not longer than
    /// `known` bytes.
    #[inline(always)]
    fn repetition(
        &self,
        line: &ChangedLine,
        byte: usize,
        source: Source,
        known: usize,
    ) -> Option<(usize, usize)> {
        let (here, there) = (line.index + byte, source.index as usize);
        let most = (line.range.end - byte).min(MAX_REPEAT);
        if most <= known || self.bytes.get(there + known) != self.bytes.get(here + known) {
            return None;
        }
        let mut len = equal_bytes(&self.bytes[here..here + most], &self.bytes[there..there + most]);
        let mut distance = line.at + byte + self.copies_len - source.at as usize;
        if there < line.index {
            // Use the nearest copy. The repetition must end with that line, because the next line in the picture may
            // not be the next of `bytes`.
            distance -= self.copies_len;
            len = len.min(self.line_len - source.at as usize % self.line_len);
        }
        (len > known && distance <= WINDOW).then_some((len, distance))
    }
}

/// The cost of each symbol.
struct Costs {
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
}

impl Costs {
    /// Costs that follow from how often each symbol was used.
    fn of(counts: &Counts) -> Self {
        let all = |counts: &[u32], prior| log2(4 * (counts.iter().sum::<u32>() + prior));
        let literals = all(&counts.literals, PRIOR);
        let distances = all(&counts.distances, PRIOR / 4);
        Costs {
            literals: counts.literals.map(|count| literals - log2(4 * count + 1)),
            distances: counts.distances.map(|count| distances - log2(4 * count + 1)),
        }
    }

    fn of_length(&self, len: usize) -> u32 {
        let (code, extra_bits) = length_code(len);
        self.literals[usize::from(code)] + (u32::from(extra_bits) << BIT_SHIFT)
    }

    fn of_distance(&self, distance: usize) -> u32 {
        let (code, extra_bits) = distance_code(distance);
        self.distances[code] + (u32::from(extra_bits) << BIT_SHIFT)
    }
}

/// Collects the elements of a picture.
pub(super) struct Repeats {
    elements: Vec<Element>,
    pub(super) counts: Counts,
    costs: Costs,
    history: History,
    /// Bytes of the picture so far.
    at: usize,
    /// By byte of a line: whether repetitions begin there.
    begins: Vec<bool>,
    /// By byte of the current range, from its first on.
    ways: Vec<Way>,
    /// Changed lines so far, the bytes of their ranges, and the cost of these bytes.
    lines: usize,
    bytes: u32,
    spent: u32,
    gain_divisor: u32,
}

impl Repeats {
    pub(super) fn new(layout: &Layout, rows: usize) -> Self {
        let (line_len, scale_px) = (layout.line_len(), layout.scale_px);
        let counts = Counts::new();
        // Pixels of the byte's last module up to the end of the byte.
        let shown_px = |byte| (8 * byte + scale_px - 1 - layout.offset_px % scale_px) % scale_px;
        Repeats {
            elements: Vec::new(),
            costs: Costs::of(&counts),
            counts,
            history: History {
                bytes: vec![0; READ],
                line_len,
                copies_len: (scale_px - 1) * line_len,
                sources: vec![[NO_SOURCE; _]; HASHES],
            },
            at: 0,
            begins: (0..line_len).map(|byte| shown_px(byte) < 8 * BYTES_OF_MODULE).collect(),
            ways: vec![Way { cost: NEVER, last: Element::default() }; line_len + 1],
            lines: 0,
            bytes: 1,
            spent: 4 << BIT_SHIFT,
            gain_divisor: if rows <= FEW_ROWS { 4 } else { 1 },
        }
    }

    /// Describes the elements to `sink`.
    pub(super) fn describe(&self, sink: &mut impl Sink) {
        self.elements.iter().for_each(|element| element.put(sink));
    }

    fn push(&mut self, element: Element) {
        element.put(&mut self.counts);
        self.elements.push(element);
        self.at += element.bytes();
    }

    /// Finds the cheapest path to each byte of a line that may be on the cheapest path to the end of its range.
    fn find_ways(&mut self, line: &ChangedLine) {
        let Range { start, end } = line.range;
        self.ways[..=end - start].fill(Way { cost: NEVER, last: Element::default() });
        self.ways[0].cost = 0;
        // See `FEW_ROWS`.
        let gain = self.spent / self.bytes / self.gain_divisor;
        let (mut furthest, mut least) = (start, NEVER);
        for byte in 0..self.history.line_len {
            let begins = self.begins[byte] || byte == start;
            let sources = if begins { self.history.replace(line, byte) } else { [NO_SOURCE; _] };
            if !line.range.contains(&byte) {
                continue;
            }
            let cost = self.ways[byte - start].cost;
            if byte < furthest && cost.saturating_add((furthest - byte) as u32 * gain) >= least {
                continue;
            }
            self.reach_by_literal(line, byte);
            let len = if begins { self.reach_by_repetitions(line, byte, sources) } else { 1 };
            let cost = self.ways[byte + len - start].cost;
            if byte + len > furthest || byte + len == furthest && cost < least {
                (furthest, least) = (byte + len, cost);
            }
        }
        self.spent += self.ways[end - start].cost;
        self.bytes += (end - start) as u32;
    }

    #[inline(always)]
    fn reach_by_literal(&mut self, line: &ChangedLine, byte: usize) {
        let value = self.history.bytes[line.index + byte];
        let [from, to, ..] = &mut self.ways[byte - line.range.start..] else { return };
        let cost = from.cost + self.costs.literals[usize::from(value)];
        if cost < to.cost {
            *to = Way { cost, last: Element { len_or_byte: value.into(), distance: 0 } };
        }
    }

    /// Tries the repetitions that begin at a byte. Returns the length of the longest; 1 if there is none.
    #[inline(always)]
    fn reach_by_repetitions(
        &mut self,
        line: &ChangedLine,
        byte: usize,
        sources: [Source; KEYS.len()],
    ) -> usize {
        let (mut longest, from) = (MIN_REPEAT - 1, byte - line.range.start);
        // Positions are those of the last copies, as for the lines above.
        let back = |distance: usize| Source {
            index: (line.index + byte).wrapping_sub(distance) as u32,
            at: (line.at + byte + self.history.copies_len).wrapping_sub(distance) as u32,
        };
        let run = if byte > 0 { back(1) } else { NO_SOURCE };
        let [short, middle, long] = sources;
        for source in [run, short, middle, long] {
            let found = self.history.repetition(line, byte, source, longest);
            let Some((len, distance)) = found else { continue };
            let cost = self.ways[from].cost + self.costs.of_distance(distance);
            for len in (longest + 1).max(len.saturating_sub(SHORTER))..=len {
                let (cost, to) = (cost + self.costs.of_length(len), &mut self.ways[from + len]);
                if cost < to.cost {
                    let (len_or_byte, distance) = (len as u16, distance as u16);
                    *to = Way { cost, last: Element { len_or_byte, distance } };
                }
            }
            longest = len;
        }
        if longest < MIN_REPEAT { 1 } else { longest }
    }
}

impl Sink for Repeats {
    fn literal(&mut self, byte: u8) {
        self.push(Element { len_or_byte: byte.into(), distance: 0 });
    }

    fn repeat(&mut self, len: usize, distance: usize) {
        self.push(Element { len_or_byte: len as u16, distance: distance as u16 });
    }

    fn literals(&mut self, line: &[u8], range: Range<usize>) {
        // The more lines were counted, the less a further one changes the costs.
        if self.lines.is_power_of_two() {
            self.costs = Costs::of(&self.counts);
        }
        self.lines += 1;
        let (index, at) = (self.history.add(line), self.at - range.start);
        let mut todo = range.len();
        self.find_ways(&ChangedLine { index, at, range });
        self.at += todo;
        let first = self.elements.len();
        while todo > 0 {
            let element = self.ways[todo].last;
            element.put(&mut self.counts);
            self.elements.push(element);
            todo -= element.bytes();
        }
        self.elements[first..].reverse();
    }
}

/// The binary logarithm in sixteenths, linear between powers of two.
fn log2(x: u32) -> u32 {
    let power = x.ilog2();
    let part = (u64::from(x) << BIT_SHIFT >> power) as u32;
    (power << BIT_SHIFT) + part - (1 << BIT_SHIFT)
}

/// Number of equal bytes at the beginning.
#[inline(always)]
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return 8 * i + differing.trailing_zeros() as usize / 8;
        }
    }
    8 * a.len() + a_rest.iter().zip(b_rest).take_while(|(a, b)| a == b).count()
}
