//! Kanji mode: two-byte Shift JIS in 13 bits (ISO/IEC 18004 section 7.4.6).

use encoding_rs::SHIFT_JIS;

/// Codes that the tables of readers map to different characters: Unicode's SHIFTJIS.TXT makes a
/// backslash of the first, and JIS X 0208 and Microsoft's code page 932 differ on the others.
const AMBIGUOUS: [u16; 7] = [0x815f, 0x8160, 0x8161, 0x817c, 0x8191, 0x8192, 0x81ca];
/// Codes that JIS X 0208 leaves free and NEC's extension uses in part.
const EXTENSIONS: std::ops::RangeInclusive<u16> = 0x8540..=0x889e;
/// The last code of JIS X 0208.
const LAST: u16 = 0xeaa4;

/// The value of a character in Kanji mode; `None` if it has no Shift JIS code there, or one that readers
/// disagree on.
pub(super) fn value(char: char) -> Option<u16> {
    let mut utf8 = [0; 4];
    let (bytes, _, unmappable) = SHIFT_JIS.encode(char.encode_utf8(&mut utf8));
    let &[high, low] = bytes.as_ref() else { return None };
    let code = u16::from_be_bytes([high, low]);
    if unmappable || code > LAST || EXTENSIONS.contains(&code) || AMBIGUOUS.contains(&code) {
        return None;
    }
    let base = match code {
        0x8140..=0x9ffc => 0x8140,
        0xe040.. => 0xc140,
        _ => return None,
    };
    let offset = code - base;
    Some((offset >> 8) * 0xc0 + (offset & 0xff))
}

#[cfg(test)]
mod tests;
