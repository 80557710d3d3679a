//! Optimal segmentation: the split of a text over modes that takes the fewest bits.

/// A mode of ISO/IEC 18004 section 7.4. Kanji is left out on purpose: UTF-8 bytes that look like
/// Shift-JIS would decode to something else. ECI headers are never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Numeric,
    Alphanumeric,
    Byte,
}

const MODES: [Mode; 3] = [Mode::Numeric, Mode::Alphanumeric, Mode::Byte];

/// A run of bytes of the text in one mode, from `start` to `end` (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) mode: Mode,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Mode {
    fn takes(self, byte: u8) -> bool {
        match self {
            Mode::Numeric => byte.is_ascii_digit(),
            Mode::Alphanumeric => {
                byte.is_ascii_digit() || byte.is_ascii_uppercase() || b" $%*+-./:".contains(&byte)
            }
            Mode::Byte => true,
        }
    }

    /// Bits of mode indicator and character count, by version range (table 3).
    fn header_bits(self, version: u8) -> u32 {
        let range = match version {
            ..10 => 0,
            10..27 => 1,
            _ => 2,
        };
        4 + match self {
            Mode::Numeric => [10, 12, 14][range],
            Mode::Alphanumeric => [9, 11, 13][range],
            Mode::Byte => [8, 16, 16][range],
        }
    }

    /// Sixths of a bit a character: 10/3 bits a digit, 11/2 an alphanumeric, 8 a byte.
    fn sixth_bits(self) -> u32 {
        match self {
            Mode::Numeric => 20,
            Mode::Alphanumeric => 33,
            Mode::Byte => 48,
        }
    }
}

/// The segmentation of fewest bits at the header widths of `version`: a shortest path over the
/// text, one node per byte and mode. Costs are sixths of a bit; a segment's cost is rounded up to
/// whole bits where it ends, so comparing exact costs at each switch is exact.
pub(crate) fn segment_optimally(text: &[u8], version: u8) -> Vec<Segment> {
    let header = MODES.map(|m| m.header_bits(version) * 6);
    let mut from: Vec<[usize; 3]> = Vec::with_capacity(text.len());
    // Cost of being in each mode before the first byte.
    let mut cost = header;
    for &byte in text {
        let mut next = [u32::MAX; 3];
        let mut came = [0; 3];
        for (m, mode) in MODES.into_iter().enumerate() {
            if mode.takes(byte) && cost[m] != u32::MAX {
                next[m] = cost[m] + mode.sixth_bits();
                came[m] = m;
            }
        }
        // After this byte the segment may end and another mode begin.
        let ended = next;
        for to in 0..3 {
            for (end, &spent) in ended.iter().enumerate() {
                if spent != u32::MAX && end != to {
                    let switched = spent.div_ceil(6) * 6 + header[to];
                    if switched < next[to] {
                        next[to] = switched;
                        came[to] = end;
                    }
                }
            }
        }
        cost = next;
        from.push(came);
    }
    trace_back(&from, cost)
}

/// Walks the choices back from the cheapest end.
fn trace_back(from: &[[usize; 3]], cost: [u32; 3]) -> Vec<Segment> {
    let mut mode = (0..3).min_by_key(|&m| cost[m].div_ceil(6)).unwrap_or(2);
    let mut segments: Vec<Segment> = Vec::new();
    for (at, came) in from.iter().enumerate().rev() {
        mode = came[mode];
        match segments.last_mut() {
            Some(last) if last.mode == MODES[mode] => last.start = at,
            _ => segments.push(Segment { mode: MODES[mode], start: at, end: at + 1 }),
        }
    }
    segments.reverse();
    segments
}
