//! The elements of a picture's stream.

use super::costs::Costs;
use super::deflate::{Counts, MAX_REPEAT, Sink, Writer};

/// An element in a machine word is a literal; or has a length from bit 16 on and a distance less one below; or one of
/// these in the two highest bits, and how many of them below.
const KINDS: u32 = 3 << 30;
const LONGEST_OF_BYTE: u32 = 1 << 30;
const LONGEST_OF_LINE: u32 = 2 << 30;
/// A line that is as the one above: filter type 2 (Up), and no difference throughout.
const SAME_LINE: u32 = 3 << 30;
/// What such a line begins with: the type, and a byte to repeat.
const SAME_LINE_START: [u8; 2] = [2, 0];

/// The elements so far, and what they have cost.
pub(super) struct Elements {
    elements: Vec<u32>,
    line_len: usize,
    pub(super) costs: Costs,
}

/// A repetition of any length from 3: how many of the longest, and the lengths of up to two others, or 0. No piece is
/// shorter than 3.
fn pieces(len: usize) -> (usize, [usize; 2]) {
    match (len / MAX_REPEAT, len % MAX_REPEAT) {
        (longest, rest @ (1 | 2)) => (longest - 1, [MAX_REPEAT - 3, rest + 3]),
        (longest, rest) => (longest, [rest, 0]),
    }
}

impl Elements {
    /// The filter type of [`Self::same_lines`].
    pub(super) const SAME_LINE_TYPE: u64 = SAME_LINE_START[0] as u64;

    pub(super) fn new(line_len: usize, rows: usize) -> Self {
        Elements { elements: Vec::with_capacity(16 * rows), line_len, costs: Costs::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    /// Reverses the order of those from the `first` on.
    pub(super) fn reverse_from(&mut self, first: usize) {
        self.elements[first..].reverse();
    }

    #[inline(always)]
    pub(super) fn literal(&mut self, byte: u8) {
        self.elements.push(byte.into());
        self.costs.count_literal(byte, 1);
    }

    /// A repetition of 3 to 258 bytes.
    #[inline(always)]
    pub(super) fn repeat(&mut self, len: usize, distance: usize) {
        self.elements.push((len << 16 | (distance - 1)) as u32);
        self.costs.count_repeat(len, distance, 1);
    }

    /// A repetition of any length from 3.
    pub(super) fn repeat_long(&mut self, len: usize, distance: usize) {
        let (longest, others) = pieces(len);
        if longest > 0 && (distance == 1 || distance == self.line_len) {
            let kind = if distance == 1 { LONGEST_OF_BYTE } else { LONGEST_OF_LINE };
            self.elements.push(kind | longest as u32);
            self.costs.count_repeat(MAX_REPEAT, distance, longest as u32);
        } else {
            (0..longest).for_each(|_| self.repeat(MAX_REPEAT, distance));
        }
        others.into_iter().filter(|len| *len > 0).for_each(|len| self.repeat(len, distance));
    }

    /// Lines that are as the one above.
    pub(super) fn same_lines(&mut self, count: usize) {
        let lines = count as u32;
        self.elements.push(SAME_LINE | lines);
        SAME_LINE_START.into_iter().for_each(|byte| self.costs.count_literal(byte, lines));
        let (longest, others) = pieces(self.line_len - SAME_LINE_START.len());
        self.costs.count_repeat(MAX_REPEAT, 1, longest as u32 * lines);
        for len in others.into_iter().filter(|len| *len > 0) {
            self.costs.count_repeat(len, 1, lines);
        }
    }

    /// How often the stream has each symbol.
    pub(super) fn counts(&self) -> Counts {
        self.costs.counted()
    }

    /// Writes the picture.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let [of_byte, of_line] = [1, self.line_len].map(|distance| writer.repeat_bits(MAX_REPEAT, distance));
        for &element in &self.elements {
            let count = (element & !KINDS) as usize;
            match element & KINDS {
                LONGEST_OF_BYTE => writer.put_often(of_byte, count),
                LONGEST_OF_LINE => writer.put_often(of_line, count),
                SAME_LINE => {
                    let (longest, others) = pieces(self.line_len - SAME_LINE_START.len());
                    for _ in 0..count {
                        SAME_LINE_START.into_iter().for_each(|byte| writer.literal(byte));
                        writer.put_often(of_byte, longest);
                        others.into_iter().filter(|len| *len > 0).for_each(|len| writer.repeat(len, 1));
                    }
                }
                _ if count >> 16 == 0 => writer.literal(element as u8),
                _ => writer.repeat_anywhere(count >> 16, 1 + (count & 0xffff)),
            }
        }
    }
}
