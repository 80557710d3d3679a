use super::*;

#[test]
fn a_larger_number_has_a_larger_digit_or_more_digits() {
    assert_eq!(larger_than(99), r"[1-9]\d{2,}");
    let expected = r"[2-9]\d{2}|1[1-9]\d{1}|10[9-9]\d{0}|[1-9]\d{3,}";
    assert_eq!(larger_than(108), expected);
}
