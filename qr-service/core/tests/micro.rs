//! Micro QR: zxing-cpp reads every symbol, and zint, which it bundles, draws the same modules.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "formats", feature = "micro"))]

mod zxing;

use proptest::prelude::*;
use qr_core::{
    Color, Error, Level, MicroEncoder, MicroSymbol, Modes, Palette, Raster, Svg, write_palette_png,
    write_svg,
};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use zxing::{Picture, read_picture_as};
use zxingcpp::BarcodeFormat;

fn read(symbol: &MicroSymbol) -> zxingcpp::Barcode {
    let modules = symbol.modules();
    let side = (modules.width() + 4) * 4;
    let module = |px: usize| (px / 4).wrapping_sub(2);
    let grey = (0..side * side)
        .map(|i| if modules.is_dark(module(i % side), module(i / side)) { 0 } else { 255 })
        .collect();
    read_picture_as(&Picture { width: side, height: side, grey }, BarcodeFormat::MicroQRCode)
}

const LEVELS: [Option<Level>; 4] = [None, Some(Level::L), Some(Level::M), Some(Level::Q)];

fn check(text: &str, symbol: &MicroSymbol) {
    let read = read(symbol);
    assert_eq!(read.bytes(), text.as_bytes());
    assert_eq!(read.extra_with_key("Version"), format!("M{}", symbol.version()));
    assert_eq!(read.extra_with_key("DataMask"), symbol.mask().to_string());
    if let Some(level) = symbol.level() {
        assert_eq!(read.extra_with_key("ECLevel"), level.to_string());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_message_that_fits_is_read(
        text in prop_oneof!["[0-9]{1,35}", "[A-Z0-9 $%*+./:-]{1,21}", "[ -~]{1,15}", "[0-9]{1,8}[A-Z]{1,5}[a-z]{1,4}"],
        level in 0..4usize,
        mask in proptest::option::of(0..4u8),
        low in 1..=4u8,
    ) {
        let encoder = MicroEncoder::new(LEVELS[level]).versions(low..=4);
        let encoder = mask.map_or(encoder.clone(), |mask| encoder.mask(mask));
        match encoder.encode(&text) {
            Ok(symbol) => {
                check(&text, &symbol);
                prop_assert!(symbol.version() >= low && mask.is_none_or(|mask| mask == symbol.mask()));
                prop_assert!(LEVELS[level].is_none_or(|level| Some(level) == symbol.level()));
            }
            Err(Error::TooLong { needed_bits, available_bits, smallest_version }) => {
                prop_assert!(needed_bits > available_bits && smallest_version.is_none());
                prop_assert!(available_bits > 0);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the modules of zint's symbol for the text.
fn draw_with_zint(text: &str, version: u8, level: Option<Level>) -> Vec<Vec<bool>> {
    let level = level.map_or(String::new(), |level| format!(",ecLevel={level}"));
    let creator = zxingcpp::create(BarcodeFormat::MicroQRCode);
    let barcode = creator.options(format!("version={version}{level}")).from_str(text).unwrap();
    let image = barcode.to_image_with(&zxingcpp::write().scale(1).add_quiet_zones(false)).unwrap();
    let (width, pixels) = (image.width() as usize, image.data());
    pixels.chunks(width).map(|row| row.iter().map(|grey| *grey == 0).collect()).collect()
}

#[test]
fn every_version_and_level_equals_another_encoders_symbol() {
    let mut compared = 0;
    for version in 1..=4 {
        for level in LEVELS {
            for length in 1..=35 {
                for digits in [true, false] {
                    let text: String = if digits { "9876543210" } else { "QRSTUVWXYZ" }
                        .chars()
                        .cycle()
                        .take(length)
                        .collect();
                    let encoder = MicroEncoder::new(level).versions(version..=version);
                    let Ok(symbol) = encoder.encode(&text) else { continue };
                    if symbol.level() != level {
                        continue;
                    }
                    let rows: Vec<Vec<bool>> =
                        symbol.modules().rows().map(Iterator::collect).collect();
                    assert_eq!(
                        rows,
                        draw_with_zint(&text, version, level),
                        "{text} M{version} {level:?}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn the_longest_messages_are_those_of_the_standard() {
    // Table 7, numeric, alphanumeric and byte mode.
    let most = |version, level, letter: &str| {
        let encoder = MicroEncoder::new(level).versions(version..=version);
        (1..40).take_while(|n| encoder.encode(&letter.repeat(*n)).is_ok()).count()
    };
    let (l, m, q) = (Some(Level::L), Some(Level::M), Some(Level::Q));
    for (version, level, lengths) in [
        (1, None, [5, 0, 0]),
        (2, l, [10, 6, 0]),
        (2, m, [8, 5, 0]),
        (3, l, [23, 14, 9]),
        (3, m, [18, 11, 7]),
        (4, l, [35, 21, 15]),
        (4, m, [30, 18, 13]),
        (4, q, [21, 13, 9]),
    ] {
        assert_eq!(["7", "A", "a"].map(|letter| most(version, level, letter)), lengths);
    }
}

#[test]
fn what_micro_qr_does_not_have_is_refused() {
    let refused = |encoder: MicroEncoder, text: &str| encoder.encode(text).unwrap_err();
    let any = || MicroEncoder::new(None);
    let too_long = |needed_bits, available_bits, smallest_version| Error::TooLong {
        needed_bits,
        available_bits,
        smallest_version,
    };
    for (level, most) in [(Level::H, 4), (Level::Q, 3), (Level::L, 1)] {
        let encoder = MicroEncoder::new(Some(level)).versions(1..=most);
        assert_eq!(refused(encoder, "1"), Error::NoSuchSymbol { level: Some(level) });
    }
    assert_eq!(refused(any().versions(1..=1), "123456"), too_long(23, 20, Some(2)));
    assert_eq!(refused(any().versions(1..=1), "a"), too_long(16, 20, Some(3)));
    assert_eq!(refused(any().versions(1..=5), "1"), Error::Versions { low: 1, high: 5, most: 4 });
    assert_eq!(refused(any().mask(4), "1"), Error::Mask { mask: 4, most: 3 });
    let modes = Modes::Numeric;
    assert_eq!(refused(any().modes(modes), "1a"), Error::NotInMode { modes, at_byte: 1 });
}

#[test]
#[cfg(feature = "kanji")]
fn kanji_is_read() {
    let symbol = MicroEncoder::new(Some(Level::L)).modes(Modes::Kanji).encode("点茗漢字").unwrap();
    assert_eq!((symbol.version(), read(&symbol).text()), (3, "点茗漢字".to_owned()));
}

#[test]
fn every_picture_of_it_is_read() {
    let symbol = MicroEncoder::new(Some(Level::M)).encode("MICRO QR").unwrap();
    let read = |grey: Vec<u8>, side: usize| {
        let picture = Picture { width: side, height: side, grey };
        read_picture_as(&picture, BarcodeFormat::MicroQRCode).bytes()
    };
    let palette = Palette::new(Color::rgb(0, 0, 99), Color::WHITE);
    for (size_px, palette) in
        [(200, palette), (1000, palette), (200, Palette::new(Color::BLACK, Color::WHITE))]
    {
        let mut png = Vec::new();
        let raster = Raster::new(size_px).margin_modules(2);
        write_palette_png(&symbol, &raster, &palette, &mut png).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let samples = reader.output_color_type().0.samples();
        let grey = pixels.into_iter().step_by(samples).collect();
        assert_eq!(read(grey, size_px as usize), b"MICRO QR", "{size_px}");
    }
    let mut svg = String::new();
    let options = Svg::default().margin_modules(2).size_px(200);
    write_svg(&symbol, &options, &mut svg);
    let tree = Tree::from_str(&svg, &Options::default()).unwrap();
    let mut drawn = Pixmap::new(200, 200).unwrap();
    resvg::render(&tree, Transform::identity(), &mut drawn.as_mut());
    assert_eq!(read(drawn.pixels().iter().map(|p| p.green()).collect(), 200), b"MICRO QR");
}
