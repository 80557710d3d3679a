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
        let bytes = crate::encoder::append::shift_jis(value).to_be_bytes();
        let (decoded, _, bad) = SHIFT_JIS.decode(&bytes);
        assert!(!bad && decoded.chars().eq([char]), "{char}");
        assert!(value < 1 << 13 && values.insert(value), "{char}");
    }
    // JIS X 0208 has 6879 characters; seven are ambiguous.
    assert_eq!(values.len(), 6872);
    assert!(['\\', 'a', 'é', 'ｱ', '①', '〜', '～', '🦀'].iter().all(|c| value(*c).is_none()));
}
