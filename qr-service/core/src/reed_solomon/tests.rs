use super::*;

#[test]
fn the_standards_worked_example_has_its_error_correction_codewords() {
    // Annex I: "01234567" in version 1-M.
    let data = [
        0x10, 0x20, 0x0c, 0x56, 0x61, 0x80, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec, 0x11, 0xec,
        0x11,
    ];
    let [ec] = remainders(Divisor::new(10), [&data]);
    assert_eq!(ec[..10], [0xa5, 0x24, 0xd4, 0xc1, 0xed, 0x36, 0xc7, 0x87, 0x2c, 0x55]);
    assert_eq!(ec[10..], [0; 22]);
}

#[test]
fn multiplication_is_that_of_the_field() {
    assert_eq!(multiply(2, 0x80), 0x1d);
    assert_eq!(multiply(0x53, 1), 0x53);
    let mut power = 1;
    for _ in 0..255 {
        power = multiply(power, 2);
    }
    assert_eq!(power, 1, "2 generates all 255 elements");
}
