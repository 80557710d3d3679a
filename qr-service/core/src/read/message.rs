//! The segments of a message (ISO/IEC 18004 section 7.4, ISO/IEC 23941 section 7.4).

use super::SymbolKind;
use crate::encoder::{Fnc1, Part, micro_count_bits, range_of, shift_jis};
use crate::rmqr;
use crate::segment::{ALPHANUMERIC, Mode};

/// What a symbol says.
#[doc = example!(read: assert_eq!(symbols[0].content.fnc1, None))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Content {
    /// The bytes of all segments. Those in Kanji mode are Shift JIS; no ECI is applied. Under FNC1, the separator is
    /// 0x1d.
    pub bytes: Vec<u8>,
    /// The last ECI assignment number.
    pub eci: Option<u32>,
    /// The meaning that an FNC1 indicator gives the bytes.
    pub fnc1: Option<Fnc1>,
    /// The place in structured append.
    pub part: Option<Part>,
}

struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    len: usize,
}

impl Bits<'_> {
    /// The next bits, at most 24, without taking them; `None` if there are fewer.
    fn peek(&self, count: usize) -> Option<u32> {
        if self.at + count > self.len {
            return None;
        }
        let byte = |k: usize| u32::from(self.data.get(self.at / 8 + k).copied().unwrap_or(0));
        let word = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
        Some((word << (self.at % 8)).checked_shr(32 - count as u32).unwrap_or(0))
    }

    fn take(&mut self, count: usize) -> Option<u32> {
        let bits = self.peek(count)?;
        self.at += count;
        Some(bits)
    }

    /// Takes bits that have to be zeros, at most `count`. Whether they are.
    fn take_zeros(&mut self, count: usize) -> bool {
        self.take(count.min(self.len - self.at)) == Some(0)
    }

    /// An ECI assignment number (table 4).
    fn take_eci(&mut self) -> Option<u32> {
        match self.peek(3)? {
            0..=3 => self.take(8),
            4 | 5 => Some(self.take(16)? & 0x3fff),
            6 => Some(self.take(24)? & 0x1f_ffff),
            _ => None,
        }
    }

    /// Whether only a terminator and padding are left (section 7.4.10).
    fn ends_in_padding(mut self, terminator: usize) -> bool {
        self.take_zeros(terminator)
            && self.take_zeros(self.at.next_multiple_of(8) - self.at)
            && (0..(self.len - self.at) / 8).all(|k| self.take(8) == Some([0xec, 0x11][k % 2]))
            && self.take_zeros(4)
    }
}

/// What a mode indicator of QR says: the modes are 1 to 4; then FNC1 in first and second position, ECI, structured
/// append. The indicators of rMQR are these numbers; those of Micro QR begin at 0.
const MEANINGS: [u32; 16] = [0, 1, 2, 8, 3, 5, 0, 7, 4, 6, 0, 0, 0, 0, 0, 0];
const MODES: [Mode; 4] = [Mode::Numeric, Mode::Alphanumeric, Mode::Byte, Mode::Kanji];

/// Reads the message in the first `len` bits of data codewords. `None` unless all of it is as the standard says.
pub(super) fn read(kind: SymbolKind, version: u8, data: &[u8], len: usize) -> Option<Content> {
    let mut bits = Bits { data, at: 0, len };
    let mut content = Content::default();
    let (indicator, terminator) = match kind {
        SymbolKind::Qr => (4, 4),
        SymbolKind::Micro => (usize::from(version) - 1, 2 * usize::from(version) + 1),
        SymbolKind::Rmqr => (3, 3),
    };
    while bits.peek(terminator.min(len - bits.at)) != Some(0) {
        let value = bits.take(indicator)?;
        let meaning = match kind {
            SymbolKind::Qr => MEANINGS[value as usize],
            SymbolKind::Micro if value < 4 => value + 1,
            SymbolKind::Micro => return None,
            SymbolKind::Rmqr => value,
        };
        match meaning {
            1..=4 => {
                let mode = MODES[meaning as usize - 1];
                let count_bits = match kind {
                    SymbolKind::Qr => mode.count_bits(range_of(version)),
                    SymbolKind::Micro => micro_count_bits(mode, version)?,
                    SymbolKind::Rmqr => {
                        rmqr::KINDS[usize::from(version) - 1].count_bits[mode as usize].into()
                    }
                };
                let count = bits.take(count_bits as usize)? as usize;
                read_segment(&mut bits, mode, count, &mut content)?;
            }
            7 => content.eci = Some(bits.take_eci()?),
            // The others stand before all data.
            5 | 6 | 8 if !content.bytes.is_empty() => return None,
            5 => content.fnc1 = Some(Fnc1::Gs1),
            6 => content.fnc1 = Some(Fnc1::Aim(bits.take(8)? as u8)),
            8 => {
                let [index, last] = [bits.take(4)?, bits.take(4)?].map(|it| it as usize);
                let parity = bits.take(8)? as u8;
                content.part = Some(Part { index, total: last + 1, parity });
            }
            _ => return None,
        }
    }
    (bits.ends_in_padding(terminator) && !content.bytes.is_empty()).then_some(content)
}

/// Appends the characters of a segment to the content. `None` if they are fewer, or a value means none.
fn read_segment(
    bits: &mut Bits<'_>,
    mode: Mode,
    count: usize,
    content: &mut Content,
) -> Option<()> {
    let (start, out) = (content.bytes.len(), &mut content.bytes);
    // Characters of a group, which takes the bits in the second table; fewer at the end take those before it.
    let (base, widths): (u32, &[usize]) = match mode {
        Mode::Numeric => (10, &[0, 4, 7, 10]),
        Mode::Alphanumeric => (45, &[0, 6, 11]),
        Mode::Byte => (256, &[0, 8]),
        Mode::Kanji => (1 << 13, &[0, 13]),
    };
    let mut left = count;
    while left > 0 {
        let group = left.min(widths.len() - 1);
        let value = bits.take(widths[group])?;
        if value >= base.pow(group as u32) {
            return None;
        }
        match mode {
            Mode::Byte => out.push(value as u8),
            Mode::Kanji => out.extend(shift_jis(value as u16).to_be_bytes()),
            _ => {
                let powers = (0..group as u32).rev().map(|k| base.pow(k));
                out.extend(powers.map(|it| ALPHANUMERIC[(value / it % base) as usize]));
            }
        }
        left -= group;
    }
    if mode == Mode::Alphanumeric && content.fnc1.is_some() {
        // `%` is the separator of elements, and a doubled one is itself (section 7.4.8.2).
        let mut rest = out.split_off(start).into_iter().peekable();
        while let Some(byte) = rest.next() {
            let is_separator = byte == b'%' && rest.next_if_eq(&b'%').is_none();
            out.push(if is_separator { 0x1d } else { byte });
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
