//! Adler-32 (RFC 1950 section 9) of repeated lines.
//!
//! `a` is the sum of all bytes, `b` the sum of all values of `a`. A line `d` of `n` bytes adds
//! `sum(d)` to `a`, and `n * a + sum((n - i) * d[i])` to `b`. So each line is summed once, and its
//! repetitions follow by arithmetic. What depends on the place in the line is summed for many lines at once:
//! first their bytes by column, and then the columns.

/// The largest prime below 2^16.
const MODULUS: u64 = 65521;

/// Bytes that are summed side by side.
const SIDE: usize = 16;

/// Lines whose columns can be summed before a sum of bytes exceeds 15 bits.
const MOST_LINES: usize = 128;

/// The checksum so far, of lines of the same length in buffers of `S` bytes, at most 2064. Behind the line a
/// buffer has light pixels, 0xff.
///
/// Sums are reduced only at the end: a picture has at most 2049 bytes in each of 16384 lines, so
/// `b` stays below 255 / 2 * (2049 * 16384)^2, which is less than 2^58.
pub(super) struct Adler<const S: usize> {
    a: u64,
    b: u64,
    len: usize,
    /// How often each of the lines in `columns` is repeated, and how many they are.
    count: usize,
    lines: usize,
    /// The sum of the bytes of these lines, by place.
    columns: [i16; S],
}

impl<const S: usize> Adler<S> {
    /// For lines of `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        Adler { a: 1, b: 0, len, count: 0, lines: 0, columns: [0; S] }
    }

    /// Adds the line at the beginning of `buffer` `count` times.
    #[inline(always)]
    pub(super) fn add(&mut self, buffer: &[u8; S], count: usize) {
        if count != self.count || self.lines == MOST_LINES {
            self.add_columns();
            self.count = count;
        }
        self.lines += 1;
        let sum = self.sum_up(buffer);
        let (len, count) = (self.len as u64, count as u64);
        // Each copy adds the sum of all copies before it once per byte.
        let pairs = count * count.saturating_sub(1) / 2;
        self.b += len * (count * self.a + pairs * sum);
        self.a += count * sum;
    }

    /// The bytes of a line that are summed, with some of those behind it.
    fn end(&self) -> usize {
        // A loop of fixed length is shorter, if the buffer is.
        if S <= MOST_LINES { S } else { self.len.next_multiple_of(SIDE).min(S) }
    }

    /// The sum of the line's bytes; adds them to `columns`.
    #[inline(always)]
    fn sum_up(&mut self, buffer: &[u8; S]) -> u64 {
        let end = self.end();
        let mut sums = [0_i16; SIDE];
        let (bytes, _) = buffer[..end].as_chunks::<SIDE>();
        let (columns, _) = self.columns[..end].as_chunks_mut::<SIDE>();
        for (bytes, columns) in bytes.iter().zip(columns) {
            for i in 0..SIDE {
                columns[i] += i16::from(bytes[i]);
                sums[i] += i16::from(bytes[i]);
            }
        }
        let sum = if S <= MOST_LINES {
            i32::from(sums.iter().sum::<i16>())
        } else {
            sums.iter().map(|sum| i32::from(*sum)).sum()
        };
        sum as u64 - 0xff * (end - self.len) as u64
    }

    /// Adds what depends on the place in the line: `b` counts byte `i` `n - i` times.
    #[inline(never)]
    fn add_columns(&mut self) {
        let mut sum = 0;
        for (first, columns) in (0..).step_by(SIDE).zip(self.columns.as_chunks::<SIDE>().0) {
            let weight_of = |i: usize| (self.len as i16 - first - i as i16).max(0);
            let weighted = |i: usize| i32::from(columns[i]) * i32::from(weight_of(i));
            sum += (0..SIDE).map(weighted).sum::<i32>() as u64;
        }
        self.b += self.count as u64 * sum;
        self.columns = [0; S];
        self.lines = 0;
    }

    pub(super) fn finish(mut self) -> u32 {
        self.add_columns();
        (((self.b % MODULUS) << 16) | (self.a % MODULUS)) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, byte by byte.
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
                sum.add(&buffer, count);
                (0..count).for_each(|_| bytes.extend_from_slice(&buffer[..len]));
                before = count;
            }
            prop_assert_eq!(sum.finish(), adler32(bytes.iter()));
        }
    }

    #[test]
    fn columns_of_light_lines_do_not_overflow() {
        let mut sum = Adler::<48>::new(26);
        (0..2 * MOST_LINES).for_each(|_| sum.add(&[0xff; 48], 5));
        assert_eq!(sum.finish(), adler32(vec![0xff; 26 * 5 * 2 * MOST_LINES].iter()));
    }
}
