use std::fmt::Write as _;

use super::super::deflate::{Counts, Sink};
use super::super::{SMALL, describe};
use super::*;
use crate::raster::{Line, Raster};
use crate::version::{data_codewords, size_of};
use crate::{Level, encode};

/// Returns texts for a version, of letters in both cases: their modules are distributed like those of any bytes.
fn texts(version: u8) -> impl Iterator<Item = String> {
    let header = if version < 10 { 2 } else { 3 };
    let longest = (data_codewords(version, Level::L) - header).min(512);
    let shortest = if version == 1 { 1 } else { data_codewords(version - 1, Level::L) };
    let mut state = u64::from(version);
    (0..400).map(move |i| {
        let length = shortest + i % (longest - shortest + 1);
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                char::from(
                    b"aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
                        [(state >> 33) as usize % 52],
                )
            })
            .collect()
    })
}

/// Tells which bytes a line of `version` can have.
fn possible_bytes(version: u8) -> [bool; 256] {
    let size = size_of(version);
    let layout = Raster::SERVICE.layout(size).unwrap();
    let mut possible = [false; 256];
    // A byte shows fewer than 8 modules: try all values of 8 at every place.
    for start in 0..size {
        for modules in 0..1_u64 << (size - start).min(8) {
            let bits = u128::from(modules) << start;
            let mut line = Line::<SMALL>::light(&layout);
            line.draw(&[bits as u64, (bits >> 64) as u64, 0], size, &layout);
            line.bytes()[1..].iter().for_each(|&byte| possible[usize::from(byte)] = true);
        }
    }
    possible
}

/// Computes code lengths from the statistics of many texts, with a code for every symbol that can occur.
fn prepare(version: u8) -> Lengths {
    let layout = Raster::SERVICE.layout(size_of(version)).unwrap();
    let limits = limits(&layout);
    let mut counts = Counts::new();
    for text in texts(version) {
        let symbol = encode(&text, Level::L).unwrap();
        assert_eq!(symbol.version(), version);
        describe::<SMALL, _>(&symbol, &layout, limits, &mut counts);
        counts.literals[256] += 1;
    }
    for (byte, possible) in possible_bytes(version).into_iter().enumerate() {
        counts.literals[byte] = counts.literals[byte].max(u32::from(possible));
    }
    let line_len = 1 + layout.size_px / 8;
    for len in (layout.scale_px - 1) * line_len + limits.edges[0] + limits.edges[1]..=limits.most {
        let mut one = Counts::new();
        one.repeat(len, line_len);
        (0..LITERALS).for_each(|i| counts.literals[i] = counts.literals[i].max(one.literals[i]));
    }
    Lengths::of_counts(&counts.literals, &counts.distances)
}

fn pack(lengths: &Lengths) -> Vec<(u16, u8)> {
    let all = lengths.literals.iter().chain(&lengths.distances);
    (0..)
        .zip(all)
        .filter(|(_, length)| **length > 0)
        .map(|(symbol, length)| (symbol, *length))
        .collect()
}

/// `QR_PREPARE=1 cargo test -p qr-core prepared` writes the tables again.
#[test]
fn the_prepared_tables_are_those_that_the_statistics_give() {
    let prepared: Vec<_> = (1..=VERSIONS as u8).map(|version| pack(&prepare(version))).collect();
    if std::env::var_os("QR_PREPARE").is_some() {
        let mut file = format!(
            "//! Written by the test in `tests.rs`; do not edit.\n\n\
             /// Symbols and the lengths of their codes, by version; distances from 286.\n\
             pub(super) static LENGTHS: [&[(u16, u8)]; {VERSIONS}] = [\n",
        );
        for pairs in &prepared {
            let pairs: Vec<_> = pairs.iter().map(|(s, l)| format!("({s},{l})")).collect();
            writeln!(file, "    &[{}],", pairs.join(",")).unwrap();
        }
        file.push_str("];\n");
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/png/prepared/lengths.rs"), file)
            .unwrap();
    } else {
        assert_eq!(prepared, LENGTHS.map(<[_]>::to_vec));
    }
}
