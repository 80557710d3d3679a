use super::*;
use proptest::prelude::*;

fn check<const N: usize>(counts: [u32; N], max_bits: usize) -> Result<(), TestCaseError> {
    let lengths = lengths_of(&counts, max_bits);
    for (count, length) in counts.iter().zip(lengths) {
        prop_assert_eq!(*count > 0, length > 0);
        prop_assert!(usize::from(length) <= max_bits);
    }
    let used: Vec<u8> = lengths.into_iter().filter(|&length| length > 0).collect();
    let sum: u32 = used.iter().map(|length| 1 << (max_bits - usize::from(*length))).sum();
    if used.len() >= 2 {
        prop_assert_eq!(sum, 1 << max_bits, "{:?}", used);
    }
    Ok(())
}

proptest! {
    #[test]
    fn codes_are_complete_and_no_longer_than_allowed(
        exponents in proptest::collection::vec(0_u32..24, LITERALS),
        unused in proptest::collection::vec(any::<bool>(), LITERALS),
    ) {
        // Counts that grow by powers give the deepest trees.
        let count = |i: usize| if unused[i] { 0 } else { 1 << exponents[i] };
        check::<LITERALS>(std::array::from_fn(count), MAX_BITS)?;
        check::<LENGTH_SYMBOLS>(std::array::from_fn(count), MAX_LENGTH_BITS)?;
    }
}

#[test]
fn the_deepest_of_trees_is_cut_to_a_complete_code() {
    let mut fibonacci = [1_u32; LENGTH_SYMBOLS];
    for i in 2..LENGTH_SYMBOLS {
        fibonacci[i] = fibonacci[i - 1] + fibonacci[i - 2];
    }
    check(fibonacci, MAX_LENGTH_BITS).expect("complete");
}
