//! Checks that [`OUTPUT_VERSION`] changes whenever the output does. Otherwise caches would keep a wrong picture for
//! ever, because its tag would be the same after the fix.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use qr_core::{Level, OUTPUT_VERSION, Raster, generate};
use sha2::{Digest, Sha256};

/// The digest of the test's pictures for each version. If the test fails, raise [`OUTPUT_VERSION`] and add
/// the digest that it shows; never change the digest of a released version.
const DIGESTS: [(u32, &str); 1] =
    [(1, "c3c44bec106baa0918e584c41c820d0588d04a5c2720ee200c48bc1e995aaf91")];

/// Fixed pseudo-random texts of 1 to 512 bytes: digits, capitals, ASCII, and letters of two bytes, alone
/// and mixed. The generator is Knuth's MMIX.
fn texts() -> impl Iterator<Item = String> {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
    (0..10_000).map(move |number| {
        let len = 1 + random(512) as usize;
        let mut text = String::new();
        let mut kind = number % 5;
        while text.len() < len {
            if number % 5 == 4 && random(8) == 0 {
                kind = random(4);
            }
            let character = match kind {
                0 => char::from(b'0' + random(10) as u8),
                1 => char::from(CAPITALS[random(CAPITALS.len() as u64) as usize]),
                2 if text.len() + 2 <= len => char::from_u32(0xc0 + random(0x100) as u32).unwrap(),
                _ => char::from(b' ' + random(95) as u8),
            };
            text.push(character);
        }
        text
    })
}

#[test]
fn the_output_has_the_digest_of_its_version() {
    let mut digest = Sha256::new();
    let mut png = Vec::new();
    let (mut count, mut longest) = (0, 0);
    for text in texts() {
        generate(&text, Level::L, &Raster::SERVICE, &mut png).unwrap();
        digest.update(&png);
        count += 1;
        longest = longest.max(text.len());
    }
    assert_eq!((count, longest), (10_000, 512));
    let mut hex = String::new();
    digest.finalize().iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
    let known = DIGESTS.iter().find(|(version, _)| *version == OUTPUT_VERSION);
    assert_eq!(known, Some(&(OUTPUT_VERSION, hex.as_str())), "raise OUTPUT_VERSION");
}
