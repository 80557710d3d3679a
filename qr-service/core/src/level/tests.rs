use super::*;

#[test]
fn a_level_is_read_from_its_letter_in_either_case() {
    for level in Level::ALL {
        let letter = level.to_string();
        assert_eq!(letter.parse(), Ok(level));
        assert_eq!(letter.to_lowercase().parse(), Ok(level));
    }
    for text in ["", "X", "LL", " L"] {
        assert_eq!(text.parse::<Level>(), Err(crate::Error::Level));
    }
}
