use super::*;

#[test]
fn a_mode_that_micro_qr_lacks_is_no_message() {
    // Version M4: byte mode, one character, the terminator.
    let read_m4 = |before: &str| {
        let bits = format!("{before}0100000101100001{:09}", 0);
        let bytes = bits.as_bytes().chunks(8).map(|byte| {
            byte.iter().enumerate().fold(0, |sum, (at, bit)| sum | (bit & 1) << (7 - at))
        });
        read(SymbolKind::Micro, 4, &bytes.collect::<Vec<_>>(), bits.len())
    };
    assert_eq!(read_m4("").map(|content| content.bytes), Some(b"a".to_vec()));
    // FNC1 in both positions, ECI and structured append have no indicator there.
    for before in ["100", "10100000001", "11000011010", "1110000000100000000"] {
        assert_eq!(read_m4(before), None, "{before}");
    }
}
