use proptest::prelude::*;

use super::*;

/// Computes the checksum by its definition, byte by byte.
fn adler32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    let (mut a, mut b) = (1, 0);
    for byte in bytes {
        a = (a + u64::from(*byte)) % MODULUS;
        b = (b + a) % MODULUS;
    }
    (b << 16 | a) as u32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn the_sum_of_lines_is_that_of_their_bytes(
        len in 1_usize..48,
        lines in proptest::collection::vec((any::<[u8; 48]>(), 1_usize..4, any::<bool>()), 1..700),
    ) {
        let mut sum = Adler::<48>::new(len);
        let mut bytes = Vec::new();
        let mut before = 1;
        for (mut buffer, mut count, is_as_before) in lines {
            if is_as_before {
                count = before;
            }
            buffer[len..].fill(0xff);
            match buffer[0] % 4 {
                0 => {
                    buffer = [0xff; 48];
                    buffer[0] = 0;
                    sum.add_light(count);
                }
                _ => sum.add(&buffer, count),
            }
            (0..count).for_each(|_| bytes.extend_from_slice(&buffer[..len]));
            before = count;
        }
        prop_assert_eq!(sum.finish(), adler32(bytes.iter()));
    }
}

/// Light bytes give the largest sum, and the longest line adds the most words.
#[test]
fn the_longest_light_lines_do_not_overflow() {
    let mut sum = Adler::<2064>::new(2049);
    (0..3).for_each(|_| sum.add(&[0xff; 2064], 2));
    assert_eq!(sum.finish(), adler32(vec![0xff; 2049 * 3 * 2].iter()));
}

#[test]
fn columns_of_light_lines_do_not_overflow() {
    let mut sum = Adler::<48>::new(26);
    (0..2 * MOST_LINES).for_each(|_| sum.add(&[0xff; 48], 5));
    assert_eq!(sum.finish(), adler32(vec![0xff; 26 * 5 * 2 * MOST_LINES].iter()));
}
