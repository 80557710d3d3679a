//! Error correction codewords: the remainder of a block divided by a generator polynomial over
//! GF(256), ISO/IEC 18004 section 7.5.2 and annex A.
//!
//! One or two `u128` hold the remainder, its leading coefficient in the most significant byte, zeros after
//! the last. Each step of the division removes the two leading coefficients and adds what they leave. Tables have the
//! remainders of all bytes in either place in the same form, so a step is two look-ups that do not wait for each other,
//! one shift, and two XORs of whole words.

/// The field's polynomial, x^8 + x^4 + x^3 + x^2 + 1.
const FIELD: u16 = 0x11d;
/// The most error correction codewords that a block has.
pub(crate) const MAX_EC: usize = 30;

pub(crate) const fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut i) = (0_u16, 8);
    while i > 0 {
        i -= 1;
        product = (product << 1) ^ ((product >> 7) * FIELD) ^ ((b as u16 >> i & 1) * a as u16);
    }
    product as u8
}

/// Coefficients of the generator of `degree` below its leading 1, highest first: the product of
/// `x - 2^i` for `i` from 0.
const fn generator(degree: usize) -> [u8; MAX_EC] {
    let mut g = [0; MAX_EC];
    g[degree - 1] = 1;
    let (mut root, mut i) = (1, 0);
    while i < degree {
        let mut j = 0;
        while j < degree {
            g[j] = multiply(g[j], root) ^ if j + 1 < degree { g[j + 1] } else { 0 };
            j += 1;
        }
        root = multiply(root, 2);
        i += 1;
    }
    g
}

/// All multiples of the generator of `degree`, in words of 16 coefficients.
const fn multiples<const WORDS: usize>(degree: usize) -> [[u128; WORDS]; 256] {
    let g = generator(degree);
    let mut table = [[0; WORDS]; 256];
    let mut factor = 1;
    while factor < 256 {
        let low = factor & (factor - 1);
        if low == 0 {
            // Powers of two are multiplied out; the other factors are sums of them.
            let mut j = 0;
            while j < degree {
                table[factor][j / 16] |=
                    (multiply(g[j], factor as u8) as u128) << (120 - j % 16 * 8);
                j += 1;
            }
        } else {
            let mut w = 0;
            while w < WORDS {
                table[factor][w] = table[low][w] ^ table[factor ^ low][w];
                w += 1;
            }
        }
        factor += 1;
    }
    table
}

/// The remainders of a byte before `degree` zeros, and of a byte before one zero more.
type Remainders<const WORDS: usize> = [[[u128; WORDS]; 256]; 2];

const fn both<const WORDS: usize>(degree: usize) -> Remainders<WORDS> {
    let table = multiples(degree);
    let mut tables = [table; 2];
    let mut byte = 0;
    while byte < 256 {
        tables[1][byte] = divide_byte(&table, table[byte], 0);
        byte += 1;
    }
    tables
}

/// The remainder of what leaves `rest`, with one byte after it.
#[inline(always)]
const fn divide_byte<const WORDS: usize>(
    table: &[[u128; WORDS]; 256],
    mut rest: [u128; WORDS],
    byte: u8,
) -> [u128; WORDS] {
    let multiple = &table[(byte ^ (rest[0] >> 120) as u8) as usize];
    let mut w = 0;
    while w < WORDS {
        let carried = if w + 1 < WORDS { rest[w + 1] >> 120 } else { 0 };
        rest[w] = (rest[w] << 8 | carried) ^ multiple[w];
        w += 1;
    }
    rest
}

/// The tables for one generator, in one or two words.
#[derive(Clone, Copy)]
pub(crate) enum Divisor {
    Narrow(&'static Remainders<1>),
    Wide(&'static Remainders<2>),
}

impl Divisor {
    /// The divisor for `ec_len` error correction codewords per block, one of the 13 numbers of table 9.
    pub(crate) fn new(ec_len: usize) -> Self {
        match ec_len {
            7 => Divisor::Narrow(const { &both(7) }),
            10 => Divisor::Narrow(const { &both(10) }),
            13 => Divisor::Narrow(const { &both(13) }),
            15 => Divisor::Narrow(const { &both(15) }),
            16 => Divisor::Narrow(const { &both(16) }),
            17 => Divisor::Wide(const { &both(17) }),
            18 => Divisor::Wide(const { &both(18) }),
            20 => Divisor::Wide(const { &both(20) }),
            22 => Divisor::Wide(const { &both(22) }),
            24 => Divisor::Wide(const { &both(24) }),
            26 => Divisor::Wide(const { &both(26) }),
            28 => Divisor::Wide(const { &both(28) }),
            _ => Divisor::Wide(const { &both(30) }),
        }
    }
}

/// Divides `K` blocks of the same length side by side, so that their chains of look-ups overlap.
fn divide<const WORDS: usize, const K: usize>(
    [last, before]: &Remainders<WORDS>,
    blocks: [&[u8]; K],
) -> [[u128; WORDS]; K] {
    let mut rest = [[0_u128; WORDS]; K];
    let len = blocks[0].len();
    let odd = len % 2;
    if odd > 0 {
        (0..K).for_each(|k| rest[k] = last[usize::from(blocks[k][0])]);
    }
    for i in (odd..len).step_by(2) {
        for (rest, block) in rest.iter_mut().zip(&blocks) {
            let [first, second] =
                [block[i] ^ (rest[0] >> 120) as u8, block[i + 1] ^ (rest[0] >> 112) as u8];
            for w in 0..WORDS {
                let carried = if w + 1 < WORDS { rest[w + 1] >> 112 } else { 0 };
                rest[w] = (rest[w] << 16 | carried)
                    ^ before[usize::from(first)][w]
                    ^ last[usize::from(second)][w];
            }
        }
    }
    rest
}

/// Error correction codewords of one block of data, computed byte by byte. For kinds of symbols with numbers
/// of codewords that [`Divisor`] lacks.
#[cfg(any(feature = "micro", feature = "rmqr"))]
pub(crate) fn remainder(data: &[u8], ec_len: usize) -> Vec<u8> {
    let generator = generator(ec_len);
    let mut rest = vec![0; ec_len];
    for byte in data {
        let factor = byte ^ rest[0];
        rest.rotate_left(1);
        rest[ec_len - 1] = 0;
        rest.iter_mut().zip(generator).for_each(|(rest, g)| *rest ^= multiply(g, factor));
    }
    rest
}

/// Error correction codewords of `K` blocks of the same length, zeros after the last.
pub(crate) fn remainders<const K: usize>(divisor: Divisor, blocks: [&[u8]; K]) -> [[u8; 32]; K] {
    let mut out = [[0; 32]; K];
    match divisor {
        Divisor::Narrow(table) => {
            for (out, [rest]) in out.iter_mut().zip(divide(table, blocks)) {
                out[..16].copy_from_slice(&rest.to_be_bytes());
            }
        }
        Divisor::Wide(table) => {
            for (out, [high, low]) in out.iter_mut().zip(divide(table, blocks)) {
                out[..16].copy_from_slice(&high.to_be_bytes());
                out[16..].copy_from_slice(&low.to_be_bytes());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
