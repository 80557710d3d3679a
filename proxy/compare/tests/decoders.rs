//! qr-core, rxing and rqrr read the same bytes, so each may replace the others.

use contract::decode::{
    Decoded, Pixels, decode_pixels, decode_pixels_by_core, decode_pixels_by_rqrr,
    decode_pixels_by_rxing,
};
use encoding_rs::SHIFT_JIS;
use fastrand::Rng;
use qr_core::{Encoder, Fnc1, Level, Modes, Raster, Symbol, write_png};

const LEVELS: [Level; 4] = [Level::L, Level::M, Level::Q, Level::H];

fn png_of(symbol: &Symbol, size_px: u32) -> Vec<u8> {
    let mut png = Vec::new();
    write_png(symbol, &Raster::new(size_px), &mut png).unwrap();
    png
}

fn pixels(symbol: &Symbol, size_px: u32) -> Pixels {
    Pixels::from_png(&png_of(symbol, size_px)).unwrap()
}

fn shown(symbol: &Symbol, bytes: &[u8]) -> Decoded {
    let level = format!("{:?}", symbol.level()).chars().next().unwrap();
    Decoded { bytes: bytes.to_vec(), version: symbol.version(), level }
}

fn text_of(rng: &mut Rng, characters: &str) -> String {
    let characters: Vec<char> = characters.chars().collect();
    let length = rng.usize(1..=100);
    std::iter::repeat_with(|| *rng.choice(&characters).unwrap()).take(length).collect()
}

/// A random message in one of the modes, and the bytes that a reader must return.
fn message(rng: &mut Rng, kind: usize, encoder: Encoder) -> (Symbol, Vec<u8>) {
    let of_text = |text: String| (encoder.encode(&text).unwrap(), text.into_bytes());
    match kind {
        0 => of_text(text_of(rng, "0123456789")),
        1 => of_text(text_of(rng, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")),
        2 => of_text(text_of(rng, "https://example.com/?a=%20&b=c\n\t~")),
        // Texts that a guessing reader takes for Latin-1, Shift JIS or GB 18030.
        3 => of_text(text_of(rng, "grüßeÄÖÜñçàé©½°µ§")),
        4 => of_text(text_of(rng, "点茗日本語テキスト漢字カナｶﾅ")),
        5 => of_text(text_of(rng, "aяжЩ中文字符한국어🙂🚀ا")),
        6 => {
            let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(100).collect();
            (encoder.encode(&bytes).unwrap(), bytes)
        }
        7 => {
            let length = rng.usize(1..=60);
            let latin_1: Vec<u8> = std::iter::repeat_with(|| rng.u8(0xa0..)).take(length).collect();
            (encoder.eci(3).encode(&latin_1).unwrap(), latin_1)
        }
        8 => {
            let text = text_of(rng, "grüße点茗");
            (encoder.eci(26).encode(&text).unwrap(), text.into_bytes())
        }
        _ => {
            let text = text_of(rng, "点茗日本語漢字");
            let encoder = encoder.modes(Modes::Kanji);
            (encoder.encode(&text).unwrap(), SHIFT_JIS.encode(&text).0.into_owned())
        }
    }
}

#[test]
fn all_decoders_read_the_same_bytes() {
    let mut rng = Rng::with_seed(1);
    let (mut read_by_rxing, mut all) = (0, 0);
    for round in 0..30 {
        for kind in 0..10 {
            let encoder = Encoder::new(LEVELS[round % 4]);
            let (symbol, bytes) = message(&mut rng, kind, encoder);
            let pixels = pixels(&symbol, [200, 256, 333][round % 3]);
            let expected = shown(&symbol, &bytes);
            let by_rxing = decode_pixels_by_rxing(&pixels);
            // rxing may fail to read a picture, but what it reads is right.
            assert!(
                by_rxing.as_ref().is_none_or(|it| *it == expected),
                "{expected:?}: {by_rxing:?}"
            );
            assert_eq!(decode_pixels_by_core(&pixels).unwrap(), expected, "qr-core, kind {kind}");
            assert_eq!(decode_pixels_by_rqrr(&pixels).unwrap(), expected, "rqrr, kind {kind}");
            assert_eq!(decode_pixels(&pixels).unwrap(), expected);
            read_by_rxing += usize::from(by_rxing.is_some());
            all += 1;
        }
    }
    assert!(read_by_rxing * 100 >= all * 98, "rxing read {read_by_rxing} of {all}");
}

#[test]
fn a_damaged_picture_shows_its_text_or_none() {
    let mut rng = Rng::with_seed(2);
    let mut counts = [0; 2];
    for _ in 0..300 {
        let kind = rng.usize(0..10);
        let (symbol, bytes) = message(&mut rng, kind, Encoder::new(Level::L));
        let mut pixels = pixels(&symbol, 200);
        let (width, side) = (pixels.width, rng.usize(4..24));
        let (left, top) = (rng.usize(20..width - 44), rng.usize(20..width - 44));
        for y in top..top + side {
            pixels.grey[y * width + left..][..side].fill(255 * rng.u8(0..2));
        }
        let by_rxing = decode_pixels_by_rxing(&pixels);
        counts[usize::from(by_rxing.is_some())] += 1;
        let expected = shown(&symbol, &bytes);
        assert!(by_rxing.as_ref().is_none_or(|it| *it == expected), "{expected:?}: {by_rxing:?}");
        let by_core = decode_pixels_by_core(&pixels);
        assert!(by_core.as_ref().is_none_or(|it| *it == expected), "{expected:?}: {by_core:?}");
    }
    assert!(counts.iter().all(|&count| count > 30), "{counts:?}");
}

#[test]
fn what_readers_show_otherwise_is_not_read() {
    let gs1 = Encoder::new(Level::L).fnc1(Fnc1::Gs1).encode("0109501101530003").unwrap();
    let aim = Encoder::new(Level::L).fnc1(Fnc1::Aim(37)).encode("AA1234BBB112").unwrap();
    let parts = Encoder::new(Level::L).versions(1..=1).encode_append("a part of a longer text");
    let part = parts.unwrap().remove(0);
    for symbol in [gs1, aim, part] {
        let pixels = pixels(&symbol, 200);
        assert_eq!(decode_pixels_by_rxing(&pixels), None);
        assert_eq!(decode_pixels_by_core(&pixels), None);
        let error = decode_pixels(&pixels).unwrap_err().to_string();
        assert!(error.starts_with("cannot be read"), "{error}");
    }
}
