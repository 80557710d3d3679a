use super::*;
use proptest::prelude::*;

/// Returns the bits of one segment, by the formulas of section 7.4.
fn segment_bits(mode: Mode, len: usize, range: usize) -> usize {
    let payload = match mode {
        Mode::Numeric => len / 3 * 10 + [0, 4, 7][len % 3],
        Mode::Alphanumeric => len / 2 * 11 + len % 2 * 6,
        Mode::Byte => len * 8,
        Mode::Kanji => len * 13,
    };
    mode.header_bits(range) as usize + payload
}

/// Returns the least bits over all splits, by a plain shortest path over all bytes, to compare with.
fn plain_least_bits(text: &[u8], range: usize) -> usize {
    let mut least = vec![0; text.len() + 1];
    for start in (0..text.len()).rev() {
        least[start] = usize::MAX;
        for end in start + 1..=text.len() {
            let class = text[start..end].iter().map(|&b| class_of(b)).max().unwrap();
            for mode in &MODES[class..] {
                least[start] =
                    least[start].min(segment_bits(*mode, end - start, range) + least[end]);
            }
        }
    }
    least[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_split_takes_fewer_bits(
        pieces in proptest::collection::vec(
            prop_oneof!["[0-9]{1,16}", "[A-Z0-9:/ ]{1,12}", "[a-z0-9]{1,10}", "[a-z]{1,3}", "é{1,3}"],
            1..7,
        ),
        range in 0..3usize,
    ) {
        let text = pieces.concat();
        let text = text.as_bytes();
        let mut choices = [CONTINUES; MAX_TEXT_BYTES];
        let choices = (!is_best_as_bytes(text)).then_some(&mut choices[..]);
        let (_, split) = segment(text, choices, |tried, _| tried == range).expect("fits");
        prop_assert_eq!(split.bits as usize, plain_least_bits(text, range));
        prop_assert_eq!(u64::from(split.bits), least_bits(text, range));
        let (mut bits, mut joined) = (0, Vec::new());
        split.for_each(text, |mode, part| {
            bits += segment_bits(mode, part.len(), range);
            joined.extend_from_slice(part);
        });
        prop_assert_eq!(bits, split.bits as usize);
        prop_assert_eq!(joined, text);
    }
}
