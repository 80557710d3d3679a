use super::*;

#[test]
fn figures_are_short() {
    for (number, text) in [
        (0.0, "0"),
        (1.0, "1"),
        (1.035_714, "1.036"),
        (99.994, "99.99"),
        (100_000.4, "100000"),
        (0.000_254_1, "0.0002541"),
        (-0.5, "-0.5"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(short(number), text);
    }
}
