//! Text to the sequence of codewords in the symbol: the bit stream, its padding, error correction
//! and interleaving (ISO/IEC 18004 sections 7.4 to 7.6).

use crate::level::Level;
use crate::reed_solomon::{Divisor, remainders};
use crate::segment::{ALPHANUMERIC_VALUE, Mode, Segmentation};
use crate::version::{Blocks, blocks, data_codewords};

/// Packs bits into bytes, the most significant bit first.
struct BitWriter<'a> {
    bytes: &'a mut [u8],
    len: usize,
    /// The low `pending` bits are not written yet; always fewer than 32.
    bits: u64,
    pending: u32,
}

impl BitWriter<'_> {
    /// Appends the low `count` bits of `value`, at most 32; its other bits must be zero.
    fn put(&mut self, value: u32, count: u32) {
        self.bits = self.bits << count | u64::from(value);
        self.pending += count;
        if self.pending >= 32 {
            self.pending -= 32;
            let word = ((self.bits >> self.pending) as u32).to_be_bytes();
            self.bytes[self.len..self.len + 4].copy_from_slice(&word);
            self.len += 4;
        }
    }

    fn put_segment(&mut self, mode: Mode, text: &[u8], range: usize) {
        self.put(mode.indicator(), 4);
        self.put(text.len() as u32, mode.count_bits(range));
        match mode {
            Mode::Numeric => {
                for part in text.chunks(3) {
                    let value = part.iter().fold(0, |v, b| v * 10 + u32::from(b - b'0'));
                    self.put(value, [0, 4, 7, 10][part.len()]);
                }
            }
            Mode::Alphanumeric => {
                let value_of = |b: &u8| u32::from(ALPHANUMERIC_VALUE[usize::from(*b)]);
                for part in text.chunks(2) {
                    let value = part.iter().fold(0, |v, b| v * 45 + value_of(b));
                    self.put(value, [0, 6, 11][part.len()]);
                }
            }
            Mode::Byte | Mode::Kanji => {
                let (words, rest) = text.as_chunks::<4>();
                words.iter().for_each(|w| self.put(u32::from_be_bytes(*w), 32));
                rest.iter().for_each(|&b| self.put(u32::from(b), 8));
            }
        }
    }

    /// Writes the pending bits, pads the last byte with zeros, and returns the number of bytes.
    fn finish(mut self) -> usize {
        let whole = self.pending.div_ceil(8) * 8;
        let bits = self.bits << (whole - self.pending);
        for i in (0..whole / 8).rev() {
            self.bytes[self.len] = (bits >> (8 * i)) as u8;
            self.len += 1;
        }
        self.len
    }
}

/// Writes the data codewords of the text: segments, terminator, padding. `data` is 4 bytes longer than
/// `capacity`, the number of data codewords, because bits are written in whole words.
fn write_data(
    text: &[u8],
    split: &Segmentation<'_>,
    range: usize,
    data: &mut [u8],
    capacity: usize,
) {
    let mut writer = BitWriter { bytes: data, len: 0, bits: 0, pending: 0 };
    split.for_each(text, |mode, part| writer.put_segment(mode, part, range));
    let room = capacity * 8 - split.bits as usize;
    writer.put(0, room.min(4) as u32);
    let used = writer.finish();
    for (i, pad) in data[used..capacity].iter_mut().enumerate() {
        *pad = if i % 2 == 0 { 0xec } else { 0x11 };
    }
}

/// Fills `out` with the symbol's codewords, data and error correction, interleaved. `N` must exceed their
/// number by at least 4.
///
/// `split` is the segmentation of `text` for the version range `range`; `version` must belong to that
/// range and hold the text.
pub(crate) fn write_codewords<const N: usize>(
    text: &[u8],
    split: &Segmentation<'_>,
    range: usize,
    (version, level): (u8, Level),
    out: &mut [u8; N],
) {
    let capacity = data_codewords(version, level);
    let blocks = blocks(version, level);
    if blocks.count == 1 {
        write_data(text, split, range, out, capacity);
        let [ec] = remainders(Divisor::new(blocks.ec_len), [&out[..capacity]]);
        out[capacity..capacity + blocks.ec_len].copy_from_slice(&ec[..blocks.ec_len]);
    } else {
        let mut data = [0; N];
        write_data(text, split, range, &mut data, capacity);
        interleave(&data[..capacity], blocks, out);
    }
}

/// Interleaves the blocks of `data` and their error correction codewords: the first codewords of all
/// blocks, the second codewords, and so on. Long blocks have one data codeword more, at the end.
pub(crate) fn interleave(data: &[u8], blocks: Blocks, out: &mut [u8]) {
    let Blocks { count, ec_len, short_len, long_count } = blocks;
    let short_count = count - long_count;
    let start_of = |b: usize| b * short_len + b.saturating_sub(short_count);
    let block = |b: usize| &data[start_of(b)..start_of(b + 1)];
    for b in 0..count {
        let places = out[b..short_len * count].iter_mut().step_by(count);
        places.zip(&data[start_of(b)..]).for_each(|(out, codeword)| *out = *codeword);
    }
    for b in short_count..count {
        out[short_len * count + b - short_count] = data[start_of(b) + short_len];
    }
    let ec_out = &mut out[data.len()..data.len() + ec_len * count];
    let divisor = Divisor::new(ec_len);
    let mut put = |b: usize, ec: &[u8; 32]| {
        let places = ec_out[b..].iter_mut().step_by(count);
        places.zip(ec).for_each(|(out, codeword)| *out = *codeword);
    };
    let mut b = 0;
    while b < count {
        // Four blocks at a time if they have the same length.
        let same = b + 4 <= count && (b >= short_count || b + 4 <= short_count);
        if same {
            let ec = remainders(divisor, [block(b), block(b + 1), block(b + 2), block(b + 3)]);
            ec.iter().enumerate().for_each(|(k, ec)| put(b + k, ec));
            b += 4;
        } else {
            put(b, &remainders(divisor, [block(b)])[0]);
            b += 1;
        }
    }
}
