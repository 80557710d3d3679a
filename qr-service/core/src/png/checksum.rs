//! Adler-32 (RFC 1950 section 9) of lines that repeat.
//!
//! With `a` the sum of the bytes and `b` the sum of all values that `a` had, a line of `n` bytes
//! `d` adds `sum(d)` to `a`, and to `b` `n` times the old `a` and `sum((n - i) * d[i])`. So a line
//! is summed up once, and its repetitions follow by arithmetic.

/// The largest prime below 2^16.
const MODULUS: u64 = 65521;

/// A checksum on its way.
pub(super) struct Adler {
    a: u64,
    b: u64,
}

impl Adler {
    pub(super) fn new() -> Self {
        Adler { a: 1, b: 0 }
    }

    /// Adds `line`, at most 2^16 bytes, `count` times, at most 2^16.
    pub(super) fn add(&mut self, line: &[u8], count: usize) {
        let (len, count) = (line.len() as u64, count as u64);
        let (sum, weighted) = sum_up(line);
        // Each copy adds the sums of those before it once for every byte.
        let pairs = count * count.saturating_sub(1) / 2;
        self.b += count * (len * self.a + weighted % MODULUS) + pairs * (len * sum % MODULUS);
        self.a += count * sum;
        self.a %= MODULUS;
        self.b %= MODULUS;
    }

    pub(super) fn finish(self) -> u32 {
        (self.b << 16 | self.a) as u32
    }
}

/// The sum of the bytes, and of each times the number of bytes from it to the end.
fn sum_up(line: &[u8]) -> (u64, u64) {
    let (blocks, rest) = line.as_chunks::<16>();
    let (mut sum, mut weighted) = (0, 0);
    for block in blocks {
        let (mut here, mut here_weighted) = (0, 0);
        for (byte, weight) in block.iter().zip((1..=16).rev()) {
            here += u32::from(*byte);
            here_weighted += u32::from(*byte) * weight;
        }
        // All bytes before come 16 further from the end.
        weighted += 16 * sum + u64::from(here_weighted);
        sum += u64::from(here);
    }
    for &byte in rest {
        sum += u64::from(byte);
        weighted += sum;
    }
    (sum, weighted)
}
