//! Adler-32 (RFC 1950 section 9) of repeated lines.
//!
//! `a` is the sum of all bytes, `b` the sum of all values of `a`. A line `d` of `n` bytes adds
//! `sum(d)` to `a`, and `n * a + sum((n - i) * d[i])` to `b`. So each line is summed once, and its
//! repetitions follow by arithmetic.

#[cfg(feature = "png-color")]
use crate::raster::Layout;

/// The largest prime below 2^16.
const MODULUS: u64 = 65521;

/// The checksum so far, of lines of the same length in buffers of `S` bytes, at most 2064.
///
/// Sums are reduced only at the end: a picture has at most 2049 bytes in each of 16384 lines, so
/// `b` stays below 255 / 2 * (2049 * 16384)^2, which is less than 2^58.
pub(super) struct Adler<const S: usize> {
    a: u64,
    b: u64,
    len: u64,
    /// 1 for each byte of the line, 0 for what the buffer has after it.
    counted: [i16; S],
    /// How often `b` counts each byte of the line: `n - i`.
    weights: [i16; S],
}

impl<const S: usize> Adler<S> {
    /// For lines of `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        let within = |i: usize| i < len;
        Adler {
            a: 1,
            b: 0,
            len: len as u64,
            counted: std::array::from_fn(|i| i16::from(within(i))),
            weights: std::array::from_fn(|i| if within(i) { (len - i) as i16 } else { 0 }),
        }
    }

    /// Adds the line at the beginning of `buffer` `count` times.
    pub(super) fn add(&mut self, buffer: &[u8; S], count: usize) {
        let (sum, weighted) = self.sum_up(buffer);
        let count = count as u64;
        // Each copy adds the sum of all copies before it once per byte.
        let pairs = count * count.saturating_sub(1) / 2;
        self.b += count * (self.len * self.a + weighted) + pairs * self.len * sum;
        self.a += count * sum;
    }

    /// The sum of the line's bytes, and their sum by weight: at most 255 * 2049 * 1025.
    fn sum_up(&self, buffer: &[u8; S]) -> (u64, u64) {
        // Whole blocks, so that the compiler needs no loop for the remainder.
        let end = (self.len as usize).next_multiple_of(16).min(S);
        let bytes = &buffer[..end];
        let (counted, weights) = (&self.counted[..end], &self.weights[..end]);
        let (mut sum, mut weighted) = (0, 0);
        for ((&byte, &one), &weight) in bytes.iter().zip(counted).zip(weights) {
            sum += i32::from(byte) * i32::from(one);
            weighted += i32::from(byte) * i32::from(weight);
        }
        (u64::from(sum.cast_unsigned()), u64::from(weighted.cast_unsigned()))
    }

    pub(super) fn finish(self) -> u32 {
        (((self.b % MODULUS) << 16) | (self.a % MODULUS)) as u32
    }
}

/// The Adler-32 of lines by the sums of their bytes, see [`Adler`]: no line is drawn.
#[cfg(feature = "png-color")]
pub(super) struct Sums {
    a: u64,
    b: u64,
    len: u64,
    /// By module: the sum of the bytes of a line in which the pixels before it are set and no others, and their sum by
    /// weight.
    before: Vec<[u64; 2]>,
    /// These sums if all pixels are set.
    all: [u64; 2],
    /// Whether light pixels are set, or dark ones.
    is_light_set: bool,
}

#[cfg(feature = "png-color")]
impl Sums {
    /// For a picture of so many modules in a row.
    pub(super) fn new(width: usize, layout: &Layout, is_light_set: bool) -> Self {
        let line_len = 1 + layout.size_px.div_ceil(8);
        let before = |px: usize| {
            let (bytes, last) = ((px / 8) as u64, 0xff & (0xff00 >> (px % 8)));
            let weight = (line_len - 1) as u64;
            let weights = (2 * weight + 1 - bytes) * bytes / 2;
            [255 * bytes + last, 255 * weights + last * weight.saturating_sub(bytes)]
        };
        Sums {
            a: 1,
            b: 0,
            len: line_len as u64,
            all: before(8 * (line_len - 1)),
            before: (0..=width).map(|x| before(layout.offset_px + x * layout.scale_px)).collect(),
            is_light_set,
        }
    }

    /// Adds the line of a row of modules, by its words, `count` times.
    pub(super) fn add_row(&mut self, words: &[u64], count: usize) {
        // The sums up to where a run of dark modules ends, less those up to where it begins.
        let mut dark = [0_u64; 2];
        let mut left = 0;
        for (word, &modules) in words.iter().enumerate() {
            let mut edges = modules ^ (modules << 1 | left);
            left = modules >> 63;
            while edges != 0 {
                let before = &self.before[64 * word + edges.trailing_zeros() as usize];
                dark = std::array::from_fn(|i| before[i].wrapping_sub(dark[i]));
                edges &= edges - 1;
            }
        }
        let sums = if self.is_light_set { [self.all[0] - dark[0], self.all[1] - dark[1]] } else { dark };
        self.add(sums, count);
    }

    /// Adds a line of filter type `kind` without differences, `count` times.
    pub(super) fn add_same(&mut self, kind: u64, count: usize) {
        self.add([kind, kind * self.len], count);
    }

    fn add(&mut self, [sum, weighted]: [u64; 2], count: usize) {
        let count = count as u64;
        let pairs = count * count.saturating_sub(1) / 2;
        self.b += count * (self.len * self.a + weighted) + pairs * self.len * sum;
        self.a += count * sum;
    }

    pub(super) fn finish(&self) -> u32 {
        (((self.b % MODULUS) << 16) | (self.a % MODULUS)) as u32
    }
}
