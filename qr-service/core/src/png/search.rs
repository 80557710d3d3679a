//! The deflate stream of a picture of large modules: repetitions within and between its lines.
//!
//! [`super::deflate::LineCoder`] writes what changes from line to line as literals. Modules of more than a byte
//! make most of these bytes equal to bytes before, and there are too many of them to look for repetitions byte by
//! byte. But two places of the picture that begin at the same pixel of a byte have the same bytes for as long as
//! their modules are equal, so modules are compared, 64 at once. Where they begin to differ is where the
//! repetition ends.
//!
//! Of these, of the line above, of the byte before and of literals, a shortest path takes what is cheapest for the
//! line, by what elements cost on average.

use super::checksum::Adler;
use super::deflate::{MAX_REPEAT, Sink, extra_bits};
use crate::modules::Modules;
use crate::raster::{Layout, Line};

/// The largest modules, in pixels, that [`super::deflate::LineCoder`] is better for: most are a byte each.
const SMALL_PX: usize = 8;
/// Deflate's window (RFC 1951 section 2).
const WINDOW: usize = 32768;

// What elements cost in half bits: the averages of many pictures.
const LITERAL: i16 = 14;
/// A byte of one colour is the most frequent literal.
const PLAIN_LITERAL: i16 = 10;
const LENGTH: i16 = 11;
/// The code of a distance: of 1, of the line above, and of any other.
const NEXT: i16 = 2;
const ABOVE: i16 = 4;
const FAR: i16 = 6;

/// Modules that a place is found by, in small and in large symbols: less for these are found too often.
const KEY_MODULES: [u32; 2] = [4, 5];
const LARGE_SYMBOL: usize = 45;
const KEYS: usize = 1 << KEY_MODULES[1];

/// An element of the stream.
#[derive(Clone, Copy)]
enum Element {
    Literal(u8),
    /// Of any length from 3.
    Repeat {
        len: u32,
        distance: u32,
    },
}

/// A row of modules with a light one before them, module `x` in bit `x % 64` of word `x / 64`. The last word
/// is empty, so that 64 modules can be read from any of them.
type Row = [u64; 4];

/// 64 modules of a row.
fn modules_from(row: &Row, x: usize) -> u64 {
    let (word, bit) = (x / 64, x % 64);
    row[word] >> bit | row[word + 1] << 1 << (63 - bit)
}

/// Number of equal modules in two rows from these places on, of which the first 64 of `a` are given; `None` if
/// all are up to the end.
#[inline]
fn equal_modules(ours: u64, a: &Row, at: usize, b: &Row, place: usize) -> Option<usize> {
    let differing = ours ^ modules_from(b, place);
    if differing != 0 {
        return Some(differing.trailing_zeros() as usize);
    }
    let mut count = 64;
    while at.max(place) + count < 192 {
        let differing = modules_from(a, at + count) ^ modules_from(b, place + count);
        if differing != 0 {
            return Some(count + differing.trailing_zeros() as usize);
        }
        count += 64;
    }
    None
}

/// The elements of a picture's stream.
pub(super) struct Elements {
    elements: Vec<Element>,
    /// The Adler-32 of the picture's lines.
    pub(super) sum: u32,
}

impl Elements {
    /// Finds the elements of a picture; `None` if it has small modules or no light line above them.
    pub(super) fn find<const S: usize>(modules: Modules<'_>, layout: &Layout) -> Option<Self> {
        if layout.scale_px <= SMALL_PX || layout.offset_px == 0 {
            return None;
        }
        let above = layout.offset_px;
        let below = layout.size_px - above - layout.symbol_px;
        let mut line = Line::<S>::light(layout);
        let mut sum = Adler::<S>::new(line.bytes().len());
        sum.add(line.buffer(), above);
        let mut search = Search::new(modules, layout, line.bytes().len());
        search.begin(above);
        for y in 0..modules.height() {
            line.draw(&modules.words(y), modules.width(), layout);
            search.put_row(y, line.bytes(), layout.scale_px);
            sum.add(line.buffer(), layout.scale_px);
        }
        let light = Line::<S>::light(layout);
        search.put_row(modules.height(), light.bytes(), below);
        sum.add(light.buffer(), below);
        let end = light.bytes().len() - search.pending.min(2);
        search.flush(&light.bytes()[end..]);
        Some(Elements { elements: search.elements, sum: sum.finish() })
    }

    /// Describes the picture to `sink`.
    pub(super) fn describe(&self, sink: &mut impl Sink) {
        for &element in &self.elements {
            match element {
                Element::Literal(byte) => sink.literal(byte),
                Element::Repeat { len, distance } => {
                    sink.repeat_in_pieces(len as usize, distance as usize);
                }
            }
        }
    }
}

struct Search {
    elements: Vec<Element>,
    /// The rows of the symbol, and a light one.
    rows: Vec<Row>,
    /// Modules in a row with the light one before them.
    width: usize,
    scale_px: usize,
    offset_px: usize,
    /// Bytes of a line with its filter type.
    line_len: usize,
    /// Length of the repetition of the line above that is not written yet.
    pending: usize,
    /// The last four places by the pixel of a byte that they begin at and by their next modules, the last one
    /// lowest: 1 + row, column. There are as many such pixels as `phase_mask` says.
    places: [u64; 8 * KEYS],
    phase_mask: usize,
    key_mask: u64,
    /// What it costs to reach each byte of a line from the first one that is searched, and the last element on
    /// the way: its length, and its distance or 0 for a literal.
    costs: Vec<i16>,
    steps: Vec<(u16, u16)>,
}

impl Search {
    fn new(modules: Modules<'_>, layout: &Layout, line_len: usize) -> Self {
        let with_light = |y: usize| {
            let [a, b, c] = modules.words(y);
            [a << 1, b << 1 | a >> 63, c << 1 | b >> 63, 0]
        };
        // The row after the last one is light.
        let rows: Vec<Row> = (0..=modules.height()).map(with_light).collect();
        let is_large = modules.width() > LARGE_SYMBOL;
        Search {
            elements: Vec::with_capacity(32 * rows.len()),
            rows,
            width: modules.width() + 1,
            scale_px: layout.scale_px,
            offset_px: layout.offset_px,
            line_len,
            pending: 0,
            places: [0; 8 * KEYS],
            // Modules of an odd number of pixels begin at every pixel of a byte.
            phase_mask: 7 >> layout.scale_px.trailing_zeros().min(3),
            costs: vec![0; line_len + 1],
            steps: vec![(0, 0); line_len + 1],
            key_mask: (1 << KEY_MODULES[usize::from(is_large)]) - 1,
        }
    }

    /// Begins with `count` light lines.
    fn begin(&mut self, count: usize) {
        self.elements.extend([Element::Literal(0), Element::Literal(0xff)]);
        self.repeat(self.line_len - 2, 1);
        self.pending = (count - 1) * self.line_len;
    }

    fn repeat(&mut self, len: usize, distance: usize) {
        self.elements.push(Element::Repeat { len: len as u32, distance: distance as u32 });
    }

    /// The first pixel of the module in column `x`, at least 1, counted from the filter type's.
    fn pixel_of(&self, x: usize) -> usize {
        8 + self.offset_px + x * self.scale_px - self.scale_px
    }

    /// The module that has the first pixel of a byte of the symbol.
    fn module_at(&self, byte: usize) -> usize {
        (8 * byte + self.scale_px - 8 - self.offset_px) / self.scale_px
    }

    /// Writes the line of row `y`, `count` times.
    fn put_row(&mut self, y: usize, line: &[u8], count: usize) {
        let above = if y == 0 { [0; 4] } else { self.rows[y - 1] };
        let row = &self.rows[y];
        let differing: Row = std::array::from_fn(|word| row[word] ^ above[word]);
        let Some(first) = differing.iter().position(|word| *word != 0) else {
            self.pending += count * self.line_len;
            return;
        };
        let last = differing.iter().rposition(|word| *word != 0).unwrap_or(first);
        let first = 64 * first + differing[first].trailing_zeros() as usize;
        let last = 64 * last + differing[last].ilog2() as usize;
        let start = self.pixel_of(first) / 8;
        let end = self.pixel_of(last + 1).div_ceil(8);
        self.pending += start;
        self.flush(&line[..start]);
        self.put_bytes(y, line, start, end);
        self.pending = count * self.line_len - end;
    }

    /// Writes the pending repetition. If it is shorter than three bytes, it is the bytes `same`.
    fn flush(&mut self, same: &[u8]) {
        match std::mem::take(&mut self.pending) {
            0..3 => self.elements.extend(same.iter().map(|byte| Element::Literal(*byte))),
            len => self.repeat(len, self.line_len),
        }
    }

    /// Writes the bytes of a row's line from `start` to before `end`, by the cheapest elements.
    fn put_bytes(&mut self, y: usize, line: &[u8], start: usize, end: usize) {
        self.costs[start..=end].fill(i16::MAX);
        self.costs[start] = 0;
        let (mut known, mut reached, mut x) = (0, start, self.module_at(start));
        for at in start..end {
            let cost = self.costs[at];
            if cost == i16::MAX {
                continue;
            }
            // Where more is reached for less, this is on no cheap way.
            let ahead = self.costs[at + 1..=reached.max(at)].iter().copied().min();
            if ahead.is_some_and(|ahead| ahead <= cost) {
                continue;
            }
            while self.pixel_of(x + 1) <= 8 * at {
                x += 1;
            }
            known = self.remember(y, known, x);
            let literal = if matches!(line[at], 0 | 0xff) { PLAIN_LITERAL } else { LITERAL };
            self.reach(at, cost + literal, 1, 0);
            reached = reached.max(at + 1).max(self.reach_by_repeats(y, x, line, at, end));
        }
        self.remember(y, known, self.width);
        let (first, mut at) = (self.elements.len(), end);
        while at > start {
            let (len, distance) = self.steps[at];
            at -= usize::from(len);
            match distance {
                0 => self.elements.push(Element::Literal(line[at])),
                _ => self.repeat(len.into(), distance.into()),
            }
        }
        self.elements[first..].reverse();
    }

    /// Notes a way to the byte `len` after `at`, unless there is a cheaper one.
    fn reach(&mut self, at: usize, cost: i16, len: usize, distance: usize) {
        if cost < self.costs[at + len] {
            self.costs[at + len] = cost;
            self.steps[at + len] = (len as u16, distance as u16);
        }
    }

    /// Notes the ways by a repetition from `at`, in the module of column `x`; returns the furthest byte reached.
    fn reach_by_repeats(
        &mut self,
        y: usize,
        x: usize,
        line: &[u8],
        at: usize,
        end: usize,
    ) -> usize {
        let run = line[at..end].iter().take_while(|byte| **byte == line[at - 1]).count();
        self.reach_by(at, run, 1, NEXT);
        let ours = modules_from(&self.rows[y], x);
        // The last places are nearest, so those after them must be longer.
        let mut longest = 2;
        if y > 0 {
            longest = longest.max(self.equal_bytes((y, x, ours), at, end, (y - 1, x)));
            self.reach_by(at, longest, self.line_len, ABOVE);
        }
        let mut places =
            self.places[(x & self.phase_mask) * KEYS + (ours & self.key_mask) as usize];
        while places & 0xffff != 0 {
            let (row, column) = ((places >> 8 & 0xff) as usize - 1, (places & 0xff) as usize);
            places >>= 16;
            let len = self.equal_bytes((y, x, ours), at, end, (row, column));
            if len <= longest {
                continue;
            }
            // Lines between, and bytes to the left or to the right.
            let lines = if row == y { 0 } else { (y - row - 1) * self.scale_px + 1 };
            let left = (x * self.scale_px) as isize - (column * self.scale_px) as isize;
            let distance = (lines * self.line_len).wrapping_add_signed(left / 8);
            if (1..=WINDOW).contains(&distance) {
                longest = len;
                self.reach_by(at, len, distance, FAR);
            }
        }
        at + run.max(longest).min(MAX_REPEAT)
    }

    /// Notes the way by one repetition, whose distance has a code of `code` half bits.
    fn reach_by(&mut self, at: usize, len: usize, distance: usize, code: i16) {
        if len < 3 {
            return;
        }
        let len = len.min(MAX_REPEAT);
        let cost = LENGTH + code + 2 * extra_bits(len, distance) as i16;
        self.reach(at, self.costs[at] + cost, len, distance);
    }

    /// Remembers the places of row `y` from column `from` to before `to`; returns the column of the next one.
    fn remember(&mut self, y: usize, from: usize, to: usize) -> usize {
        let to = to.min(self.width);
        for x in from..to {
            let place = (y as u64 + 1) << 8 | x as u64;
            let places = &mut self.places[self.key_of(y, x)];
            *places = *places << 16 | place;
        }
        from.max(to)
    }

    fn key_of(&self, y: usize, x: usize) -> usize {
        let modules = modules_from(&self.rows[y], x) & self.key_mask;
        (x & self.phase_mask) * KEYS + modules as usize
    }

    /// Number of bytes from `at` on, in the module of column `x`, whose first 64 modules are given, that
    /// are as those of a place before. A repetition does not go beyond its line's end.
    #[inline]
    fn equal_bytes(
        &self,
        (y, x, ours): (usize, usize, u64),
        at: usize,
        end: usize,
        (row, column): (usize, usize),
    ) -> usize {
        let equal = match equal_modules(ours, &self.rows[y], x, &self.rows[row], column) {
            Some(0) => return 0,
            Some(count) => end.min(self.pixel_of(x + count) / 8),
            None => end,
        };
        let right = (column * self.scale_px) as isize - (x * self.scale_px) as isize;
        let source = at.wrapping_add_signed(right / 8);
        // No place is before its line, but in a picture without margins a light module may begin there.
        if !(1..self.line_len).contains(&source) {
            return 0;
        }
        equal.saturating_sub(at).min(self.line_len - source)
    }
}
