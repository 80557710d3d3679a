//! Optimal segmentation of units in up to four modes: a shortest path over the units, with one state
//! per mode.
//!
//! `crate::segment` is faster and allocates nothing, but supports neither Kanji nor FNC1, which doubles
//! a literal `%`.

use std::iter::repeat_n;
use std::ops::RangeInclusive;

use super::Encoder;
use super::header::Header;
use super::units::{SEPARATOR, Unit};
use crate::bits::BitString;
use crate::modes::Modes;
use crate::segment::{ALPHANUMERIC_VALUE, Mode, RANGES};
use crate::version::data_codewords;

const MODES: [Mode; 4] = [Mode::Numeric, Mode::Alphanumeric, Mode::Byte, Mode::Kanji];

/// Cost of a mode that cannot encode a unit; far below the maximum, so that sums do not overflow.
pub(super) const NEVER: u64 = u64::MAX / 4;

/// Costs of a unit by mode, in sixths of a bit.
fn costs(unit: &Unit, modes: Modes) -> [u64; 4] {
    let cost = |mode: Mode, count: u8| u64::from(mode.sixth_bits()) * u64::from(count);
    let numeric = if unit.first.is_ascii_digit() { cost(Mode::Numeric, 1) } else { NEVER };
    let alphanumeric = match unit.alphanumeric {
        0 => NEVER,
        values => cost(Mode::Alphanumeric, values),
    };
    let byte = cost(Mode::Byte, unit.len);
    match modes {
        Modes::Numeric => [numeric, NEVER, NEVER, NEVER],
        Modes::Alphanumeric => [NEVER, alphanumeric, NEVER, NEVER],
        Modes::Byte => [NEVER, NEVER, byte, NEVER],
        // A unit has a Kanji value only if the modes include Kanji mode.
        _ if unit.kanji.is_some() => [NEVER, NEVER, NEVER, cost(Mode::Kanji, 1)],
        _ => [numeric, alphanumeric, byte, NEVER],
    }
}

/// The lowest cost of the units so far, for each mode that may be in force after them, in sixths of a bit.
#[derive(Clone, Copy)]
pub(super) struct Path {
    by_mode: [u64; 4],
    headers: [u64; 4],
}

impl Path {
    fn new(range: usize) -> Self {
        Path::with_headers(|mode| Some(mode.header_bits(range)))
    }

    /// The path before the first unit. `header_bits` gives the length of a segment's header in each mode,
    /// or `None` for a mode that does not exist.
    pub(super) fn with_headers(header_bits: impl Fn(Mode) -> Option<u32>) -> Self {
        let headers = MODES.map(|mode| header_bits(mode).map_or(NEVER, |bits| 6 * u64::from(bits)));
        Path { by_mode: headers, headers }
    }

    /// Adds a unit. Returns the bits of all units so far and, for each mode in force after the unit, the
    /// index of the mode that encodes the unit.
    fn step(&mut self, costs: [u64; 4]) -> (u64, [u8; 4]) {
        let mut ends: [u64; 4] = std::array::from_fn(|m| self.by_mode[m] + costs[m]);
        ends.iter_mut().for_each(|end| *end = (*end).min(NEVER));
        let best = (0..4).fold(2, |best, m| if ends[m] < ends[best] { m } else { best });
        // A segment's bits are rounded up to whole bits. Rounding keeps the order of costs, so the
        // lowest cost per mode is enough.
        let whole = ends[best].div_ceil(6) * 6;
        let mut modes = [0; 4];
        for m in 0..4 {
            let (mode, cost) = match whole + self.headers[m] {
                begun if begun < ends[m] => (best, begun),
                _ => (m, ends[m]),
            };
            modes[m] = mode as u8;
            self.by_mode[m] = cost;
        }
        (whole / 6, modes)
    }
}

/// Units in one mode.
pub(super) struct Segment<'a> {
    pub(super) mode: Mode,
    pub(super) units: &'a [Unit],
}

impl Segment<'_> {
    /// Appends the count and the characters. Under FNC1, alphanumeric mode has `%` for the separator, and doubles a
    /// literal `%`.
    pub(super) fn put(&self, out: &mut BitString, data: &[u8], count_bits: u32, under_fnc1: bool) {
        let Segment { mode, units } = *self;
        let (Some(first), Some(last)) = (units.first(), units.last()) else { return };
        let bytes = &data[first.at..last.at + usize::from(last.len)];
        match mode {
            Mode::Numeric => {
                out.put(bytes.len() as u32, count_bits);
                out.put_numeric(bytes);
            }
            Mode::Alphanumeric => {
                let value_of = |byte: u8| match byte {
                    SEPARATOR if under_fnc1 => ALPHANUMERIC_VALUE[usize::from(b'%')],
                    byte => ALPHANUMERIC_VALUE[usize::from(byte)],
                };
                let values = |unit: &Unit| repeat_n(value_of(unit.first), unit.alphanumeric.into());
                let values: Vec<u8> = units.iter().flat_map(values).collect();
                out.put(values.len() as u32, count_bits);
                out.put_alphanumeric(&values);
            }
            Mode::Byte => {
                out.put(bytes.len() as u32, count_bits);
                bytes.iter().for_each(|&byte| out.put(u32::from(byte), 8));
            }
            Mode::Kanji => {
                out.put(units.len() as u32, count_bits);
                units.iter().filter_map(|unit| unit.kanji).for_each(|v| out.put(u32::from(v), 13));
            }
        }
    }
}

/// The best split of a message for one range of versions.
pub(super) struct Segments<'a> {
    /// Bits of the header and all segments.
    pub(super) bits: u64,
    pub(super) range: usize,
    pub(super) list: Vec<Segment<'a>>,
}

impl<'a> Segments<'a> {
    /// The message as `capacity` data codewords, which must be enough for it (section 7.4): header, segments,
    /// terminator, padding.
    pub(super) fn codewords(&self, data: &[u8], header: &Header, capacity: usize) -> Vec<u8> {
        let mut out = BitString::with_capacity(capacity);
        header.put(&mut out);
        for segment in &self.list {
            out.put(segment.mode.indicator(), 4);
            let count_bits = segment.mode.count_bits(self.range);
            segment.put(&mut out, data, count_bits, header.fnc1.is_some());
        }
        debug_assert_eq!(out.len() as u64, self.bits);
        out.put(0, (8 * capacity - out.len()).min(4) as u32);
        out.into_padded(capacity)
    }

    /// The smallest of `versions` that holds the units, with the best split for it.
    pub(super) fn smallest(
        units: &'a [Unit],
        encoder: &Encoder,
        header: &Header,
        versions: RangeInclusive<u8>,
    ) -> Option<(u8, Segments<'a>)> {
        let capacity = |version| 8 * data_codewords(version, encoder.level) as u64;
        RANGES.iter().enumerate().find_map(|(range, &(low, high))| {
            let (low, high) = (low.max(*versions.start()), high.min(*versions.end()));
            // Every mode takes at least 10/3 bits per unit.
            if low > high || 10 * units.len() as u64 / 3 > capacity(high) {
                return None;
            }
            let segments = Segments::new(units, encoder, header, range);
            let version = (low..=high).find(|&version| segments.bits <= capacity(version))?;
            Some((version, segments))
        })
    }

    /// Bits of the message in `version`, which need not hold it.
    pub(super) fn least_bits(
        units: &[Unit],
        encoder: &Encoder,
        header: &Header,
        version: u8,
    ) -> u64 {
        let mut path = Path::new(range_of(version));
        let bits = units.iter().fold(0, |_, unit| path.step(costs(unit, encoder.modes)).0);
        header.bits() + bits
    }

    /// How many units from the first on fit a symbol of `version` together with the header.
    pub(super) fn most_units(
        units: &[Unit],
        encoder: &Encoder,
        header: &Header,
        version: u8,
    ) -> usize {
        let mut path = Path::new(range_of(version));
        let room = 8 * data_codewords(version, encoder.level) as u64 - header.bits();
        let costs = units.iter().map(|unit| path.step(costs(unit, encoder.modes)).0);
        costs.take_while(|bits| *bits <= room).count()
    }

    fn new(units: &'a [Unit], encoder: &Encoder, header: &Header, range: usize) -> Self {
        let (bits, list) = split(units, encoder.modes, Path::new(range));
        Segments { bits: header.bits() + bits, range, list }
    }
}

/// Returns the fewest bits that the units take, and the split that takes them. The bits are at least
/// [`NEVER`] / 6 if the modes cannot encode the units.
pub(super) fn split(units: &[Unit], modes: Modes, mut path: Path) -> (u64, Vec<Segment<'_>>) {
    let mut bits = 0;
    let mut choices = Vec::with_capacity(units.len());
    for unit in units {
        let (so_far, choice) = path.step(costs(unit, modes));
        bits = so_far;
        choices.push(choice);
    }
    // No mode needs to be in force at the end, so the last unit takes the cheapest one.
    let mut mode = (0..4).fold(2, |m, k| if path.by_mode[k] < path.by_mode[m] { k } else { m });
    let mut modes = vec![0; units.len()];
    for (at, choice) in choices.iter().enumerate().rev() {
        mode = usize::from(choice[mode]);
        modes[at] = mode;
    }
    let mut list = Vec::new();
    let mut rest = units;
    for run in modes.chunk_by(|a, b| a == b) {
        let (units, after) = rest.split_at(run.len());
        list.push(Segment { mode: MODES[run[0]], units });
        rest = after;
    }
    (bits, list)
}

/// The range of versions that `version` belongs to.
pub(crate) fn range_of(version: u8) -> usize {
    RANGES.iter().position(|(_, high)| version <= *high).unwrap_or(RANGES.len() - 1)
}
