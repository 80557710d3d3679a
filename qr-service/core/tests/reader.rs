//! The reader: every symbol that this crate makes is read back with the same bytes, and a damaged one is never read
//! with others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "formats", feature = "read", feature = "kanji"))]

#[path = "reader/damage.rs"]
mod damage;

use proptest::prelude::*;
use qr_core::{
    Encoder, Fnc1, Level, MicroEncoder, Modes, Modules, Part, ReadSymbol, RmqrEncoder, SymbolKind,
    encode, read,
};

/// A picture that is made of modules.
#[derive(Clone, Debug)]
struct Look {
    /// Pixels a module, and modules of the quiet zone.
    scale: f64,
    margin: usize,
    dark: u8,
    light: u8,
    /// Quarter turns, after mirroring.
    turns: usize,
    is_mirrored: bool,
}

const PLAIN: Look =
    Look { scale: 4.0, margin: 4, dark: 0, light: 255, turns: 0, is_mirrored: false };

/// Grey pixels and their number in a row.
type Pixels = (Vec<u8>, usize);

impl Look {
    fn draw(&self, modules: Modules<'_>) -> Pixels {
        let side =
            |modules: usize| ((modules + 2 * self.margin) as f64 * self.scale).round() as usize;
        let (width, height) = (side(modules.width()), side(modules.height()));
        let module = |px: usize| ((px as f64 + 0.5) / self.scale) as usize;
        let upright = |x: usize, y: usize| {
            let is_dark = modules
                .is_dark(module(x).wrapping_sub(self.margin), module(y).wrapping_sub(self.margin));
            if is_dark { self.dark } else { self.light }
        };
        let mut picture: Vec<Vec<u8>> =
            (0..height).map(|y| (0..width).map(|x| upright(x, y)).collect()).collect();
        if self.is_mirrored {
            picture.iter_mut().for_each(|row| row.reverse());
        }
        for _ in 0..self.turns {
            let (width, height) = (picture[0].len(), picture.len());
            picture =
                (0..width).map(|x| (0..height).rev().map(|y| picture[y][x]).collect()).collect();
        }
        let width = picture[0].len();
        (picture.concat(), width)
    }
}

fn read_one((grey, width): &Pixels) -> ReadSymbol {
    let mut symbols = read(grey, *width).expect("it is read");
    assert_eq!(symbols.len(), 1);
    symbols.remove(0)
}

#[test]
fn every_version_and_level_is_read() {
    for version in 1..=40 {
        for level in Level::ALL {
            let symbol = Encoder::new(level).versions(version..=version).encode("Version").unwrap();
            let found = read_one(&Look { scale: 3.0, ..PLAIN }.draw(symbol.modules()));
            assert_eq!(found.content.bytes, b"Version");
            assert_eq!((found.version, found.level), (version, Some(level)));
            assert_eq!((found.mask, found.kind), (symbol.mask(), SymbolKind::Qr));
            assert!(found.modules().rows().flatten().eq(symbol.rows().flatten()), "{symbol:?}");
        }
    }
}

#[test]
fn every_version_of_micro_qr_and_rmqr_is_read() {
    for version in 1..=4 {
        for level in [None, Some(Level::L), Some(Level::M), Some(Level::Q)] {
            for mask in 0..4 {
                let encoder = MicroEncoder::new(level).versions(version..=version).mask(mask);
                let Ok(symbol) = encoder.encode("12") else { continue };
                let found = read_one(&PLAIN.draw(symbol.modules()));
                assert_eq!((&*found.content.bytes, found.kind), (&b"12"[..], SymbolKind::Micro));
                let as_made = (symbol.version(), symbol.level(), symbol.mask());
                assert_eq!((found.version, found.level, found.mask), as_made);
            }
        }
    }
    for height in [7, 9, 11, 13, 15, 17] {
        for width in [27, 43, 59, 77, 99, 139] {
            for level in [Level::M, Level::H] {
                let encoder =
                    RmqrEncoder::new(level).heights(height..=height).widths(width..=width);
                let Ok(symbol) = encoder.encode("12") else { continue };
                let found = read_one(&PLAIN.draw(symbol.modules()));
                assert_eq!((&*found.content.bytes, found.kind), (&b"12"[..], SymbolKind::Rmqr));
                let as_made = (symbol.version(), Some(symbol.level()));
                assert_eq!((found.version, found.level), as_made);
            }
        }
    }
}

#[test]
fn modes_and_headers_are_read() {
    let of = |encoder: Encoder, text: &str| {
        read_one(&PLAIN.draw(encoder.encode(text).unwrap().modules()))
    };
    let plain = Encoder::new(Level::M);
    let with_eci = of(plain.clone().eci(26), "grüße");
    assert_eq!((&*with_eci.content.bytes, with_eci.content.eci), ("grüße".as_bytes(), Some(26)));
    assert_eq!(of(plain.clone().eci(999_999), "1").content.eci, Some(999_999));
    assert_eq!(of(plain.clone().eci(3000), "1").content.eci, Some(3000));
    let gs1 = of(plain.clone().fnc1(Fnc1::Gs1), "10A%1\u{1d}21");
    assert_eq!((&*gs1.content.bytes, gs1.content.fnc1), (&b"10A%1\x1d21"[..], Some(Fnc1::Gs1)));
    let aim = of(plain.clone().fnc1(Fnc1::Aim(37)), "AA1234BBB112");
    assert_eq!(
        (&*aim.content.bytes, aim.content.fnc1),
        (&b"AA1234BBB112"[..], Some(Fnc1::Aim(37)))
    );
    let kanji = of(plain.clone().modes(Modes::AutomaticWithKanji), "点A茗");
    assert_eq!(kanji.content.bytes, b"\x93\x5fA\xe4\xaa");
    let text = "a part of a longer text";
    let parts = plain.versions(1..=1).encode_append(text).unwrap();
    let parity = text.bytes().fold(0, |parity, byte| parity ^ byte);
    let mut bytes = Vec::new();
    for (index, symbol) in (0..).zip(&parts) {
        let found = read_one(&PLAIN.draw(symbol.modules()));
        assert_eq!(found.content.part, Some(Part { index, total: parts.len(), parity }));
        bytes.extend(found.content.bytes);
    }
    assert_eq!(bytes, text.as_bytes());
}

#[test]
fn all_symbols_of_a_picture_are_read_or_none() {
    let draw = |text: &str, light| {
        let symbol = Encoder::new(Level::L).versions(1..=1).encode(text).unwrap();
        Look { light, ..PLAIN }.draw(symbol.modules())
    };
    let ((first, width), (second, _)) = (draw("first", 255), draw("second", 255));
    let both = [first.clone(), second].concat();
    let mut texts: Vec<Vec<u8>> =
        read(&both, width).unwrap().into_iter().map(|it| it.content.bytes).collect();
    texts.sort();
    assert_eq!(texts, [&b"first"[..], b"second"]);
    // The second one is faint; then half of it is missing.
    let faint = draw("second", 30).0.iter().map(|grey| grey.saturating_add(225)).collect();
    assert_eq!(read(&[first.clone(), faint].concat(), width).unwrap().len(), 2);
    let mut cut = both;
    let half = cut.len() - cut.len() / 4;
    cut[half..].fill(255);
    assert_eq!(read(&cut, width), None);
    let of = |picture: &[u8], width| read(picture, width).map(|symbols| symbols.len());
    assert_eq!(
        (of(&first, width), of(&first[1..], width), of(&[], 0), of(&[], 1)),
        (Some(1), None, None, None)
    );
    assert_eq!((of(&[0; 9], 3), of(&[0; 9], 9), of(&[0; 9], 1)), (None, None, None));
}

fn look() -> impl Strategy<Value = Look> {
    let scale = prop_oneof![(1_u32..12).prop_map(f64::from), 2.0..9.0];
    let colors = (0_u8..=255, 0_u8..=255).prop_filter("contrast", |(a, b)| a.abs_diff(*b) >= 24);
    (scale, 2_usize..9, colors, 0_usize..4, any::<bool>()).prop_map(
        |(scale, margin, (dark, light), turns, is_mirrored)| Look {
            scale,
            margin,
            dark,
            light,
            turns,
            is_mirrored,
        },
    )
}

proptest! {
    #[test]
    fn any_text_is_read_in_any_size_colour_and_direction(text in ".{1,300}", level in 0_usize..4, look in look()) {
        let symbol = encode(&text, Level::ALL[level]).unwrap();
        let found = read_one(&look.draw(symbol.modules()));
        prop_assert_eq!(&*found.content.bytes, text.as_bytes());
        prop_assert_eq!((found.version, found.is_inverted), (symbol.version(), look.dark > look.light));
        prop_assert!(found.modules().rows().flatten().eq(symbol.rows().flatten()));
    }

    #[test]
    fn any_small_symbol_is_read(text in "[0-9]{1,12}|[A-Z ]{1,8}|[a-z]{1,6}", look in look()) {
        let micro = MicroEncoder::new(None).encode(&text).unwrap();
        let found = read_one(&look.draw(micro.modules()));
        prop_assert_eq!((found.kind, &*found.content.bytes), (SymbolKind::Micro, text.as_bytes()));
        let rmqr = RmqrEncoder::new(Level::M).encode(&text).unwrap();
        let found = read_one(&look.draw(rmqr.modules()));
        prop_assert_eq!((found.kind, &*found.content.bytes), (SymbolKind::Rmqr, text.as_bytes()));
    }

    #[test]
    fn no_picture_makes_it_panic(grey in prop::collection::vec(prop_oneof![Just(0), Just(255), any::<u8>()], 0..3000), width in 0_usize..100) {
        read(&grey, width);
    }
}
