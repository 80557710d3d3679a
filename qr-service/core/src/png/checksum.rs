//! Adler-32 (RFC 1950 section 9) of repeated lines.
//!
//! `a` is the sum of all bytes, `b` the sum of all values of `a`. A line `d` of `n` bytes adds
//! `sum(d)` to `a`, and `n * a + sum((n - i) * d[i])` to `b`. So each line is summed once, and its
//! repetitions follow by arithmetic. The part that depends on the place in the line is computed for many lines
//! at once: first their bytes are summed by column, then the columns.

/// The largest prime below 2^16.
pub(super) const MODULUS: u64 = 65521;

/// The even bytes of a word.
const EVEN_BYTES: u64 = 0x00ff_00ff_00ff_00ff;
/// The most lines whose bytes can be summed by column in 16 bits.
const MOST_LINES: usize = 257;
/// The most words whose bytes can be summed in 16 bits.
const MOST_WORDS: usize = 32;

/// The checksum so far, of lines of the same length in buffers of `S` bytes, at most 2064. The rest of each
/// buffer after the line must be light pixels, 0xff.
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
    /// The sums of the bytes of these lines by place, as four counters of 16 bits per word: those of the even
    /// bytes, and those of the odd bytes.
    columns: [[u64; S]; 2],
}

impl<const S: usize> Adler<S> {
    /// The checksum before the first of lines of `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        Adler { a: 1, b: 0, len, count: 0, lines: 0, columns: [[0; S]; 2] }
    }

    /// Adds a light line `count` times: filter type 0, and 0xff in all other bytes.
    pub(super) fn add_light(&mut self, count: usize) {
        let after_filter = self.len as u64 - 1;
        self.b += count as u64 * 0xff * (after_filter * (after_filter + 1) / 2);
        self.add_sum(0xff * after_filter, count as u64);
    }

    /// Adds the line at the beginning of `buffer` `count` times.
    // Not inlined, so that its sums stay in registers.
    #[inline(never)]
    pub(super) fn add(&mut self, buffer: &[u8; S], count: usize) {
        if count != self.count || self.lines == MOST_LINES {
            if self.lines > 0 {
                self.add_columns();
            }
            self.count = count;
        }
        self.lines += 1;
        let sum = self.sum_up(buffer);
        self.add_sum(sum, count as u64);
    }

    /// Adds `count` lines whose bytes have this sum, without the part that depends on the place in the line.
    #[inline(always)]
    fn add_sum(&mut self, sum: u64, count: u64) {
        // Each copy adds the sum of all copies before it once per byte.
        let pairs = count * count.saturating_sub(1) / 2;
        self.b += self.len as u64 * (count * self.a + pairs * sum);
        self.a += count * sum;
    }

    /// The sum of the line's bytes; adds them to `columns`.
    #[inline(always)]
    fn sum_up(&mut self, buffer: &[u8; S]) -> u64 {
        // For a short buffer, a loop of fixed length takes less time.
        let end = if S <= 64 { S / 8 * 8 } else { self.len.next_multiple_of(8).min(S / 8 * 8) };
        let words = buffer[..end].as_chunks::<8>().0.chunks(MOST_WORDS);
        let [even, odd] = &mut self.columns;
        let columns = even.chunks_mut(MOST_WORDS).zip(odd.chunks_mut(MOST_WORDS));
        let mut sum = 0;
        for (words, (even, odd)) in words.zip(columns) {
            let mut sums = 0;
            for (word, (even, odd)) in words.iter().zip(even.iter_mut().zip(odd)) {
                let word = u64::from_le_bytes(*word);
                let (low, high) = (word & EVEN_BYTES, word >> 8 & EVEN_BYTES);
                *even += low;
                *odd += high;
                sums += low + high;
            }
            // The upper 16 bits are the sum of all.
            sum += sums.wrapping_mul(0x0001_0001_0001_0001) >> 48;
        }
        sum - 0xff * (end - self.len) as u64
    }

    /// Adds the part that depends on the place in the line: `b` counts byte `i` `n - i` times.
    fn add_columns(&mut self) {
        let words = self.len.div_ceil(8);
        let mut sum = 0;
        for word in 0..words {
            for i in 0..8 {
                let column = self.columns[i % 2][word] >> (16 * (i / 2)) & 0xffff;
                sum += column * self.len.saturating_sub(8 * word + i) as u64;
            }
        }
        self.b += self.count as u64 * sum;
        self.columns = [[0; S]; 2];
        self.lines = 0;
    }

    pub(super) fn finish(mut self) -> u32 {
        self.add_columns();
        (((self.b % MODULUS) << 16) | (self.a % MODULUS)) as u32
    }
}

#[cfg(test)]
mod tests;
