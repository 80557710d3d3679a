//! Kanji mode: two-byte Shift JIS in 13 bits (ISO/IEC 18004 section 7.4.6).

use encoding_rs::SHIFT_JIS;

/// Codes that the tables of readers map to different characters: Unicode's SHIFTJIS.TXT makes a
/// backslash of the first, and JIS X 0208 and Microsoft's code page 932 differ on the others.
const AMBIGUOUS: [u16; 7] = [0x815f, 0x8160, 0x8161, 0x817c, 0x8191, 0x8192, 0x81ca];
/// Codes that JIS X 0208 leaves free and NEC's extension uses in part.
const EXTENSIONS: std::ops::RangeInclusive<u16> = 0x8540..=0x889e;
/// The last code of JIS X 0208.
const LAST: u16 = 0xeaa4;

/// The value of a character in Kanji mode; `None` if it has no code there, or one that readers
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

/// The Shift JIS code of a value.
pub(super) fn code(value: u16) -> u16 {
    let offset = ((value / 0xc0) << 8) | (value % 0xc0);
    offset + if offset < 0x1f00 { 0x8140 } else { 0xc140 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_examples_have_their_values() {
        // Section 7.4.6: 0x935F and 0xE4AA.
        assert_eq!(value('点'), Some(0b0_1101_1001_1111));
        assert_eq!(value('茗'), Some(0b1_1010_1010_1010));
    }

    #[test]
    fn every_value_is_that_of_a_character_that_the_code_decodes_to() {
        let mut values = std::collections::BTreeSet::new();
        for char in '\0'..=char::MAX {
            let Some(value) = value(char) else { continue };
            let bytes = code(value).to_be_bytes();
            let (decoded, _, bad) = SHIFT_JIS.decode(&bytes);
            assert!(!bad && decoded.chars().eq([char]), "{char}");
            assert!(value < 1 << 13 && values.insert(value), "{char}");
        }
        // JIS X 0208 has 6879 characters; seven are ambiguous.
        assert_eq!(values.len(), 6872);
        assert!(['\\', 'a', 'é', 'ｱ', '①', '〜', '～', '🦀'].iter().all(|c| value(*c).is_none()));
    }
}
