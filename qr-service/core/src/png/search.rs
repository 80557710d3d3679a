//! The deflate stream of a picture of large modules: repetitions within and between its lines.
//!
//! [`super::deflate::LineCoder`] writes what changes from line to line as literals. Modules of some pixels make
//! most of these bytes equal to bytes before, and there are too many of them to look for repetitions byte by byte:
//! [`Places`] compares modules. Of these repetitions, of the line above, of the byte before and of literals, a
//! shortest path takes what is cheapest for the line, by what elements have cost so far. Lines are never drawn.

use super::checksum::Sums;
use super::costs::BIT;
use super::deflate::{MAX_REPEAT, WINDOW};
use super::elements::Elements;
use super::places::Places;
use super::rows::{ANY, Line, Row, SMALL};
use crate::modules::Modules;
use crate::raster::Layout;

/// Where more is reached, a byte is looked at only if the way to it is cheaper by this, and by half of what the bytes
/// between have cost on average.
const LEAST_GAIN: u32 = 2 * BIT;

/// More than the bytes of a line: a place in an array of such a size needs no check.
const LEN: usize = 4096;

/// The largest modules, in pixels, that [`super::deflate::LineCoder`] is better for: it takes far less time, and most
/// are a byte each.
const SMALL_PX: usize = 8;

/// A picture's stream.
pub(super) struct Stream {
    pub(super) elements: Elements,
    /// The Adler-32 of its lines.
    pub(super) sum: u32,
}

/// Finds the stream of a picture in which light pixels have the bits of `light`: 0 or 0xff; `None` if it has small
/// modules or no light line above them.
pub(super) fn find(modules: Modules<'_>, layout: &Layout, light: u8) -> Option<Stream> {
    if layout.scale_px <= SMALL_PX || layout.offset_px == 0 {
        return None;
    }
    let line = Line::new(modules.width(), layout, light);
    // In a large symbol, sequences must be longer to be found in few places.
    Some(if Row::<SMALL>::has_room(modules.width()) {
        Search::<SMALL, 6, 1, 1024>::new(modules, layout, line).find(modules)
    } else {
        Search::<ANY, 11, 2, 32768>::new(modules, layout, line).find(modules)
    })
}

/// The cheapest way to a byte: its cost, and the last element's length and distance, which is 0 for a literal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way(u64);

impl Way {
    const NONE: Way = Way(u64::MAX);

    #[inline(always)]
    fn new(cost: u32, len: usize, distance: usize) -> Self {
        Way(u64::from(cost) << 32 | (distance << 9 | len) as u64)
    }

    #[inline(always)]
    fn cost(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn len(self) -> usize {
        (self.0 & 0x1ff) as usize
    }

    fn distance(self) -> usize {
        (self.0 as u32 >> 9) as usize
    }
}

struct Search<const W: usize, const KEY: usize, const STEP: usize, const SIZE: usize> {
    elements: Elements,
    places: Places<KEY, STEP, SIZE>,
    sums: Sums,
    line: Line,
    layout: Layout,
    /// The cost so far of all bytes that were searched, and their number.
    spent: u32,
    searched: u32,
    /// Length of the repetition that is not written yet, and its distance: 1 or a line.
    pending: usize,
    pending_distance: usize,
    /// By byte of a line from the first one that is searched; and a bit each, whether it is reached.
    ways: [Way; LEN],
    reached: [u64; LEN / 64],
}

impl<const W: usize, const KEY: usize, const STEP: usize, const SIZE: usize>
    Search<W, KEY, STEP, SIZE>
{
    fn new(modules: Modules<'_>, layout: &Layout, line: Line) -> Self {
        Search {
            elements: Elements::new(modules.height()),
            places: Places::new(&line, layout.scale_px, layout.offset_px * line.len),
            sums: Sums::new(modules.width(), layout, line.light != 0),
            line,
            layout: *layout,
            // About what a module costs.
            spent: 4 * BIT,
            searched: layout.scale_px as u32 / 8 + 1,
            pending: 0,
            pending_distance: 1,
            ways: [Way::NONE; LEN],
            reached: [0; LEN / 64],
        }
    }

    fn find(mut self, modules: Modules<'_>) -> Stream {
        let Layout { size_px, offset_px, symbol_px, .. } = self.layout;
        self.begin(offset_px);
        let mut before = Row::LIGHT;
        for y in 0..modules.height() {
            let row = Row::of(modules, y);
            self.put_row(&row, &before, self.layout.scale_px);
            self.sums.add_row(&modules.words(y), self.layout.scale_px);
            before = row;
        }
        self.end(&before, size_px - offset_px - symbol_px);
        Stream { sum: self.sums.finish(), elements: self.elements }
    }

    /// Begins with `count` light lines.
    fn begin(&mut self, count: usize) {
        self.sums.add_row(&[], count);
        self.elements.literal(0);
        if self.line.light == 0 {
            // Filter types are as light pixels, so all is one repetition of the byte before.
            self.pending = count * self.line.len - 1;
        } else {
            self.elements.literal(self.line.light);
            self.pending = self.line.len - 2;
            self.flush(&Row::LIGHT, &Row::LIGHT, self.line.len);
            self.pending = (count - 1) * self.line.len;
            self.pending_distance = self.line.len;
        }
    }

    /// Ends with `count` light lines after the row `before`.
    fn end(&mut self, before: &Row<W>, count: usize) {
        self.sums.add_row(&[], count);
        if self.line.light == 0 {
            let first = before.dark_columns().map_or(0, |(first, _)| first);
            let start = usize::from(self.line.starts[first]);
            self.pending += start;
            self.flush(before, &Row::LIGHT, start);
            // The byte before this one is light in both lines.
            self.pending = count * self.line.len - start;
            self.pending_distance = 1;
        } else {
            self.put_row(&Row::LIGHT, before, count);
        }
        self.flush(before, &Row::LIGHT, self.line.len);
    }

    /// Writes `count` lines of a row of modules after those of another one, but the rest that is the same.
    fn put_row(&mut self, row: &Row<W>, before: &Row<W>, count: usize) {
        let lines_len = count * self.line.len;
        let differing = row.differing(before);
        let Some((first, last)) = differing.dark_columns() else {
            self.places.begin_row(&self.line);
            self.places.end_row(&self.line, row);
            self.pending += lines_len;
            return;
        };
        let (start, end) = self.line.bytes_of(first, last);
        self.pending += start;
        self.flush(before, row, start);
        self.put_bytes(row, &differing, start, end);
        self.pending = lines_len - end;
        self.pending_distance = self.line.len;
    }

    /// Writes the pending repetition, up to byte `end` of a row's line after that of the row `before`.
    fn flush(&mut self, before: &Row<W>, row: &Row<W>, end: usize) {
        match std::mem::take(&mut self.pending) {
            len @ 0..3 => {
                for back in (1..=len).rev() {
                    let byte = match end.checked_sub(back) {
                        Some(at) => self.line.byte(row, at),
                        None => self.line.byte(before, self.line.len + end - back),
                    };
                    self.elements.literal(byte);
                }
            }
            len => self.elements.repeat_long(len, self.pending_distance),
        }
    }

    /// Writes the bytes of a row's line from `start` to before `end`, by the cheapest elements.
    fn put_bytes(&mut self, row: &Row<W>, differing: &Row<W>, start: usize, end: usize) {
        self.places.begin_row(&self.line);
        self.find_ways(row, differing, start, end);
        self.places.end_row(&self.line, row);
        let (first, mut at) = (self.elements.len(), end);
        while at > start {
            let way = self.ways[at];
            at -= way.len();
            match way.distance() {
                0 => self.elements.literal(self.line.byte(row, at)),
                distance => self.elements.repeat(way.len(), distance),
            }
        }
        self.elements.reverse_from(first);
    }

    /// Finds the cheapest way to each byte of a row's line that may be on the cheapest way from `start` to `end`.
    fn find_ways(&mut self, row: &Row<W>, differing: &Row<W>, start: usize, end: usize) {
        let gain_per_byte = self.spent / 2 / self.searched;
        let Search { elements: Elements { costs, .. }, places, line, ways, reached, .. } = self;
        ways[start..=end].fill(Way::NONE);
        ways[start] = Way(0);
        reached[start / 64..=end / 64].fill(0);
        reached[start / 64] = 1 << (start % 64);
        let (all_literals, all) = costs.all();
        let next = all.wrapping_add(costs.of_distance(1));
        let above = all.wrapping_add(costs.of_distance(line.len));
        let (mut furthest, mut least) = (start, 0);
        let mut word = start / 64;
        loop {
            let bits = reached[word % 64];
            if bits == 0 {
                word += 1;
                continue;
            }
            let at = 64 * word + bits.trailing_zeros() as usize;
            if at >= end {
                break;
            }
            reached[word % 64] = bits & (bits - 1);
            let cost = ways[at % LEN].cost();
            if at < furthest && cost + LEAST_GAIN + (furthest - at) as u32 * gain_per_byte >= least
            {
                continue;
            }
            let byte = line.bytes[at];
            let column = usize::from(byte.column);
            let modules = row.from(column);
            places.pass(line, row, column);
            let mut reach = |to: usize, way: Way| {
                let known = &mut ways[to % LEN];
                *known = (*known).min(way);
                reached[to / 64 % 64] |= 1 << (to % 64);
            };
            let literal = all_literals.wrapping_add(costs.of_literal(line.pixels(modules, byte)));
            reach(at + 1, Way::new(cost + literal, 1, 0));
            let mut most = 1;
            let mut reach_by = |to: usize, cost_there: u32, distance: usize| {
                let to = to.min(end);
                if to >= at + 3 {
                    let len = (to - at).min(MAX_REPEAT);
                    let cost = cost.wrapping_add(cost_there).wrapping_add(costs.of_length(len));
                    reach(at + len, Way::new(cost, len, distance));
                    most = most.max(len);
                }
            };
            // The byte before.
            let before = usize::from(line.bytes[at - 1].column);
            let run = row.from(before);
            let run = (run ^ (run & 1).wrapping_neg()).trailing_zeros() as usize;
            if at > 1 || line.light == 0 {
                reach_by(line.starts[(before + run) % 256].into(), next, 1);
            }
            let same = differing.from(column).trailing_zeros() as usize;
            reach_by(line.starts[(column + same) % 256].into(), above, line.len);
            for place in places.find(line, column, modules) {
                let to = usize::from(line.starts[place.column % 256]).min(place.limit);
                if place.distance <= WINDOW {
                    reach_by(
                        to,
                        all.wrapping_add(costs.of_distance(place.distance)),
                        place.distance,
                    );
                }
            }
            let to = at + most;
            let cost = ways[to % LEN].cost();
            if to > furthest || to == furthest && cost < least {
                (furthest, least) = (to, cost);
            }
        }
        self.spent += ways[end].cost();
        self.searched += (end - start) as u32;
    }
}
