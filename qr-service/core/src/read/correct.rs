//! Correction of errors: decoding of Reed-Solomon codes (ISO/IEC 18004 annex B), by the algorithms of Berlekamp and
//! Massey for the error locator, Chien for its roots and Forney for the errors' values.

use crate::reed_solomon::{MAX_EC, multiply, remainder};

/// The powers of 2, twice over, and the exponent of each power.
static TABLES: ([u8; 510], [u8; 256]) = {
    let (mut power, mut exponent) = ([1; 510], [0; 256]);
    let mut k = 1;
    while k < 510 {
        power[k] = multiply(power[k - 1], 2);
        if k < 255 {
            exponent[power[k] as usize] = k as u8;
        }
        k += 1;
    }
    (power, exponent)
};

fn times(a: u8, b: u8) -> u8 {
    let exponent = |it: u8| usize::from(TABLES.1[usize::from(it)]);
    if a == 0 || b == 0 { 0 } else { TABLES.0[exponent(a) + exponent(b)] }
}

/// 2 to the power of `exponent`, which may be negative.
fn power(exponent: isize) -> u8 {
    TABLES.0[exponent.rem_euclid(255) as usize]
}

/// The value of a polynomial, the lowest coefficient first.
fn value(polynomial: &[u8], at: u8) -> u8 {
    polynomial.iter().rev().fold(0, |sum, coefficient| times(sum, at) ^ coefficient)
}

fn divided(a: u8, b: u8) -> u8 {
    times(a, power(-isize::from(TABLES.1[usize::from(b)])))
}

/// Corrects up to `most` wrong codewords of a block, whose last `ec_len` codewords are those of error correction.
/// `rest` is the remainder of its data, plus these. `None` if more are wrong; the block is then changed.
pub(super) fn correct(block: &mut [u8], ec_len: usize, rest: &[u8], most: usize) -> Option<()> {
    let mut syndromes = [0; MAX_EC];
    for (k, syndrome) in syndromes[..ec_len].iter_mut().enumerate() {
        *syndrome = rest.iter().fold(0, |sum, it| times(sum, power(k as isize)) ^ it);
    }
    let (locator, count) = locator(&syndromes[..ec_len]);
    if count > most {
        return None;
    }
    let mut evaluator = [0; MAX_EC];
    for k in 0..count {
        evaluator[k] = (0..=k).fold(0, |sum, i| sum ^ times(locator[i], syndromes[k - i]));
    }
    // The formal derivative has the odd coefficients.
    let derivative: [u8; MAX_EC] =
        std::array::from_fn(|k| if k % 2 == 0 { locator[k + 1] } else { 0 });
    let mut roots = 0;
    for (k, codeword) in block.iter_mut().rev().enumerate() {
        let inverse = power(-(k as isize));
        if value(&locator[..=count], inverse) == 0 {
            let slope = value(&derivative[..count], inverse);
            *codeword ^=
                times(power(k as isize), divided(value(&evaluator[..count], inverse), slope));
            roots += 1;
        }
    }
    let (data, ec) = block.split_at(block.len() - ec_len);
    (roots == count && remainder(data, ec_len) == ec).then_some(())
}

/// The error locator polynomial, the lowest coefficient first, and the number of errors.
fn locator(syndromes: &[u8]) -> ([u8; MAX_EC + 1], usize) {
    let (mut locator, mut before) = ([0; MAX_EC + 1], [0; MAX_EC + 1]);
    (locator[0], before[0]) = (1, 1);
    let (mut count, mut shift, mut scale) = (0, 1, 1);
    for n in 0..syndromes.len() {
        let difference = (0..=count).fold(0, |sum, i| sum ^ times(locator[i], syndromes[n - i]));
        if difference == 0 {
            shift += 1;
            continue;
        }
        let (kept, factor) = (locator, divided(difference, scale));
        for i in shift..locator.len() {
            locator[i] ^= times(factor, before[i - shift]);
        }
        if 2 * count <= n {
            (count, before, scale, shift) = (n + 1 - count, kept, difference, 1);
        } else {
            shift += 1;
        }
    }
    (locator, count)
}
