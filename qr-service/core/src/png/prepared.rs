//! Prepared Huffman codes for the service's picture, by version.
//!
//! At a given scale and offset, each byte of a line shows few modules, so all texts have nearly the same
//! statistics. A code made from many texts takes a few bytes more than the picture's own code, but saves
//! counting its symbols and making the code. The test in `tests.rs` writes the tables in `lengths.rs`.

use super::huffman::{Codes, DISTANCES, LITERALS, Lengths};

#[rustfmt::skip]
mod lengths;
use lengths::LENGTHS;

/// Versions with prepared codes: enough for a text of 512 bytes at level L.
const VERSIONS: usize = 15;

/// Codes for the picture of [`crate::Raster::SERVICE`], for versions from 1 on.
pub(super) static CODES: [Codes; VERSIONS] = {
    const NO_LENGTHS: Lengths = Lengths { literals: [0; LITERALS], distances: [0; DISTANCES] };
    let mut codes = [const { Codes::new(&NO_LENGTHS) }; VERSIONS];
    let mut v = 0;
    while v < VERSIONS {
        codes[v] = Codes::new(&unpack(LENGTHS[v]));
        v += 1;
    }
    codes
};

/// Reads code lengths from pairs of a symbol and its length; distances are numbered after the literals.
const fn unpack(pairs: &[(u16, u8)]) -> Lengths {
    let mut lengths = Lengths { literals: [0; LITERALS], distances: [0; DISTANCES] };
    let mut i = 0;
    while i < pairs.len() {
        let (symbol, length) = (pairs[i].0 as usize, pairs[i].1);
        if symbol < LITERALS {
            lengths.literals[symbol] = length;
        } else {
            lengths.distances[symbol - LITERALS] = length;
        }
        i += 1;
    }
    lengths
}

#[cfg(test)]
mod tests;
