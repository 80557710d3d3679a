//! The shortest deflate stream that is found for a picture in milliseconds.
//!
//! Of all ways to write the lines, a shortest path takes the one with the fewest bits, by what each symbol costs; then
//! the symbols of that way say what each costs, and so on (as Zopfli does, J. Alakuijala and L. Vandevenne, 2013). What
//! takes Zopfli a second is that it looks at every byte of the picture. Here lines that repeat the one above them are
//! one step, so only the bytes of the others are looked at.

use super::deflate::{Counts, MAX_REPEAT, Sink, WINDOW, distance_code, length_code};
use super::huffman::{Codes, DISTANCES, Lengths};

/// Rounds from one guess: as many as look at so many bytes, but not more or fewer than these; and how many of them may
/// be in vain.
const BYTES_LOOKED_AT: usize = 300_000;
const ROUNDS: std::ops::RangeInclusive<usize> = 3..=15;
const VAIN_ROUNDS: usize = 3;
/// Costs are in parts of a bit.
const BIT: f32 = 64.0;
/// The cost of a step that cannot be taken.
const NEVER: u32 = u32::MAX / 4;
/// Places that are compared with one, at most: the nearest.
const MAX_PLACES: usize = 256;
const HASH_BITS: u32 = 12;

/// Lines that are followed by repetitions of the last of them.
struct Part {
    /// Its bytes.
    start: usize,
    end: usize,
    /// Bytes that follow and repeat its last line.
    repeated: usize,
    /// Where its first byte is in the picture.
    at: usize,
}

/// A picture's lines, without those that repeat the one above them.
pub(super) struct Lines {
    line_len: usize,
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

impl Lines {
    pub(super) const fn new(line_len: usize) -> Self {
        Lines { line_len, bytes: Vec::new(), parts: Vec::new() }
    }

    /// Adds a line `count` times: its filter type and its pixels.
    pub(super) fn add(&mut self, filter: u8, pixels: impl Iterator<Item = u8>, count: usize) {
        if count == 0 {
            return;
        }
        let (start, len) = (self.bytes.len(), self.line_len);
        self.bytes.push(filter);
        self.bytes.extend(pixels);
        let (others, line) = self.bytes.split_at(start);
        let last = self.parts.last_mut();
        let repeated = (count - 1) * len;
        match last {
            Some(part) if others.ends_with(line) => {
                part.repeated += count * len;
                self.bytes.truncate(start);
            }
            Some(part) if part.repeated == 0 => {
                (part.end, part.repeated) = (start + len, repeated);
            }
            last => {
                let at = last.map_or(0, |it| it.at + it.end - it.start + it.repeated);
                self.parts.push(Part { start, end: start + len, repeated, at });
            }
        }
    }
}

impl Lines {
    /// How far before a byte the nearest copy of another one is, and up to which length the bytes from there on are
    /// those of the picture. Both are given with the numbers of their parts.
    fn place(&self, (at, of): (usize, usize), (here, number): (usize, usize)) -> (usize, usize) {
        let (source, part) = (&self.parts[of], &self.parts[number]);
        let (copies, end) = if of == number {
            (0, part.end)
        } else if at + self.line_len >= source.end {
            // In the last line: its last copy, and the lines after it.
            (source.repeated, self.parts[of + 1].end)
        } else {
            (0, source.end)
        };
        let distance = part.at + (here - part.start) - (source.at + (at - source.start) + copies);
        (distance, end - at)
    }
}

/// An element of the stream: a literal if there is no distance, else a repetition.
#[derive(Clone, Copy)]
struct Element {
    len_or_byte: u16,
    distance: u16,
}

/// Repetitions of up to `len` bytes may have this distance.
#[derive(Clone, Copy)]
struct Place {
    len: u16,
    distance: u16,
}

/// A stream and its codes.
pub(super) struct Stream {
    elements: Vec<Element>,
    pub(super) codes: Codes,
    bits: usize,
}

impl Stream {
    fn of(elements: Vec<Element>) -> (Self, Counts) {
        let mut counts = Counts::new();
        describe(&elements, &mut counts);
        let lengths = Lengths::of_counts(&counts.literals, &counts.distances);
        let codes =
            [Codes::new(&lengths), Codes::fixed()].map(|codes| (codes.bits_of(&counts), codes));
        let [own, fixed] = codes;
        let (bits, codes) = if fixed.0 < own.0 { fixed } else { own };
        (Stream { elements, codes, bits }, counts)
    }

    /// Writes its elements.
    pub(super) fn describe(&self, sink: &mut impl Sink) {
        describe(&self.elements, sink);
    }
}

fn describe(elements: &[Element], sink: &mut impl Sink) {
    for element in elements {
        match element.distance {
            0 => sink.literal(element.len_or_byte as u8),
            distance => sink.repeat(element.len_or_byte.into(), distance.into()),
        }
    }
}

/// What each symbol costs with its extra bits.
struct Costs {
    literals: [u32; 256],
    lengths: [u32; MAX_REPEAT + 1],
    distances: [u32; DISTANCES],
}

impl Costs {
    /// By the entropy of these counts. A symbol that was not there costs as one that was there once.
    fn of(counts: &Counts) -> Self {
        let logarithm = |count: u32| (count.max(1) as f32).log2();
        let costs = |counts: &[u32]| {
            let all = logarithm(counts.iter().sum());
            let cost = |count: &u32| ((all - logarithm(*count)) * BIT) as u32;
            counts.iter().map(cost).collect::<Vec<_>>()
        };
        Self::of_symbols(&costs(&counts.literals), &costs(&counts.distances))
    }

    /// By the lengths of these codes.
    fn of_codes(codes: &Codes) -> Self {
        let costs =
            |codes: &[u32]| codes.iter().map(|code| (code >> 16) * BIT as u32).collect::<Vec<_>>();
        Self::of_symbols(&costs(&codes.literals), &costs(&codes.distances))
    }

    fn of_symbols(literals: &[u32], distances: &[u32]) -> Self {
        let extra = |bits: u8| u32::from(bits) * BIT as u32;
        let mut costs = Costs {
            literals: [0; 256],
            lengths: [NEVER; MAX_REPEAT + 1],
            distances: [0; DISTANCES],
        };
        costs.literals.copy_from_slice(&literals[..256]);
        for len in 3..=MAX_REPEAT {
            let (code, bits) = length_code(len);
            costs.lengths[len] = literals[usize::from(code)] + extra(bits);
        }
        for (code, cost) in costs.distances.iter_mut().enumerate() {
            // Two codes for each power of two.
            *cost = distances[code] + extra((code / 2).saturating_sub(1) as u8);
        }
        costs
    }
}

/// A long repetition in pieces: how many of the longest, and the two others, or 0.
type Pieces = (usize, [usize; 2]);

/// The cheapest pieces of long repetitions.
struct Long<'a> {
    costs: &'a Costs,
    /// By length, up to two of the longest: the cost without distances, and the first of two pieces.
    known: Vec<Option<(u32, usize)>>,
}

impl<'a> Long<'a> {
    fn new(costs: &'a Costs) -> Self {
        Long { costs, known: vec![None; 2 * MAX_REPEAT + 1] }
    }

    /// The cost of a repetition of any length from 3, and its pieces.
    fn pieces(&mut self, len: usize, distance: u32) -> (u32, Pieces) {
        let longest = len.saturating_sub(MAX_REPEAT + 1) / MAX_REPEAT;
        let rest = len - longest * MAX_REPEAT;
        let lengths = &self.costs.lengths;
        let (cost, first) = *self.known[rest].get_or_insert_with(|| {
            if rest <= MAX_REPEAT {
                return (lengths[rest], rest);
            }
            let firsts = rest - MAX_REPEAT..=rest / 2;
            let costs = firsts
                .filter(|first| *first >= 3)
                .map(|first| (lengths[first] + lengths[rest - first], first));
            costs.min().unwrap_or((NEVER, rest))
        });
        let count = longest + if first < rest { 2 } else { 1 };
        let cost = cost + longest as u32 * lengths[MAX_REPEAT] + count as u32 * distance;
        (cost, (longest, [first, rest - first]))
    }
}

/// The last step of the cheapest way to a state.
#[derive(Clone, Copy)]
struct Step {
    cost: u32,
    from: u32,
    /// The repetition's length, or 0 for a literal.
    len: u32,
    distance: u16,
}

/// A picture's lines, and where their bytes stood before.
pub(super) struct Search {
    lines: Lines,
    /// By byte: where its places end.
    ends: Vec<u32>,
    places: Vec<Place>,
}

impl Search {
    /// `scale_px` is the pixels of a module.
    pub(super) fn new(lines: Lines, scale_px: usize) -> Self {
        let mut search = Search { ends: Vec::new(), places: Vec::new(), lines };
        // Shorter repetitions than of some modules gain nothing.
        search.find_places((scale_px * 3 / 4).clamp(3, 8));
        search
    }

    /// Finds for each byte the nearest places of each length, but those shorter than `least`: of these, only the byte
    /// before.
    fn find_places(&mut self, least: usize) {
        let Lines { bytes, parts, .. } = &self.lines;
        let mut heads = vec![u32::MAX; 1 << HASH_BITS];
        let mut before = vec![u32::MAX; bytes.len()];
        for (number, part) in parts.iter().enumerate() {
            for here in part.start..part.end {
                let most = MAX_REPEAT.min(part.end - here);
                let rest = &bytes[here..here + most];
                let mut best = 2;
                let mut add = |place: usize, limit: usize, distance: usize| {
                    let limit = limit.min(most);
                    if limit <= best || bytes[place + best] != rest[best] {
                        return best;
                    }
                    let len = equal(&bytes[place..place + limit], rest);
                    if len > best {
                        best = len;
                        self.places.push(Place { len: len as u16, distance: distance as u16 });
                    }
                    best
                };
                if here > 0 {
                    add(here - 1, most, 1);
                }
                let head = (bytes.len() - here >= least).then(|| hash(&bytes[here..here + least]));
                if let Some(head) = head {
                    let mut place = heads[head];
                    let mut of = number;
                    for _ in 0..MAX_PLACES {
                        if place == u32::MAX {
                            break;
                        }
                        let at = place as usize;
                        while at < parts[of].start {
                            of -= 1;
                        }
                        let (distance, limit) = self.lines.place((at, of), (here, number));
                        if distance > WINDOW || add(at, limit, distance) == most {
                            break;
                        }
                        place = before[at];
                    }
                    before[here] = heads[head];
                    heads[head] = here as u32;
                }
                self.ends.push(self.places.len() as u32);
            }
        }
    }

    /// The shortest stream that is found, of those that begin with what these counts say.
    pub(super) fn find(&self, counts: &Counts) -> Stream {
        let rounds =
            (BYTES_LOOKED_AT / self.lines.bytes.len()).clamp(*ROUNDS.start(), *ROUNDS.end());
        // Each of the two leads to the better stream for some pictures. The first may be the best as it is.
        let guesses = [Costs::of_codes(&Codes::fixed()), Costs::of(counts)];
        let (mut best, _) = Stream::of(self.cheapest(&guesses[0]));
        for mut costs in guesses {
            let mut vain = 0;
            for _ in 0..rounds {
                let (stream, counts) = Stream::of(self.cheapest(&costs));
                costs = Costs::of(&counts);
                vain += 1;
                if stream.bits < best.bits {
                    (best, vain) = (stream, 0);
                }
                if vain == VAIN_ROUNDS {
                    break;
                }
            }
        }
        best
    }

    /// The cheapest elements of the picture.
    fn cheapest(&self, costs: &Costs) -> Vec<Element> {
        let Lines { bytes, parts, line_len } = &self.lines;
        let mut long = Long::new(costs);
        let (line_code, _) = distance_code(*line_len);
        let above = costs.distances[line_code];
        // A part has a state before each of its bytes, and one after the last of them.
        let none = Step { cost: NEVER, from: 0, len: 0, distance: 0 };
        let mut steps = vec![none; bytes.len() + parts.len() + 1];
        steps[0].cost = 0;
        let is_as_above = |at: usize| at >= *line_len && bytes[at] == bytes[at - line_len];
        let mut first_place = 0;
        for (number, part) in parts.iter().enumerate() {
            for (here, byte) in (part.start..).zip(&bytes[part.start..part.end]) {
                let from = (here + number) as u32;
                let cost = steps[from as usize].cost;
                let places = &self.places[first_place..self.ends[here] as usize];
                first_place = self.ends[here] as usize;
                if cost >= NEVER {
                    continue;
                }
                let ways = &mut steps[from as usize + 1..];
                let mut take = |len: usize, cost: u32, distance: u16| {
                    if cost < ways[len.max(1) - 1].cost {
                        ways[len.max(1) - 1] = Step { cost, from, len: len as u32, distance };
                    }
                };
                take(0, cost + costs.literals[usize::from(*byte)], 0);
                let mut len = 3;
                for place in places {
                    let cost = cost + costs.distances[distance_code(place.distance.into()).0];
                    while len <= usize::from(place.len) {
                        take(len, cost + costs.lengths[len], place.distance);
                        len += 1;
                    }
                }
                let most = MAX_REPEAT.min(part.end - here);
                let len = (here..here + most).take_while(|at| is_as_above(*at)).count();
                for len in 3..=len {
                    take(len, cost + above + costs.lengths[len], *line_len as u16);
                }
            }
            self.go_on(number, costs, &mut long, &mut steps);
        }
        self.elements(&steps, &mut long)
    }

    /// The ways from a part to the next one. The repetitions of its last line begin where the line is as the one above
    /// it, or later, and go on to where the next line differs, or less far.
    fn go_on(&self, number: usize, costs: &Costs, long: &mut Long<'_>, steps: &mut [Step]) {
        let Lines { bytes, parts, line_len } = &self.lines;
        let part = &parts[number];
        let end = part.end + number;
        if part.repeated == 0 {
            steps[end + 1] = Step { from: end as u32, ..steps[end] };
            return;
        }
        let next = parts.get(number + 1).map_or(0..0, |next| next.start..next.end);
        let line = &bytes[part.end - line_len..part.end];
        let is_even = line.iter().all(|byte| *byte == line[0]);
        let distances = [Some(*line_len), is_even.then_some(1)];
        for distance in distances.into_iter().flatten() {
            let is_same = |at: &usize| *at >= distance && bytes[*at] == bytes[*at - distance];
            let after = next.clone().take(MAX_REPEAT).take_while(is_same).count();
            let earlier = (part.start..part.end).rev().take(MAX_REPEAT).take_while(is_same).count();
            let of_distance = costs.distances[distance_code(distance).0];
            for earlier in 0..=earlier {
                let cost = steps[end - earlier].cost;
                for after in 0..=after {
                    let len = earlier + part.repeated + after;
                    let cost = cost.saturating_add(long.pieces(len, of_distance).0);
                    let way = &mut steps[end + 1 + after];
                    if cost < way.cost {
                        let (from, distance) = ((end - earlier) as u32, distance as u16);
                        *way = Step { cost, from, len: len as u32, distance };
                    }
                }
            }
        }
    }

    /// The elements on the way to the last state.
    fn elements(&self, steps: &[Step], long: &mut Long<'_>) -> Vec<Element> {
        let Lines { bytes, parts, .. } = &self.lines;
        let mut elements = Vec::new();
        let (mut state, mut part) = (steps.len() - 1, parts.len());
        if parts.last().is_some_and(|part| part.repeated == 0) {
            (state, part) = (state - 1, part - 1);
        }
        while state > 0 {
            let Step { from, len, distance, .. } = steps[state];
            state = from as usize;
            while parts.get(part).is_none_or(|it| state < it.start + part) {
                part -= 1;
            }
            let mut repeat =
                |len: usize| elements.push(Element { len_or_byte: len as u16, distance });
            match len as usize {
                0 => {
                    elements.push(Element { len_or_byte: bytes[state - part].into(), distance: 0 })
                }
                len @ ..=MAX_REPEAT => repeat(len),
                len => {
                    let (_, (longest, others)) = long.pieces(len, 0);
                    others.into_iter().filter(|len| *len > 0).for_each(&mut repeat);
                    (0..longest).for_each(|_| repeat(MAX_REPEAT));
                }
            }
        }
        elements.reverse();
        elements
    }
}

/// How many bytes are equal before the first that differs.
fn equal(some: &[u8], others: &[u8]) -> usize {
    let words = some.as_chunks::<8>().0.iter().zip(others.as_chunks::<8>().0);
    let words = words.take_while(|(some, others)| some == others).count();
    let rest = some[8 * words..].iter().zip(&others[8 * words..]);
    8 * words + rest.take_while(|(some, others)| some == others).count()
}

fn hash(bytes: &[u8]) -> usize {
    let word = bytes.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS)) as usize
}
