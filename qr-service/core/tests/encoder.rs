//! Tests the encoder's options: zxing-cpp reads symbols as they were asked for, and qrcodegen draws the same modules.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod zxing;

use proptest::prelude::*;
use qr_core::{Data, ECI_UTF_8, Encoder, Error, Fnc1, Level, Modes, Symbol, encode};
use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, Version};
use zxing::read;

const ECCS: [QrCodeEcc; 4] =
    [QrCodeEcc::Low, QrCodeEcc::Medium, QrCodeEcc::Quartile, QrCodeEcc::High];

fn assert_same_modules(symbol: &Symbol, code: &QrCode) {
    assert_eq!(symbol.size() as i32, code.size());
    for y in 0..symbol.size() {
        for x in 0..symbol.size() {
            assert_eq!(symbol.is_dark(x, y), code.get_module(x as i32, y as i32), "{x} {y}");
        }
    }
}

fn version(number: u8) -> Version {
    Version::new(number)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn forced_modes_versions_levels_and_masks_equal_another_encoders(
        text in prop_oneof!["[0-9]{1,200}", "[A-Z $%*+./:-]{1,120}", "[ -~]{1,100}", "\\PC{1,40}"],
        level in 0..4usize,
        low in 1..=40u8,
        mask in 0..8u8,
        boost: bool,
        eci in proptest::option::of(prop_oneof![Just(26_u32), 0..1_000_000_u32]),
    ) {
        let (modes, segment) = if text.bytes().all(|b| b.is_ascii_digit()) {
            (Modes::Numeric, QrSegment::make_numeric(&text))
        } else if qrcodegen_is_alphanumeric(&text) {
            (Modes::Alphanumeric, QrSegment::make_alphanumeric(&text))
        } else {
            (Modes::Byte, QrSegment::make_bytes(text.as_bytes()))
        };
        let mut encoder =
            Encoder::new(Level::ALL[level]).versions(low..=40).mask(mask).boost(boost).modes(modes);
        let mut segments = vec![segment];
        if let Some(eci) = eci {
            encoder = encoder.eci(eci);
            segments.insert(0, QrSegment::make_eci(eci));
        }
        let symbol = encoder.encode(text.as_bytes()).unwrap();
        let code = QrCode::encode_segments_advanced(
            &segments, ECCS[level], version(low), version(40), Some(Mask::new(mask)), boost,
        ).unwrap();
        prop_assert_eq!(symbol.version(), code.version().value());
        prop_assert_eq!(symbol.mask(), mask);
        prop_assert_eq!(symbol.level() as usize, code.error_correction_level() as usize);
        assert_same_modules(&symbol, &code);
    }

    #[test]
    fn messages_with_any_options_are_read_as_they_were_asked_for(
        pieces in proptest::collection::vec(
            prop_oneof!["[0-9]{1,30}", "[A-Z%$ ]{1,30}", "[a-z%]{1,20}", "\u{1d}", "\\PC{1,10}"], 1..8,
        ),
        level in 0..4usize,
        low in 1..20u8,
        mask in proptest::option::of(0..8u8),
        boost: bool,
        eci: bool,
        fnc1 in prop_oneof![Just(None), Just(Some(Fnc1::Gs1)), (0..100u8).prop_map(|i| Some(Fnc1::Aim(i)))],
    ) {
        let text = pieces.concat();
        let mut encoder = Encoder::new(Level::ALL[level]).versions(low..=40).boost(boost);
        encoder = mask.map_or(encoder.clone(), |mask| encoder.mask(mask));
        if eci {
            encoder = encoder.eci(ECI_UTF_8);
        }
        encoder = fnc1.map_or(encoder.clone(), |fnc1| encoder.fnc1(fnc1));
        let symbol = encoder.encode(&text).unwrap();
        let read = read(&symbol);
        let indicator = match fnc1 {
            Some(Fnc1::Aim(indicator)) => format!("{indicator:02}"),
            _ => String::new(),
        };
        prop_assert_eq!(read.bytes(), (indicator + &text).into_bytes());
        prop_assert_eq!(read.has_eci(), eci);
        // The next number means that an ECI is in force; ASCII texts have none.
        let kind = match fnc1 { None => 1, Some(Fnc1::Gs1) => 3, Some(_) => 5 };
        let identifier = read.symbology_identifier();
        prop_assert!([kind, kind + u8::from(eci)].iter().any(|k| identifier == format!("]Q{k}")), "{}", identifier);
        prop_assert_eq!(read.extra_with_key("Version"), symbol.version().to_string());
        prop_assert_eq!(read.extra_with_key("ECLevel"), symbol.level().to_string());
        prop_assert_eq!(read.extra_with_key("DataMask"), symbol.mask().to_string());
        prop_assert!(mask.is_none_or(|mask| mask == symbol.mask()));
        prop_assert!(symbol.version() >= low && symbol.level() as usize >= level);
    }

    #[test]
    fn the_general_way_takes_no_more_room_than_the_direct_one(
        text in prop_oneof!["[0-9a-zA-Z:/ ]{1,300}", "([0-9]{1,9}[A-Z]{1,9}[a-z]{1,5}){1,30}", "\\PC{1,300}"],
        level in 0..4usize,
    ) {
        let level = Level::ALL[level];
        if let Ok(direct) = encode(&text, level) {
            // With a forced mask, the encoder takes the general way.
            let symbol = Encoder::new(level).mask(direct.mask()).encode(&text).unwrap();
            prop_assert_eq!(symbol.version(), direct.version());
            prop_assert_eq!(read(&symbol).bytes(), text.as_bytes());
            let boosted = Encoder::new(level).boost(true).encode(&text).unwrap();
            prop_assert_eq!(boosted.version(), direct.version());
            let higher = Level::ALL.into_iter().rev().find(|l| encode(&text, *l).is_ok_and(|s| s.version() == direct.version()));
            prop_assert_eq!(Some(boosted.level()), higher);
        }
    }

    #[test]
    fn structured_append_links_the_whole_message(
        text in prop_oneof!["[ -~]{200,1500}", "[0-9]{300,2000}", "(é|世|[a-z]){100,600}"],
        high in 4..12u8,
        eci: bool,
    ) {
        let mut encoder = Encoder::new(Level::M).versions(1..=high);
        if eci {
            encoder = encoder.eci(ECI_UTF_8);
        }
        let symbols = match encoder.encode_append(&text) {
            Ok(symbols) => symbols,
            Err(Error::TooManySymbols { held_bytes }) => {
                prop_assert!(held_bytes < text.len() && held_bytes > 0);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let parity = text.bytes().fold(0, |a, b| a ^ b);
        let mut message = Vec::new();
        for (index, symbol) in symbols.iter().enumerate() {
            let read = read(symbol);
            if symbols.len() > 1 {
                prop_assert_eq!(read.sequence_size() as usize, symbols.len());
                prop_assert_eq!(read.sequence_index() as usize, index);
                prop_assert_eq!(read.sequence_id(), parity.to_string());
            }
            prop_assert_eq!(symbol.version(), symbols[0].version());
            prop_assert!(std::str::from_utf8(&read.bytes()).is_ok(), "no character is divided");
            message.extend(read.bytes());
        }
        prop_assert_eq!(message, text.into_bytes());
    }
}

fn qrcodegen_is_alphanumeric(text: &str) -> bool {
    QrSegment::is_alphanumeric(text)
}

#[test]
fn structured_append_reaches_sixteen_symbols_and_no_more() {
    // Version 1-L has 152 bits; the header takes 20 and byte mode 12, which leaves 15 bytes per symbol.
    let encoder = Encoder::new(Level::L).versions(1..=1);
    assert_eq!(encoder.encode_append(&"a".repeat(15 * 16)).unwrap().len(), 16);
    let too_many = encoder.encode_append(&"a".repeat(15 * 16 + 1));
    assert_eq!(too_many, Err(Error::TooManySymbols { held_bytes: 240 }));
    assert_eq!(encoder.encode_append(&"a".repeat(17)).unwrap().len(), 1);
    assert_eq!(read(&encoder.encode_append("a").unwrap()[0]).sequence_size(), -1);
}

#[test]
fn bytes_of_any_encoding_are_encoded_as_they_are() {
    for bytes in [&b"gr\xfc\xdfe"[..], b"\x93_\xe4\xaa", &[0, 255, 128, 13, 10]] {
        let symbol = Encoder::new(Level::M).encode(bytes).unwrap();
        assert_eq!(read(&symbol).bytes(), bytes);
    }
    let latin = Encoder::new(Level::M).eci(3).encode(b"gr\xfc\xdfe").unwrap();
    assert_eq!(read(&latin).text(), "grüße");
}

/// zxing-cpp reads Kanji segments in the encoding that an ECI declares.
#[test]
fn kanji_takes_no_eci_but_that_of_shift_jis() {
    for modes in [Modes::Kanji, Modes::AutomaticWithKanji] {
        let encoder = |eci| Encoder::new(Level::M).modes(modes).eci(eci);
        assert_eq!(read(&encoder(20).encode("東京").unwrap()).text(), "東京");
        for assignment in [0, 3, 26, 29] {
            let refused = encoder(assignment).encode("東京").unwrap_err();
            assert_eq!(refused, Error::Eci { assignment });
        }
    }
    let ascii = Encoder::new(Level::M).modes(Modes::AutomaticWithKanji).eci(26).encode("ab");
    assert_eq!(read(&ascii.unwrap()).text(), "ab");
}

#[test]
fn every_length_of_eci_assignment_is_read() {
    for assignment in [0, 3, 26, 127, 128, 899, 16383, 16384, 999_999] {
        let symbol = Encoder::new(Level::L).eci(assignment).encode(b"a").unwrap();
        let bytes = read(&symbol).bytes_eci();
        let header = format!("]Q2\\{assignment:06}");
        assert!(bytes.starts_with(header.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn an_industrys_letter_is_read_as_its_application_indicator() {
    let symbol = Encoder::new(Level::M).fnc1(Fnc1::Aim(b'x' + 100)).encode("1%2").unwrap();
    assert_eq!(read(&symbol).bytes(), b"x1%2");
}

#[test]
fn a_message_too_long_says_how_long_and_what_holds_it() {
    let digits = "7".repeat(42);
    let error = Encoder::new(Level::L).versions(1..=1).encode(&digits).unwrap_err();
    let expected =
        Error::TooLong { needed_bits: 154, available_bits: 152, smallest_version: Some(2) };
    assert_eq!(error, expected);
    let error = Encoder::new(Level::L).encode(&"a".repeat(2954)).unwrap_err();
    let expected = Error::TooLong {
        needed_bits: 20 + 8 * 2954,
        available_bits: 8 * 2956,
        smallest_version: None,
    };
    assert_eq!(error, expected);
    let million = "a".repeat(1_000_000);
    let error = Encoder::new(Level::L).encode(&million).unwrap_err();
    assert!(matches!(error, Error::TooLong { needed_bits: 8_000_020, .. }), "{error}");
}

#[test]
fn options_out_of_range_are_refused() {
    let encoder = || Encoder::new(Level::L);
    let refused = |encoder: Encoder, data: Data<'_>| encoder.encode(data).unwrap_err();
    let a = Data::Text("a");
    #[allow(clippy::reversed_empty_ranges, reason = "it is refused")]
    let ranges = [0..=1, 1..=41, 3..=2];
    for range in ranges {
        let (low, high) = (*range.start(), *range.end());
        let expected = Error::Versions { low, high, most: 40 };
        assert_eq!(refused(encoder().versions(range), a), expected);
    }
    assert_eq!(refused(encoder().mask(8), a), Error::Mask { mask: 8, most: 7 });
    let eci = |assignment| Error::Eci { assignment };
    assert_eq!(refused(encoder().eci(1_000_000), a), eci(1_000_000));
    assert_eq!(refused(encoder().eci(3), Data::Text("é")), eci(3));
    for indicator in [100, 164, 191, 196, 223] {
        let expected = Error::ApplicationIndicator { indicator };
        assert_eq!(refused(encoder().fnc1(Fnc1::Aim(indicator)), a), expected);
    }
    for (modes, data) in
        [(Modes::Numeric, "1a"), (Modes::Alphanumeric, "Aa"), (Modes::Alphanumeric, "A\u{1d}")]
    {
        let expected = Error::NotInMode { modes, at_byte: 1 };
        assert_eq!(refused(encoder().modes(modes), Data::Text(data)), expected);
    }
}

#[cfg(feature = "kanji")]
mod kanji {
    use super::*;

    #[test]
    fn kanji_and_ascii_are_read_as_the_same_text_with_fewer_bits() {
        for text in ["点茗", "東京都千代田区1-1", "日本語ABC123かな", "漢a字b、。"]
        {
            let encoder = Encoder::new(Level::M).modes(Modes::AutomaticWithKanji);
            let symbol = encoder.encode(text).unwrap();
            assert_eq!(read(&symbol).text(), text);
        }
        let text = "漢字".repeat(30);
        let kanji = Encoder::new(Level::M).modes(Modes::Kanji).encode(&text).unwrap();
        let bytes = encode(&text, Level::M).unwrap();
        assert_eq!(read(&kanji).text(), text);
        assert!(kanji.version() < bytes.version());
    }

    #[test]
    fn kanji_alone_equals_another_encoders_symbol() {
        // The values of both characters are the standard's examples.
        let bits = |value: u16| (0..13).rev().map(move |k| value >> k & 1 == 1);
        let data = bits(0b0_1101_1001_1111).chain(bits(0b1_1010_1010_1010)).collect();
        let segment = QrSegment::new(qrcodegen::QrSegmentMode::Kanji, 2, data);
        let symbol = Encoder::new(Level::Q).modes(Modes::Kanji).encode("点茗").unwrap();
        let code = QrCode::encode_segments_advanced(
            &[segment],
            QrCodeEcc::Quartile,
            version(1),
            version(40),
            Some(Mask::new(symbol.mask())),
            false,
        )
        .unwrap();
        assert_same_modules(&symbol, &code);
    }

    #[test]
    fn what_kanji_mode_would_change_is_refused() {
        for (modes, text, at_byte) in [
            (Modes::Kanji, "漢a", 3),
            (Modes::Kanji, "～", 0),
            (Modes::AutomaticWithKanji, "漢é", 3),
            (Modes::AutomaticWithKanji, "aｱ", 1),
        ] {
            let refused = Encoder::new(Level::L).modes(modes).encode(text);
            assert_eq!(refused, Err(Error::NotInMode { modes, at_byte }), "{text}");
        }
    }

    #[test]
    fn parity_is_that_of_shift_jis() {
        let text = "点茗".repeat(20);
        let encoder = Encoder::new(Level::L).modes(Modes::Kanji).versions(1..=2);
        let symbols = encoder.encode_append(&text).unwrap();
        assert!(symbols.len() > 1);
        let parts: Vec<_> = symbols.iter().map(read).collect();
        assert_eq!(parts.iter().map(|part| part.text()).collect::<String>(), text);
        // The same bytes, 20 times, cancel out.
        assert!(parts.iter().all(|part| part.sequence_id() == "0"));
        let symbols = encoder.encode_append(&format!("{text}点")).unwrap();
        assert_eq!(read(&symbols[0]).sequence_id(), (0x93 ^ 0x5f).to_string());
    }
}
