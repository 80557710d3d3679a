//! The deflate stream of a picture of modules, written directly (RFC 1951).
//!
//! The picture is a sequence of lines, each repeated, so no search for repetitions is needed. Where a
//! line differs from the one before, its bytes are literals. One match at the distance of a line
//! covers all the rest: the end of the line if it equals the line before, the repetitions, and the
//! beginning of the next line if it equals this one.

use std::ops::Range;

use super::huffman::{Codes, DISTANCES, END_OF_BLOCK, LITERALS};

/// Takes the elements of the stream, in order.
pub(crate) trait Sink {
    fn literal(&mut self, byte: u8);

    /// The bytes of `line` in `range`, as literals.
    fn literals(&mut self, line: &[u8], range: Range<usize>) {
        line[range].iter().for_each(|&byte| self.literal(byte));
    }

    /// A repetition of `len` bytes, 3 to 258, from `distance` bytes back, 1 to 32768.
    fn repeat(&mut self, len: usize, distance: usize);
}

/// Length of the first piece of a repetition of at least 3 bytes, such that no further piece is shorter than 3.
#[inline(always)]
pub(crate) const fn first_piece(len: usize) -> usize {
    match len {
        ..=MAX_REPEAT => len,
        259 | 260 => MAX_REPEAT - 3,
        _ => MAX_REPEAT,
    }
}

/// The code of a length, 3 to 258, and the number of its extra bits.
#[cfg(feature = "png-color")]
#[inline(always)]
pub(crate) const fn length_code(len: usize) -> (u16, u8) {
    let LengthCode { code, extra_bits, .. } = LENGTH_CODES[len];
    (code, extra_bits)
}

/// The code of a distance, 1 to 32768, and the number of its extra bits.
#[cfg(feature = "png-color")]
#[inline(always)]
pub(crate) fn distance_code(distance: usize) -> (usize, u8) {
    let (code, extra_bits, _) = power_code(distance - 1, 2);
    (code, extra_bits)
}

/// Deflate's window (RFC 1951 section 2).
#[cfg(feature = "png-color")]
pub(crate) const WINDOW: usize = 32768;
/// The longest repetition in one element.
pub(crate) const MAX_REPEAT: usize = 258;

/// Code of a length, the number of its extra bits, and their value.
#[derive(Clone, Copy)]
struct LengthCode {
    code: u16,
    extra_bits: u8,
    extra: u8,
}

/// Length codes by length (RFC 1951 section 3.2.5).
static LENGTH_CODES: [LengthCode; MAX_REPEAT + 1] = {
    let mut table = [LengthCode { code: 0, extra_bits: 0, extra: 0 }; MAX_REPEAT + 1];
    let mut len = 3;
    while len < MAX_REPEAT {
        let (code, extra_bits, extra) = power_code(len - 3, 4);
        table[len] = LengthCode { code: 257 + code as u16, extra_bits, extra: extra as u8 };
        len += 1;
    }
    table[MAX_REPEAT] = LengthCode { code: 285, extra_bits: 0, extra: 0 };
    table
};

/// Codes of lengths and of distances follow one rule: after the first `2 * per_power` codes, each power
/// of two is divided into `per_power` equal parts. Returns the code, the number of extra bits, and
/// their value.
const fn power_code(value: usize, per_power: usize) -> (usize, u8, usize) {
    if value < 2 * per_power {
        return (value, 0, 0);
    }
    let extra_bits = value.ilog2() - per_power.ilog2();
    let code = (value >> extra_bits) + extra_bits as usize * per_power;
    (code, extra_bits as u8, value & ((1 << extra_bits) - 1))
}

/// Counts the symbols of a stream, to make a Huffman code for it.
pub(crate) struct Counts {
    pub(crate) literals: [u32; LITERALS],
    pub(crate) distances: [u32; DISTANCES],
}

impl Counts {
    pub(crate) fn new() -> Self {
        let mut counts = Counts { literals: [0; LITERALS], distances: [0; DISTANCES] };
        counts.literals[END_OF_BLOCK] = 1;
        counts
    }
}

impl Sink for Counts {
    fn literal(&mut self, byte: u8) {
        self.literals[usize::from(byte)] += 1;
    }

    fn repeat(&mut self, len: usize, distance: usize) {
        self.literals[usize::from(LENGTH_CODES[len].code)] += 1;
        self.distances[power_code(distance - 1, 2).0] += 1;
    }
}

/// The elements of a stream and their counts: a picture is described once, and written when its code is known.
pub(crate) struct Elements {
    pub(crate) counts: Counts,
    literals: Vec<u8>,
    /// The number of literals before each repetition, its length and its distance.
    repeats: Vec<(usize, usize, usize)>,
}

impl Elements {
    pub(crate) fn new() -> Self {
        Elements { counts: Counts::new(), literals: Vec::new(), repeats: Vec::new() }
    }

    /// Describes the elements to `sink`.
    pub(crate) fn describe(&self, sink: &mut impl Sink) {
        let mut start = 0;
        for &(end, len, distance) in &self.repeats {
            if start < end {
                sink.literals(&self.literals, start..end);
            }
            sink.repeat(len, distance);
            start = end;
        }
        sink.literals(&self.literals, start..self.literals.len());
    }
}

impl Sink for Elements {
    fn literal(&mut self, byte: u8) {
        self.counts.literal(byte);
        self.literals.push(byte);
    }

    fn literals(&mut self, line: &[u8], range: Range<usize>) {
        self.counts.literals(line, range.clone());
        self.literals.extend_from_slice(&line[range]);
    }

    fn repeat(&mut self, len: usize, distance: usize) {
        self.counts.repeat(len, distance);
        self.repeats.push((self.literals.len(), len, distance));
    }
}

/// Writes a stream of one block.
///
/// Each store writes all eight bytes of `bits` and advances by the whole bytes pending, so no branch
/// depends on their number.
pub(crate) struct Writer<'a> {
    codes: &'a Codes,
    /// The stream up to `state.at`, and room after it.
    out: &'a mut Vec<u8>,
    state: State,
    /// The distance of the last repetition, its code with extra bits, and their number: most
    /// repetitions have the same distance.
    last_distance: (usize, u64, u32),
}

/// The position in a stream that is being written.
#[derive(Clone, Copy)]
struct State {
    at: usize,
    /// Bits not written yet, the least significant first; fewer than 8 between calls.
    bits: u64,
    pending: u32,
}

impl State {
    /// Adds the low `count` bits of `value` to those pending for [`Self::store`], at most 63 in all.
    /// The other bits of `value` must be zero.
    #[inline(always)]
    fn hold(&mut self, value: u64, count: u32) {
        self.bits |= value << self.pending;
        self.pending += count;
    }

    #[inline(always)]
    fn hold_code(&mut self, code: u32) {
        self.hold(u64::from(code & 0xffff), code >> 16);
    }

    /// Writes all pending bits to `out`, which has room for them and 8 bytes more, and keeps those that do not
    /// fill a byte.
    #[inline(always)]
    fn store(&mut self, out: &mut [u8]) {
        if let Some(place) = out.get_mut(self.at..self.at + 8) {
            place.copy_from_slice(&self.bits.to_le_bytes());
        }
        self.at += self.pending as usize / 8;
        self.bits >>= self.pending & !7;
        self.pending &= 7;
    }
}

impl Codes {
    /// A distance's code with its extra bits, and their number.
    const fn distance(&self, distance: usize) -> (u64, u32) {
        let (code, extra_bits, extra) = power_code(distance - 1, 2);
        let code = self.distances[code];
        let len = code >> 16;
        ((code & 0xffff) as u64 | (extra as u64) << len, len + extra_bits as u32)
    }

    /// The bits of a repetition, and their number: at most 15 + 5 of length and 15 + 13 of distance.
    pub(crate) const fn repetition(&self, len: usize, distance: usize) -> (u64, u32) {
        let LengthCode { code, extra_bits, extra } = LENGTH_CODES[len];
        let code = self.literals[code as usize];
        let (distance, distance_count) = self.distance(distance);
        let (code_count, count) = (code >> 16, (code >> 16) + extra_bits as u32);
        assert!(code != 0);
        let bits = (code & 0xffff) as u64 | (extra as u64) << code_count | distance << count;
        (bits, count + distance_count)
    }
}

impl<'a> Writer<'a> {
    pub(crate) fn new(codes: &'a Codes, out: &'a mut Vec<u8>) -> Self {
        let (bytes, rest, pending) = codes.header.parts();
        out.extend_from_slice(bytes);
        let state = State { at: out.len(), bits: u64::from(rest), pending };
        Writer { codes, out, state, last_distance: (0, 0, 0) }
    }

    /// See [`State::hold`].
    #[inline(always)]
    fn hold(&mut self, value: u64, count: u32) {
        self.state.hold(value, count);
    }

    #[inline(always)]
    fn hold_code(&mut self, code: u32) {
        self.state.hold_code(code);
    }

    /// See [`State::store`].
    #[inline(always)]
    fn store(&mut self) {
        self.make_room(8);
        self.state.store(self.out);
    }

    /// Makes room for `count` bytes.
    #[inline(always)]
    fn make_room(&mut self, count: usize) {
        if self.state.at + count > self.out.len() {
            self.grow(count);
        }
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        // Enough for the stream of most pictures; for longer ones the room grows by half each time.
        self.out.resize(self.state.at + count.max(768 + self.state.at / 2), 0);
    }

    /// Writes literals. A word must have room for 7 pending bits and `N` of their codes.
    #[inline(always)]
    fn put_literals<const N: usize>(&mut self, line: &[u8], range: Range<usize>) {
        // A code has less than 16 bits. Making room for all of them at once, and keeping the state in
        // registers, halves the time.
        self.make_room(2 * range.len() + 16);
        let (literals, out, mut state) =
            (&self.codes.literals, self.out.as_mut_slice(), self.state);
        let (chunks, rest) = line[range.clone()].as_chunks::<N>();
        for chunk in chunks {
            chunk.iter().for_each(|byte| state.hold_code(literals[usize::from(*byte)]));
            state.store(out);
        }
        match line[..range.end].last_chunk::<N>() {
            // The length of the rest is close to random, so the processor would often mispredict the end of a
            // loop over it. Instead all `N` last bytes are written, those already written as codes of 0 bits.
            Some(last) => {
                for (k, byte) in last.iter().enumerate() {
                    let is_in_rest = u32::from(k + rest.len() >= N);
                    state.hold_code(literals[usize::from(*byte)] & is_in_rest.wrapping_neg());
                }
            }
            None => rest.iter().for_each(|byte| state.hold_code(literals[usize::from(*byte)])),
        }
        state.store(out);
        self.state = state;
    }

    #[inline(never)]
    fn put_literals_of_long_codes(&mut self, line: &[u8], range: Range<usize>) {
        self.put_literals::<3>(line, range);
    }

    /// Ends the block and pads the last byte.
    pub(crate) fn finish(mut self) {
        self.hold_code(self.codes.literals[END_OF_BLOCK]);
        self.state.pending = self.state.pending.next_multiple_of(8);
        self.store();
        self.out.truncate(self.state.at);
    }
}

impl Sink for Writer<'_> {
    #[inline(always)]
    fn literal(&mut self, byte: u8) {
        self.hold_code(self.codes.literals[usize::from(byte)]);
        self.store();
    }

    #[inline(always)]
    fn literals(&mut self, line: &[u8], range: Range<usize>) {
        if self.codes.longest <= 14 {
            self.put_literals::<4>(line, range);
        } else {
            self.put_literals_of_long_codes(line, range);
        }
    }

    // In a program with several kinds of pictures the compiler would not inline it, which makes `/qrcode` slower.
    #[inline(always)]
    fn repeat(&mut self, len: usize, distance: usize) {
        let coded = LENGTH_CODES[len];
        let code = self.codes.literals[usize::from(coded.code)];
        if self.last_distance.0 != distance {
            let (bits, count) = self.codes.distance(distance);
            self.last_distance = (distance, bits, count);
        }
        // At most 15 + 5 bits of length and 15 + 13 of distance.
        self.hold_code(code);
        self.hold(u64::from(coded.extra), u32::from(coded.extra_bits));
        self.hold(self.last_distance.1, self.last_distance.2);
        self.store();
    }
}

/// Limits of the matches of a [`LineCoder`], because prepared codes do not have a code for every length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest match between lines; matches between light lines may be longer.
    pub(crate) most: usize,
    /// Bytes that are always light at the left end of a line, with its filter type, and at the right.
    pub(crate) edges: [usize; 2],
}

impl Limits {
    /// No limits, for codes made from the stream's own statistics.
    pub(crate) const NONE: Limits = Limits { most: usize::MAX, edges: [0; 2] };

    /// Limits for prepared codes and a picture of lines of `line_len` bytes, each repeated `scale` times.
    /// Matches may use the length code of the shortest match between lines, and the next one.
    pub(crate) const fn prepared(line_len: usize, scale: usize, edges: [usize; 2]) -> Self {
        let mut most = (scale - 1) * line_len + edges[0] + edges[1];
        let code = LENGTH_CODES[most].code + 1;
        while most + 1 < MAX_REPEAT && LENGTH_CODES[most + 1].code <= code {
            most += 1;
        }
        Limits { most, edges }
    }
}

/// Numbers of equal bytes at the beginning and at the end of two lines.
fn equal_bytes(a: &[u8], b: &[u8]) -> (usize, usize) {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (start, end)
}

/// Describes a picture line by line to a [`Sink`].
///
/// Between calls, the last `pending` bytes of the picture equal those a line before them, and the sink has all bytes up
/// to there. [`Self::differing`] holds this: it says how many bytes of a line still belong to that match and how many
/// begin the next one, so that neither becomes longer than the [`Limits`] allow. [`Self::flush`] writes the match when a
/// line differs; deflate has no code for one of fewer than 3 bytes, so `last` has the bytes that it may consist of.
pub(crate) struct LineCoder<'a, S> {
    sink: &'a mut S,
    limits: Limits,
    /// Bytes of a line with its filter type: the distance of the matches.
    line_len: usize,
    /// Length so far of the match at that distance that is not written yet.
    pending: usize,
    /// The last bytes of the line before.
    last: [u8; 2],
}

impl<'a, S: Sink> LineCoder<'a, S> {
    /// Begins the picture with `count` light lines: filter type 0, then 0xff throughout.
    pub(crate) fn new(sink: &'a mut S, limits: Limits, line_len: usize, count: usize) -> Self {
        let mut coder = LineCoder { sink, limits, line_len, pending: 0, last: [0xff; 2] };
        if count > 0 {
            coder.sink.literal(0);
            coder.put_light(line_len - 1);
            coder.pending = (count - 1) * line_len;
        }
        coder
    }

    /// Writes `len` bytes 0xff: one literal and its repetition.
    fn put_light(&mut self, len: usize) {
        self.sink.literal(0xff);
        self.repeat_at(len - 1, 1, 0xff);
    }

    /// Writes a repetition of any length, in pieces of at least 3 bytes. A repetition of fewer is
    /// written as literals `byte`.
    fn repeat_at(&mut self, mut len: usize, distance: usize, byte: u8) {
        while len >= 3 {
            let piece = first_piece(len);
            self.sink.repeat(piece, distance);
            len -= piece;
        }
        (0..len).for_each(|_| self.sink.literal(byte));
    }

    /// Writes the pending match, which ends with the bytes `same` of the line after the last.
    #[inline(always)]
    fn flush(&mut self, same: &[u8]) {
        let len = std::mem::take(&mut self.pending);
        match len {
            // Most matches are one piece.
            3..=MAX_REPEAT => self.sink.repeat(len, self.line_len),
            0..3 => {
                let end = &self.last[2 - len.saturating_sub(same.len())..];
                end.iter().chain(same).for_each(|&byte| self.sink.literal(byte));
            }
            _ => self.repeat_at(len, self.line_len, 0),
        }
    }

    /// The range of bytes of a line to write as literals. `copies` more of the line follow; `equal` is the number of
    /// bytes at either end that equal those of the line before.
    #[inline(always)]
    fn differing(&self, equal: (usize, usize), copies: usize) -> (usize, usize) {
        let (len, Limits { most, edges: [left, right] }) = (self.line_len, self.limits);
        // A line equal to the one before may make a match too long for the limits: then a new match
        // begins at the end of the line.
        let whole = self.pending.saturating_add((1 + copies) * len) <= most;
        let longest = if whole { len } else { len - right.max(1) };
        let same = left.max(most.saturating_sub(self.pending)).min(longest).min(equal.0);
        let tail = right.max(most.saturating_sub(copies * len + left)).min(len - same).min(equal.1);
        (same, len - tail)
    }

    /// Writes `line` and `copies` more of it after the line `before`, which is empty at the top of the
    /// picture. Both begin with their filter type.
    #[cfg(feature = "png-color")]
    pub(crate) fn put_line(&mut self, line: &[u8], before: &[u8], copies: usize) {
        self.put_changed(line, equal_bytes(line, before), copies);
    }

    /// Writes `line` and `copies` more of it. `equal` is the number of bytes at either end that equal those
    /// of the line before.
    #[inline(always)]
    pub(crate) fn put_changed(&mut self, line: &[u8], equal: (usize, usize), copies: usize) {
        let (same, end) = self.differing(equal, copies);
        self.pending += same;
        if same < line.len() {
            self.flush(&line[..same]);
            self.sink.literals(line, same..end);
            self.pending = line.len() - end;
        }
        self.pending += copies * self.line_len;
        if let Some(last) = line.last_chunk() {
            self.last = *last;
        }
    }

    /// Ends the picture with `count` copies of `light`, after the line `before`. In `light`, filter type 0 is
    /// followed by 0xff throughout.
    pub(crate) fn finish(mut self, light: &[u8], before: &[u8], count: usize) {
        if count > 0 {
            let (same, end) = self.differing(equal_bytes(light, before), count - 1);
            self.pending += same;
            if same < end {
                self.flush(&light[..same]);
                self.put_light(end - same);
                self.pending = light.len() - end;
            }
            self.last = [0xff; 2];
            self.pending += (count - 1) * self.line_len;
        }
        self.flush(&[]);
    }
}
