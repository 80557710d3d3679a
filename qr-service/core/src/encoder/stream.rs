//! Data codewords of a message: headers, segments, terminator, padding (ISO/IEC 18004 section 7.4).

use super::Data;
use super::header::Header;
use super::segments::{Mode, Segment, Segments};
use super::units::SEPARATOR;
use crate::bits::BitString;

/// The message as `capacity` data codewords, which must be enough for it.
pub(super) fn data_codewords(
    data: Data<'_>,
    segments: &Segments<'_>,
    header: &Header,
    capacity: usize,
) -> Vec<u8> {
    let mut out = BitString::with_capacity(capacity);
    header.put(&mut out);
    let under_fnc1 = header.fnc1.is_some();
    for segment in &segments.list {
        put_segment(&mut out, data.as_bytes(), segment, segments.range, under_fnc1);
    }
    debug_assert_eq!(out.len() as u64, segments.bits);
    out.put(0, (8 * capacity - out.len()).min(4) as u32);
    out.into_padded(capacity)
}

fn put_segment(
    out: &mut BitString,
    data: &[u8],
    segment: &Segment<'_>,
    range: usize,
    under_fnc1: bool,
) {
    let Segment { mode, units } = *segment;
    let (Some(first), Some(last)) = (units.first(), units.last()) else { return };
    let bytes = &data[first.at..last.at + usize::from(last.len)];
    let count_bits = mode.count_bits(range);
    match mode {
        Mode::Numeric => {
            out.put(1, 4);
            out.put(bytes.len() as u32, count_bits);
            out.put_numeric(bytes);
        }
        Mode::Alphanumeric => {
            let values: Vec<u8> =
                units.iter().flat_map(|unit| alphanumeric(unit.first, under_fnc1)).collect();
            out.put(2, 4);
            out.put(values.len() as u32, count_bits);
            out.put_alphanumeric(&values);
        }
        Mode::Byte => {
            out.put(4, 4);
            out.put(bytes.len() as u32, count_bits);
            bytes.iter().for_each(|&byte| out.put(u32::from(byte), 8));
        }
        Mode::Kanji => {
            out.put(8, 4);
            out.put(units.len() as u32, count_bits);
            units.iter().filter_map(|unit| unit.kanji).for_each(|v| out.put(u32::from(v), 13));
        }
    }
}

/// The values of a character: under FNC1 the separator is `%`, and a literal `%` is doubled.
fn alphanumeric(byte: u8, under_fnc1: bool) -> impl Iterator<Item = u8> {
    let (byte, count) = match byte {
        b'%' if under_fnc1 => (b'%', 2),
        SEPARATOR if under_fnc1 => (b'%', 1),
        byte => (byte, 1),
    };
    std::iter::repeat_n(crate::segment::ALPHANUMERIC_VALUE[usize::from(byte)], count)
}
