//! The deflate stream of a picture of large modules: repetitions within and between its lines.
//!
//! [`super::deflate::LineCoder`] writes what changes from line to line as literals. Modules of five pixels and more make
//! most of these bytes equal to bytes before, and there are too many of them to look for repetitions byte by byte:
//! [`Places`] compares modules. Of these repetitions, of the line above, of the byte before and of literals, a
//! shortest path takes what is cheapest for the line, by what elements have cost so far. Lines are never drawn.

#[cfg(target_arch = "x86_64")]
use fearless_simd::{Level, Simd};

use super::checksum::Sums;
use super::costs::BIT;
use super::deflate::WINDOW;
use super::elements::Elements;
use super::places::{KEYS, Places};
use super::rows::{ANY, Line, Row, SMALL};
#[cfg(target_arch = "x86_64")]
use super::ways::Wide;
use super::ways::{Plain, Registers, Repetition, Way, Ways, by_literal};
use crate::modules::Modules;
use crate::raster::Layout;

/// Whether [`super::deflate::LineCoder`] takes far less time for rows of so many modules of so many pixels, and makes
/// about as few bytes.
///
/// Where a byte is a module, or has few, and rows are short, few sequences are longer than the elements that would repeat
/// them. In long rows of bytes as good as random they gain: of two kinds of bytes, one has a code of two bits.
const fn is_for_line_coder(width: usize, scale_px: usize) -> bool {
    match scale_px {
        0..=2 | 4 => true,
        // From version 19 and 15 on.
        3 => width < 93,
        8 => width < 77,
        _ => false,
    }
}

/// A picture's stream.
pub(super) struct Stream {
    pub(super) elements: Elements,
    /// The Adler-32 of its lines.
    pub(super) sum: u32,
}

/// Finds the stream of a picture in which light pixels have the bits of `light`: 0 or 0xff; `None` if it
/// [`is_for_line_coder`] or has no light line above its modules.
pub(super) fn find(modules: Modules<'_>, layout: &Layout, light: u8) -> Option<Stream> {
    if is_for_line_coder(modules.width(), layout.scale_px) || layout.offset_px == 0 {
        return None;
    }
    let line = Line::new(modules.width(), layout, light);
    Some(if Row::<SMALL>::has_room(modules.width()) {
        Search::<SMALL>::new(modules, layout, line).find(modules)
    } else {
        Search::<ANY>::new(modules, layout, line).find(modules)
    })
}

/// The kinds of elements on a way. Those from the last one on are repetitions of the places of their column.
const LITERAL: usize = 0;
const NEXT: usize = 1;
const ABOVE: usize = 2;
const FIRST_PLACE: usize = 3;

/// The repetitions that may begin in a column, each of which reaches more than the one before: the byte that it
/// reaches, what it costs besides its length, and its kind.
struct Repetitions {
    column: usize,
    all: [Repetition; KEYS + 1],
    count: usize,
}

impl Repetitions {
    const NONE: Self = Repetitions { column: usize::MAX, all: [(0, 0, 0); KEYS + 1], count: 0 };

    /// Adds one, if it reaches more than those before.
    #[inline(always)]
    fn add(&mut self, reach: usize, cost: u32, kind: usize) {
        if self.count == 0 || reach > self.all[self.count - 1].0 {
            self.all[self.count] = (reach, cost, kind);
            self.count += 1;
        }
    }
}

struct Search<const W: usize> {
    elements: Elements,
    places: Places,
    sums: Sums,
    line: Line,
    layout: Layout,
    /// Length of the repetition that is not written yet, and its distance: 1 or a line.
    pending: usize,
    pending_distance: usize,
    ways: Ways,
    /// By column: the distances of its places.
    distances: [[u32; KEYS]; 256],
    /// The cost so far of all bytes that were searched, and their number.
    spent: u32,
    searched: u32,
}

impl<const W: usize> Search<W> {
    fn new(modules: Modules<'_>, layout: &Layout, line: Line) -> Self {
        Search {
            elements: Elements::new(modules.height()),
            places: Places::new(&line, layout.scale_px, layout.offset_px * line.len),
            sums: Sums::new(modules.width(), layout, line.light != 0),
            ways: Ways::new(line.len),
            line,
            layout: *layout,
            pending: 0,
            pending_distance: 1,
            distances: [[0; KEYS]; 256],
            // About what a module costs.
            spent: 4 * BIT,
            searched: layout.scale_px as u32 / 8 + 1,
        }
    }

    fn find(mut self, modules: Modules<'_>) -> Stream {
        let Layout { size_px, offset_px, symbol_px, scale_px } = self.layout;
        self.begin(offset_px);
        let (mut before, mut y) = (Row::LIGHT, 0);
        while y < modules.height() {
            let row = Row::of(modules, y);
            let mut rows = (y + 1..modules.height()).map(|y| Row::of(modules, y));
            // There is one after the last one too, which is light.
            let equal = rows.by_ref().take_while(|next| *next == row).count();
            let count = 1 + equal;
            let next = match y + count < modules.height() {
                true => Row::of(modules, y + count),
                false => Row::LIGHT,
            };
            self.put_lines(&row, &before, &next, count * scale_px);
            for _ in 1..count {
                self.places.begin_row(&self.line);
                self.places.end_row(&self.line, &row);
            }
            self.sums.add_row(&modules.words(y), count * scale_px);
            (before, y) = (row, y + count);
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
            self.put_lines(&Row::LIGHT, before, &Row::LIGHT, count);
        }
        self.flush(before, &Row::LIGHT, self.line.len);
    }

    /// Writes `count` equal lines of modules between those of two other rows, but the rest that is the same as a line
    /// above.
    fn put_lines(&mut self, row: &Row<W>, before: &Row<W>, next: &Row<W>, count: usize) {
        let line_len = self.line.len;
        self.places.begin_row(&self.line);
        let differing = row.differing(before);
        let Some((first, last)) = differing.dark_columns() else {
            self.places.end_row(&self.line, row);
            self.pending += count * line_len;
            return;
        };
        let (start, end) = self.line.bytes_of(first, last);
        self.pending += start;
        self.flush(before, row, start);
        let next_differing = next.differing(row).dark_columns();
        let same = next_differing.map_or(0, |(first, last)| self.line.bytes_of(first, last).0);
        self.find_ways(row, &differing, start, end);
        self.places.end_row(&self.line, row);
        let end = self.cheapest_end(end, count * line_len + same);
        self.spent += self.ways.cost(end).unwrap_or_default();
        self.searched += (end - start) as u32;
        self.put_ways(row, start, end);
        self.pending = count * line_len - end;
        self.pending_distance = line_len;
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

    /// The byte from `end` on where it is cheapest to go over to the repetition of lines, which takes the rest of
    /// `lines_len` bytes. Some lengths cost less than others.
    fn cheapest_end(&self, end: usize, lines_len: usize) -> usize {
        let costs = &self.elements.costs;
        let with_lines = |at: usize| {
            let lines = costs.of_long(lines_len - at, self.line.len);
            self.ways.cost(at).map(|cost| (cost + lines, at))
        };
        let ends = (end..self.line.len).filter_map(with_lines);
        ends.min().map_or(end, |(_, at)| at)
    }

    /// Writes the elements on the way from `start` to `end`.
    fn put_ways(&mut self, row: &Row<W>, start: usize, end: usize) {
        let (first, mut at) = (self.elements.len(), end);
        while at > start {
            let Way { len, kind } = self.ways.last(at);
            at -= len;
            let column = usize::from(self.line.bytes[at].column);
            match kind {
                LITERAL => self.elements.literal(self.line.byte(row, at)),
                NEXT => self.elements.repeat(len, 1),
                ABOVE => self.elements.repeat(len, self.line.len),
                _ => self.elements.repeat(len, self.distances[column][kind - FIRST_PLACE] as usize),
            }
        }
        self.elements.reverse_from(first);
    }

    /// Finds the cheapest way to each byte of a row's line that may be on the cheapest way from `start` to `end`, and
    /// to those after it that repetitions reach.
    fn find_ways(&mut self, row: &Row<W>, differing: &Row<W>, start: usize, end: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Level::new().as_avx2() {
            return avx2.vectorize(
                #[inline(always)]
                || self.find_ways_by(Wide(avx2), row, differing, start, end),
            );
        }
        self.find_ways_by(Plain, row, differing, start, end);
    }

    #[inline(always)]
    fn find_ways_by<R: Registers>(
        &mut self,
        registers: R,
        row: &Row<W>,
        differing: &Row<W>,
        start: usize,
        end: usize,
    ) {
        // Where more is reached, a byte is looked at only if the way to it is cheaper by so much of what the bytes
        // between have cost on average. Where there are many places, it takes more to find the right ones.
        let gain_eighths = if self.places.are_few() { 3 } else { 2 };
        let gain_per_byte = gain_eighths * self.spent / 8 / self.searched;
        self.ways.begin(start);
        let costs = &self.elements.costs;
        let (all_literals, all) = costs.all();
        let next = all.wrapping_add(costs.of_distance(1));
        let (mut furthest, mut least) = (start, u32::MAX);
        let mut of_column = Repetitions::NONE;
        let mut literal = Ways::START;
        for at in start..end {
            let Search { elements: Elements { costs, .. }, line, ways, .. } = self;
            let cost = ways.settle(at, std::mem::replace(&mut literal, Ways::NONE));
            // A repetition has at least 3 bytes, so from the last two bytes only literals lead to the end: these bytes
            // are always looked at.
            let is_dear = cost + (furthest - at.min(furthest)) as u32 * gain_per_byte >= least;
            if at < furthest && (Ways::is_none(cost) || is_dear && at + 2 < end) {
                continue;
            }
            let byte = line.bytes[at];
            let column = usize::from(byte.column);
            let modules = row.from(column);
            let of_literal = costs.of_literal(line.pixels(modules, byte));
            literal = by_literal(cost + all_literals.wrapping_add(of_literal), LITERAL);
            if column != of_column.column {
                of_column = self.repetitions(row, differing, column, all);
            }
            let Search { elements: Elements { costs, .. }, line, ways, .. } = self;
            // Repetitions are not shorter than 3.
            let mut known = at + 2;
            let run = (run_end(row, line, at), next, NEXT);
            known = ways.reach_on(registers, (at, cost), known, run, costs.lengths());
            for repetition in of_column.all.iter().take(of_column.count) {
                known = ways.reach_on(registers, (at, cost), known, *repetition, costs.lengths());
            }
            let (most, by_literal) =
                if known > at + 2 { (known, Ways::NONE) } else { (at + 1, literal) };
            let cost = ways.cost_to(most, by_literal);
            if most > furthest || most == furthest && cost < least {
                (furthest, least) = (most, cost);
            }
        }
        self.ways.settle(end, literal);
        (end + 1..self.line.len).for_each(|at| _ = self.ways.settle(at, Ways::NONE));
    }

    /// The repetitions that may begin in a column, except those of the byte before; `all` is in the cost of each.
    #[inline(always)]
    fn repetitions(
        &mut self,
        row: &Row<W>,
        differing: &Row<W>,
        column: usize,
        all: u32,
    ) -> Repetitions {
        let Search { elements: Elements { costs, .. }, places, line, distances, .. } = self;
        let cost = |distance: usize| all.wrapping_add(costs.of_distance(distance));
        let mut repetitions = Repetitions { column, ..Repetitions::NONE };
        let same = differing.from(column).trailing_zeros() as usize;
        let to = line.starts[(column + same) % 256];
        repetitions.add(to.into(), cost(line.len), ABOVE);
        places.pass(line, row, column);
        let distances = &mut distances[column % 256];
        for (i, place) in places.find(line, column, row.from(column)).enumerate() {
            if place.distance <= WINDOW {
                distances[i] = place.distance as u32;
                let to = usize::from(line.starts[place.column % 256]).min(place.limit);
                repetitions.add(to, cost(place.distance), FIRST_PLACE + i);
            }
        }
        repetitions
    }
}

/// Where the run of bytes that are as the one before `at` ends.
#[inline(always)]
fn run_end<const W: usize>(row: &Row<W>, line: &Line, at: usize) -> usize {
    if at == 1 && line.light != 0 {
        // The byte before is the filter type.
        return 0;
    }
    let column = usize::from(line.bytes[at - 1].column);
    let modules = row.from(column);
    let run = (modules ^ (modules & 1).wrapping_neg()).trailing_zeros() as usize;
    line.starts[(column + run) % 256].into()
}
