//! Rectangular Micro QR: zxing-cpp reads every symbol, and zint, which it bundles, draws the same.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "formats", feature = "rmqr"))]

mod zxing;

use proptest::prelude::*;
use qr_core::{
    Color, ECI_UTF_8, Error, Level, Modes, Palette, Raster, RmqrEncoder, RmqrSymbol, Svg,
    write_palette_png, write_svg,
};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use zxing::{Picture, read_picture_as};
use zxingcpp::BarcodeFormat;

const SIZES: [(u8, u8); 32] = {
    let (mut sizes, mut at, mut height) = ([(0, 0); 32], 0, 7);
    while height <= 17 {
        let widths = [27, 43, 59, 77, 99, 139];
        let mut k = if height == 11 || height == 13 { 0 } else { 1 };
        while k < 6 {
            sizes[at] = (height, widths[k]);
            (at, k) = (at + 1, k + 1);
        }
        height += 2;
    }
    sizes
};

fn read(symbol: &RmqrSymbol) -> zxingcpp::Barcode {
    let modules = symbol.modules();
    let (width, height) = ((modules.width() + 8) * 4, (modules.height() + 8) * 4);
    let module = |px: usize| (px / 4).wrapping_sub(4);
    let grey = (0..width * height)
        .map(|i| if modules.is_dark(module(i % width), module(i / width)) { 0 } else { 255 })
        .collect();
    read_picture_as(&Picture { width, height, grey }, BarcodeFormat::RMQRCode)
}

fn of_size((height, width): (u8, u8), level: Level) -> RmqrEncoder {
    RmqrEncoder::new(level).heights(height..=height).widths(width..=width)
}

fn draw_with_zint(text: &str, version: usize, level: Level) -> Vec<Vec<bool>> {
    let creator = zxingcpp::create(BarcodeFormat::RMQRCode);
    let options = format!("version={version},ecLevel={level}");
    let barcode = creator.options(options).from_str(text).unwrap();
    let image = barcode.to_image_with(&zxingcpp::write().scale(1).add_quiet_zones(false)).unwrap();
    let (width, pixels) = (image.width() as usize, image.data());
    pixels.chunks(width).map(|row| row.iter().map(|grey| *grey == 0).collect()).collect()
}

#[test]
fn every_size_level_and_mode_equals_another_encoders_symbol() {
    let mut compared = 0;
    for (index, size) in SIZES.into_iter().enumerate() {
        for level in [Level::M, Level::H] {
            for letters in ["9876543210", "QRSTUVWXYZ", "qrstuvwxyz"] {
                let text = |length| letters.chars().cycle().take(length).collect::<String>();
                let encoder = of_size(size, level);
                let most = (1..400).take_while(|n| encoder.encode(&text(*n)).is_ok()).last();
                for length in [1, most.unwrap() / 2, most.unwrap()] {
                    let text = text(length.max(1));
                    let symbol = encoder.encode(&text).unwrap();
                    assert_eq!(usize::from(symbol.version()), index + 1);
                    let rows: Vec<Vec<bool>> =
                        symbol.modules().rows().map(Iterator::collect).collect();
                    assert_eq!(
                        rows,
                        draw_with_zint(&text, index + 1, level),
                        "{text} {size:?} {level}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 32 * 2 * 3 * 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_message_that_fits_is_read(
        text in prop_oneof!["[0-9]{1,361}", "[A-Z0-9 $%*+./:-]{1,200}", "[ -~]{1,140}", "\\PC{1,30}"],
        high: bool,
        height in 3..=8u8,
        eci: bool,
    ) {
        let level = if high { Level::H } else { Level::M };
        let encoder = RmqrEncoder::new(level).heights(2 * height + 1..=17);
        let encoder = if eci { encoder.eci(ECI_UTF_8) } else { encoder };
        match encoder.encode(&text) {
            Ok(symbol) => {
                let read = read(&symbol);
                prop_assert_eq!(read.bytes(), text.as_bytes());
                prop_assert_eq!(read.has_eci(), eci);
                prop_assert!(symbol.modules().height() > usize::from(2 * height));
            }
            Err(Error::TooLong { needed_bits, available_bits, smallest_version }) => {
                prop_assert!(needed_bits > available_bits && smallest_version.is_none());
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn the_longest_messages_are_those_of_the_standard() {
    let holds = |letter: &str, n| RmqrEncoder::new(Level::M).encode(&letter.repeat(n)).is_ok();
    for (letter, most) in [("7", 361), ("A", 219), ("a", 150)] {
        assert!(holds(letter, most) && !holds(letter, most + 1), "{letter}");
    }
}

#[test]
fn what_is_not_allowed_is_refused() {
    let refused = |encoder: RmqrEncoder, text: &str| encoder.encode(text).unwrap_err();
    let too_long = |needed_bits, available_bits, smallest_version| Error::TooLong {
        needed_bits,
        available_bits,
        smallest_version,
    };
    // R7x43-M has 6 data codewords.
    assert_eq!(refused(of_size((7, 43), Level::M), "123456789012345"), too_long(57, 48, Some(17)));
    for level in [Level::L, Level::Q] {
        let error = Error::NoSuchSymbol { level: Some(level) };
        assert_eq!(refused(of_size((7, 43), level), "1"), error);
    }
    // There is no R7x27.
    let error = Error::NoSuchSymbol { level: None };
    assert_eq!(refused(of_size((7, 27), Level::M), "1"), error);
    let modes = Modes::Numeric;
    let numeric = RmqrEncoder::new(Level::M).modes(modes);
    assert_eq!(refused(numeric, "1a"), Error::NotInMode { modes, at_byte: 1 });
    let eci = Error::Eci { assignment: 3 };
    assert_eq!(refused(RmqrEncoder::new(Level::M).eci(3), "é"), eci);
}

#[test]
fn a_png_and_an_svg_show_the_same_pixels_with_equal_margins() {
    let symbol = of_size((11, 59), Level::M).encode("RECTANGLE").unwrap();
    let raster = Raster::of_scale(&symbol, 5, 2);
    assert_eq!(raster.size_px, 5 * 63);
    let palette = Palette::new(Color::rgb(0, 1, 0), Color::WHITE);
    let mut png = Vec::new();
    write_palette_png(&symbol, &raster, &palette, &mut png).unwrap();
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (5 * 63, 5 * 15));
    let greens = |rgb: &[u8], step| rgb.iter().skip(1).step_by(step).copied().collect::<Vec<u8>>();
    let mut svg = String::new();
    let dark = palette.dark;
    let options = Svg::default().margin_modules(2).size_px(5 * 63).dark(dark);
    write_svg(&symbol, &options, &mut svg);
    let tree = Tree::from_str(&svg, &Options::default()).unwrap();
    let mut drawn = Pixmap::new(5 * 63, 5 * 15).unwrap();
    resvg::render(&tree, Transform::identity(), &mut drawn.as_mut());
    assert!(greens(&pixels, 3) == greens(drawn.data(), 4));
    let picture = Picture { width: 5 * 63, height: 5 * 15, grey: greens(&pixels, 3) };
    assert_eq!(read_picture_as(&picture, BarcodeFormat::RMQRCode).bytes(), b"RECTANGLE");
}
