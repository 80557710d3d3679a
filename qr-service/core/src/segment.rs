//! Optimal segmentation: the split of a text into modes that takes the fewest bits.
//!
//! Modes change only at the ends of runs of one character class. A digit costs at most 4 bits in
//! numeric mode and at least 5 in alphanumeric mode; an alphanumeric character costs at most 6 bits
//! there and 8 as a byte. So a segment of a denser mode always gains by taking in the whole run. The
//! best split is then a shortest path over the runs, with one state per mode.

use crate::version::MAX_TEXT_BYTES;

/// A mode of ISO/IEC 18004 section 7.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Numeric,
    Alphanumeric,
    Byte,
    /// Not used here: UTF-8 bytes that look like Shift JIS would decode to other text. [`crate::Encoder`] offers it as
    /// an option.
    Kanji,
}

/// The modes that are used here.
const MODES: [Mode; 3] = [Mode::Numeric, Mode::Alphanumeric, Mode::Byte];

/// The characters of alphanumeric mode in the order of their values (table 5).
pub(crate) const ALPHANUMERIC: &[u8; 45] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

/// Value of each byte in alphanumeric mode; 45 if it has none. Values below 10 are the digits.
pub(crate) const ALPHANUMERIC_VALUE: [u8; 256] = {
    let mut values = [45; 256];
    let mut i = 0;
    while i < ALPHANUMERIC.len() {
        values[ALPHANUMERIC[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// The densest mode that can encode each byte, as an index of [`MODES`].
const CLASS: [u8; 256] = {
    let mut classes = [0; 256];
    let mut i = 0;
    while i < 256 {
        classes[i] = (ALPHANUMERIC_VALUE[i] >= 10) as u8 + (ALPHANUMERIC_VALUE[i] >= 45) as u8;
        i += 1;
    }
    classes
};

/// The densest mode that can encode a byte, as an index of [`MODES`].
pub(crate) fn class_of(byte: u8) -> usize {
    usize::from(CLASS[usize::from(byte)])
}

/// The three ranges of versions within which the character count has the same width (table 3).
pub(crate) const RANGES: [(u8, u8); 3] = [(1, 9), (10, 26), (27, 40)];

impl Mode {
    /// Width of the character count indicator in a range of versions, in bits.
    pub(crate) fn count_bits(self, range: usize) -> u32 {
        match self {
            Mode::Numeric => [10, 12, 14][range],
            Mode::Alphanumeric => [9, 11, 13][range],
            Mode::Byte => [8, 16, 16][range],
            Mode::Kanji => [8, 10, 12][range],
        }
    }

    /// The mode indicator, of 4 bits.
    pub(crate) fn indicator(self) -> u32 {
        1 << self as u32
    }

    /// Bits of the mode indicator and the character count indicator.
    pub(crate) fn header_bits(self, range: usize) -> u32 {
        4 + self.count_bits(range)
    }

    /// Cost of a character in sixths of a bit: 10/3 bits for a digit, 11/2 for an alphanumeric
    /// character, 8 for a byte, 13 for a Kanji.
    pub(crate) const fn sixth_bits(self) -> u32 {
        match self {
            Mode::Numeric => 20,
            Mode::Alphanumeric => 33,
            Mode::Byte => 48,
            Mode::Kanji => 78,
        }
    }
}

/// Marks a byte that continues the run of the byte before it.
pub(crate) const CONTINUES: u8 = 0xff;
/// Cost of a mode that cannot encode the run; half the maximum, so that sums do not overflow.
const NEVER: u32 = u32::MAX / 2;

/// At the start of each run, the mode to encode it in: two bits for each mode that the text before it may end
/// in. At least as long as the text.
pub(crate) type Choices = [u8];

/// The best split of a text in one range of versions.
pub(crate) struct Segmentation<'a> {
    /// Bits of all segments, headers included.
    pub(crate) bits: u32,
    /// `None` if one byte segment is best.
    choices: Option<&'a Choices>,
}

/// The most that each character saves if it is not encoded as a byte, in sixths of a bit.
const SAVED: [u8; 256] = {
    let mut saved = [0; 256];
    let mut i = 0;
    while i < 256 {
        saved[i] = (Mode::Byte.sixth_bits() - MODES[CLASS[i] as usize].sixth_bits()) as u8;
        i += 1;
    }
    saved
};

/// Whether one byte segment is certainly the best split in every range of versions, because no run
/// of other characters is long enough to pay for the headers around it.
pub(crate) fn is_best_as_bytes(text: &[u8]) -> bool {
    // The lowest cost of a run's headers, in sixths of a bit: 13 bits for its own header, and 12 for that of
    // a byte segment after it if there are bytes on both sides.
    const AT_AN_END: u32 = 13 * 6;
    const INSIDE: u32 = AT_AN_END + 12 * 6;
    let (mut saved, mut bound, mut has_bytes) = (0, AT_AN_END, false);
    for part in text.chunks(64) {
        let mut saves_more = false;
        // Without branches, because classes are close to random.
        for &byte in part {
            let by_character = u32::from(SAVED[usize::from(byte)]);
            let is_byte = by_character == 0;
            saved = if is_byte { 0 } else { saved + by_character };
            bound = if is_byte { INSIDE } else { bound };
            has_bytes |= is_byte;
            saves_more |= saved > bound;
        }
        if saves_more {
            return false;
        }
    }
    has_bytes && saved <= AT_AN_END
}

/// Splits `text`, of at most [`MAX_TEXT_BYTES`] bytes, for the versions of `RANGES[range]`. Returns the bits of
/// all segments.
fn split(text: &[u8], range: usize, choices: &mut Choices) -> u32 {
    choices[..text.len()].fill(CONTINUES);
    let header = MODES.map(|m| m.header_bits(range) * 6);
    // Cost of the rest of the text by the mode in force before it, in sixths of a bit.
    let mut rest = [0; 3];
    let mut bits = 0;
    let mut end = text.len();
    while end > 0 {
        let class = class_of(text[end - 1]);
        let run = text[..end].iter().rev().take_while(|&&b| class_of(b) == class).count();
        let start = end - run;
        (choices[start], bits) = choose(class, run as u32, &header, &mut rest);
        end = start;
    }
    bits
}

impl Segmentation<'_> {
    /// Calls `put` with the mode and the text of each segment, in order.
    pub(crate) fn for_each(&self, text: &[u8], mut put: impl FnMut(Mode, &[u8])) {
        let Some(choices) = self.choices else {
            return put(Mode::Byte, text);
        };
        // At the start no mode is in force: the fourth entry.
        let (mut mode, mut start) = (3, 0);
        for (at, &packed) in choices[..text.len()].iter().enumerate() {
            if packed == CONTINUES {
                continue;
            }
            let next = usize::from(packed >> (2 * mode) & 3);
            if next != mode {
                if at > start {
                    put(MODES[mode], &text[start..at]);
                }
                (mode, start) = (next, at);
            }
        }
        if start < text.len() {
            put(MODES[mode], &text[start..]);
        }
    }
}

/// Puts a run of `len` characters of `class` before the rest of the text and updates the costs in
/// `rest`. Returns the best mode for the run by the mode in force before it (packed; the fourth entry
/// is for no mode), and the total bits if no mode is in force.
///
/// A segment's bits are rounded up to whole bits at its start. Rounding keeps the order of costs, so
/// the lowest cost per state is enough.
fn choose(class: usize, len: u32, header: &[u32; 3], rest: &mut [u32; 3]) -> (u8, u32) {
    let mut stay = [NEVER; 3];
    let mut begin = [NEVER; 3];
    for m in class..3 {
        stay[m] = rest[m] + len * MODES[m].sixth_bits();
        begin[m] = stay[m].div_ceil(6) * 6 + header[m];
    }
    let best = (0..3).fold(2, |best, m| if begin[m] < begin[best] { m } else { best });
    let mut packed = (best << 6) as u8;
    for m in 0..3 {
        let (mode, cost) = if begin[best] < stay[m] { (best, begin[best]) } else { (m, stay[m]) };
        packed |= (mode << (2 * m)) as u8;
        rest[m] = cost;
    }
    (packed, begin[best] / 6)
}

/// Returns the first of the version ranges that holds `text`, and the best split for it; `None` if no
/// range does. `choices` is a buffer for the split, or `None` if [`is_best_as_bytes`]. `fits(range, bits)` says
/// whether a version of the range holds that many bits.
pub(crate) fn segment<'a>(
    text: &[u8],
    mut choices: Option<&'a mut Choices>,
    fits: impl Fn(usize, u32) -> bool,
) -> Option<(usize, Segmentation<'a>)> {
    if text.len() > MAX_TEXT_BYTES {
        return None;
    }
    // A lower bound of the bits, to skip ranges that cannot hold the text.
    let least = 10 * text.len() as u32 / 3;
    for range in (0..RANGES.len()).filter(|range| fits(*range, least)) {
        let bits = match &mut choices {
            Some(choices) => split(text, range, choices),
            None => Mode::Byte.header_bits(range) + 8 * text.len() as u32,
        };
        if fits(range, bits) {
            return Some((range, Segmentation { bits, choices: choices.map(|choices| &*choices) }));
        }
    }
    None
}

/// Bits of the best split of a text of any length in one range of versions. It is slow, because it tries each byte in
/// each mode, so it is only for texts that do not fit.
pub(crate) fn least_bits(text: &[u8], range: usize) -> u64 {
    const NEVER: u64 = u64::MAX / 2;
    // As in `choose`, in sixths of a bit.
    let (mut rest, mut bits) = ([0; 3], 0);
    for &byte in text.iter().rev() {
        let in_mode = |m: usize| {
            if m < class_of(byte) { NEVER } else { rest[m] + u64::from(MODES[m].sixth_bits()) }
        };
        let stay: [u64; 3] = std::array::from_fn(in_mode);
        let begin = |m: usize| stay[m].div_ceil(6) * 6 + 6 * u64::from(MODES[m].header_bits(range));
        let best = begin(0).min(begin(1)).min(begin(2));
        rest = stay.map(|bits| bits.min(best));
        bits = best / 6;
    }
    bits
}

#[cfg(test)]
mod tests;
