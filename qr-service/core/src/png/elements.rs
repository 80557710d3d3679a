//! The elements of a picture's stream.

use super::costs::Costs;
use super::deflate::{Counts, MAX_REPEAT, Sink, Writer};

/// The elements so far, and what they have cost.
pub(super) struct Elements {
    elements: Vec<Element>,
    pub(super) costs: Costs,
}

/// A literal, or a repetition of any length from 3.
#[derive(Clone, Copy)]
struct Element {
    /// The literal if there is no distance.
    len: u32,
    distance: u32,
}

/// A repetition in pieces: how many of the longest, and the lengths of up to two others, or 0. No piece is shorter
/// than 3.
pub(super) fn pieces(len: usize) -> (usize, [usize; 2]) {
    match (len / MAX_REPEAT, len % MAX_REPEAT) {
        (longest, rest @ (1 | 2)) => (longest - 1, [MAX_REPEAT - 3, rest + 3]),
        (longest, rest) => (longest, [rest, 0]),
    }
}

impl Elements {
    pub(super) fn new(rows: usize) -> Self {
        Elements { elements: Vec::with_capacity(16 * rows), costs: Costs::new() }
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
        self.elements.push(Element { len: byte.into(), distance: 0 });
        self.costs.count_literal(byte);
    }

    /// A repetition of 3 to 258 bytes.
    #[inline(always)]
    pub(super) fn repeat(&mut self, len: usize, distance: usize) {
        self.elements.push(Element { len: len as u32, distance: distance as u32 });
        self.costs.count_repeat(len, distance, 1);
    }

    /// A repetition of any length from 3.
    pub(super) fn repeat_long(&mut self, len: usize, distance: usize) {
        let (longest, others) = pieces(len);
        self.elements.push(Element { len: len as u32, distance: distance as u32 });
        self.costs.count_repeat(MAX_REPEAT, distance, longest as u32);
        for len in others.into_iter().filter(|len| *len > 0) {
            self.costs.count_repeat(len, distance, 1);
        }
    }

    /// How often the stream has each symbol.
    pub(super) fn counts(&self) -> Counts {
        self.costs.counted()
    }

    /// Writes the picture.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        for element in &self.elements {
            let (len, distance) = (element.len as usize, element.distance as usize);
            match (len, distance) {
                (_, 0) => writer.literal(element.len as u8),
                (..=MAX_REPEAT, _) => writer.repeat_often(len, distance, 1),
                _ => {
                    let (longest, others) = pieces(len);
                    // Without such a piece its length may have no code.
                    if longest > 0 {
                        writer.repeat_often(MAX_REPEAT, distance, longest);
                    }
                    others
                        .into_iter()
                        .filter(|len| *len > 0)
                        .for_each(|len| writer.repeat(len, distance));
                }
            }
        }
    }
}
