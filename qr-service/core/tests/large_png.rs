//! Tests pictures in two colours: compression by repetitions keeps every pixel and saves the bytes that it should.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(feature = "rmqr", feature = "zopfli"))]

use proptest::prelude::*;
use qr_core::{
    Color, Encoder, Level, Modules, Palette, Raster, RmqrEncoder, encode, write_palette_png,
    write_png, write_smallest_png,
};

const BLACK_ON_WHITE: Palette = Palette::new(Color::BLACK, Color::WHITE);

/// Returns a decoder that also checks the Adler-32, which is off by default.
fn decoder(png: &[u8]) -> png::Decoder<std::io::Cursor<&[u8]>> {
    let mut options = png::DecodeOptions::default();
    options.set_ignore_adler32(false);
    png::Decoder::new_with_options(std::io::Cursor::new(png), options)
}

/// Returns the rows as the `png` crate reads them, one bit per pixel.
fn rows(png: &[u8]) -> Vec<u8> {
    let mut reader = decoder(png).read_info().unwrap();
    let mut rows = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rows).unwrap();
    reader.finish().unwrap();
    rows.truncate(info.buffer_size());
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_pixel_is_that_of_the_plain_writer(
        text in prop_oneof!["[a-z0-9]{1,60}", "[ -~]{1,1200}", "a{1,200}"],
        version in 1..=25_u8,
        scale_px in 1..40_u32,
        margin_modules in 0..6_u32,
        spare_px in 0..60_u32,
    ) {
        let symbol = Encoder::new(Level::L).versions(version..=40).encode(&text).unwrap();
        let exact = Raster::of_scale(&symbol, scale_px, margin_modules);
        let raster = Raster::new(exact.size_px + spare_px).margin_modules(margin_modules);
        let (mut plain, mut found) = (Vec::new(), b"before".to_vec());
        write_png(&symbol, &raster, &mut plain).unwrap();
        write_palette_png(&symbol, &raster, &BLACK_ON_WHITE, &mut found).unwrap();
        prop_assert!(rows(&plain) == rows(&found[6..]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_pixel_has_its_colour_and_opacity(
        text in prop_oneof!["[a-z0-9]{1,60}", "[ -~]{1,600}"],
        version in 1..=40_u8,
        scale_px in prop_oneof![3..9_u32, 9..24_u32, 24..60_u32],
        margin_modules in 0..6_u32,
        spare_px in 0..60_u32,
        [dark, light] in any::<[[u8; 4]; 2]>(),
    ) {
        let symbol = Encoder::new(Level::L).versions(version..=40).encode(&text).unwrap();
        // At most 16 megapixels, so that a case takes less than a second.
        let scale_px = scale_px.min(4000 / (symbol.size() as u32 + 2 * margin_modules));
        let exact = Raster::of_scale(&symbol, scale_px, margin_modules);
        let raster = Raster::new(exact.size_px + spare_px.min(scale_px)).margin_modules(margin_modules);
        let color = |[red, green, blue, alpha]: [u8; 4]| Color { red, green, blue, alpha };
        let palette = Palette::new(color(dark), color(light));
        let mut png = Vec::new();
        write_palette_png(&symbol, &raster, &palette, &mut png).unwrap();
        let pixels = colors(&png);
        let side = raster.size_px as usize;
        let scale = side / (symbol.size() + 2 * margin_modules as usize);
        let offset = (side - symbol.size() * scale) / 2;
        let module_at = |px: usize| px.checked_sub(offset).map_or(usize::MAX, |px| px / scale);
        for (i, pixel) in pixels.as_chunks::<4>().0.iter().enumerate() {
            let (x, y) = (module_at(i % side), module_at(i / side));
            prop_assert_eq!(*pixel, if symbol.modules().is_dark(x, y) { dark } else { light });
        }
    }
}

/// Returns the colours of all pixels.
fn colors(png: &[u8]) -> Vec<u8> {
    let mut decoder = decoder(png);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    reader.finish().unwrap();
    pixels
}

/// Returns the bytes of the usual picture and of the smallest one.
fn usual_and_smallest<'a>(
    modules: impl Into<Modules<'a>>,
    raster: &Raster,
    palette: &Palette,
) -> [usize; 2] {
    let modules = modules.into();
    let (mut usual, mut smallest) = (Vec::new(), b"before".to_vec());
    write_palette_png(modules, raster, palette, &mut usual).unwrap();
    write_smallest_png(modules, raster, palette, &mut smallest).unwrap();
    assert!(smallest.starts_with(b"before"));
    assert!(colors(&usual) == colors(&smallest[6..]), "{raster:?}");
    [usual.len(), smallest.len() - 6]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn the_smallest_picture_has_the_same_pixels_in_no_more_bytes(
        text in prop_oneof!["[a-z0-9]{1,60}", "[ -~]{1,300}", "a{1,200}"],
        scale_px in 1..12_u32,
        margin_modules in 0..6_u32,
        spare_px in 0..20_u32,
        is_plain in any::<bool>(),
    ) {
        let dark = if is_plain { Color::BLACK } else { Color::rgb(1, 2, 3) };
        let palette = Palette::new(dark, Color::WHITE);
        let symbol = Encoder::new(Level::L).encode(&text).unwrap();
        let exact = Raster::of_scale(&symbol, scale_px, margin_modules);
        let raster = Raster::new(exact.size_px + spare_px).margin_modules(margin_modules);
        let [usual, smallest] = usual_and_smallest(&symbol, &raster, &palette);
        prop_assert!(smallest <= usual, "{smallest} {usual}");
        if let Ok(symbol) = RmqrEncoder::new(Level::M).encode(&text) {
            let raster = Raster::of_scale(&symbol, scale_px, margin_modules);
            usual_and_smallest(&symbol, &raster, &palette);
        }
    }
}

/// The limits, in percent of the usual bytes, come from a comparison with Zopfli (`make bench ARGS=formats`).
#[test]
fn the_smallest_picture_is_smaller_where_the_usual_one_is_not_short() {
    let text: String = ('!'..='~').cycle().step_by(7).take(340).collect();
    for (length, scale_px, percent) in [(20, 1, 96), (340, 1, 98), (340, 5, 97), (20, 16, 97)] {
        let symbol = encode(&text[..length], Level::M).unwrap();
        let raster = Raster::of_scale(&symbol, scale_px, 4);
        let [usual, smallest] = usual_and_smallest(&symbol, &raster, &BLACK_ON_WHITE);
        assert!(100 * smallest <= percent * usual, "{length} {scale_px}: {smallest} {usual}");
    }
}

#[test]
fn every_pixel_of_a_symbol_that_is_not_square_is_right() {
    for (text, scale_px) in
        [("1", 9), ("1234", 5), ("12345", 27), ("some longer text of 40 characters or so.", 16)]
    {
        let symbol = RmqrEncoder::new(Level::M).encode(text).unwrap();
        let modules = symbol.modules();
        let raster = Raster::new((modules.width() as u32 + 4) * scale_px + 5).margin_modules(2);
        let mut png = Vec::new();
        write_palette_png(modules, &raster, &BLACK_ON_WHITE, &mut png).unwrap();
        let (rows, width) = (rows(&png), raster.size_px as usize);
        let (line, scale) = (width.div_ceil(8), scale_px as usize);
        let offset = (width - modules.width() * scale) / 2;
        assert_eq!(rows.len(), line * (width - modules.width() * scale + modules.height() * scale));
        for (y, row) in rows.chunks(line).enumerate() {
            for x in 0..width {
                let at = |px: usize| px.checked_sub(offset).map_or(usize::MAX, |px| px / scale);
                let is_dark = row[x / 8] << (x % 8) & 0x80 == 0;
                assert_eq!(is_dark, modules.is_dark(at(x), at(y)), "{text} {x} {y}");
            }
        }
    }
}

/// Regression, found by random tests: the symbols end one to three bytes before the line, so a repetition may reach
/// beyond them.
#[test]
fn a_symbol_near_the_end_of_its_lines_is_drawn() {
    let palettes = [BLACK_ON_WHITE, Palette::new(Color::rgb(1, 2, 3), Color::WHITE)];
    for (text, version, size_px, margin_modules) in [
        ("0gcsd1oi9bmnah0ci", 2, 191, 1),
        (r##"#%cylwq#6w4HvKH=G-3(Y>dy2l"q0mg<EI8>?4PFfplD8@"##, 3, 220, 0),
    ] {
        let symbol = Encoder::new(Level::L).versions(version..=40).encode(text).unwrap();
        let raster = Raster::new(size_px).margin_modules(margin_modules);
        for palette in palettes {
            let (mut plain, mut found) = (Vec::new(), Vec::new());
            write_png(&symbol, &raster, &mut plain).unwrap();
            write_palette_png(&symbol, &raster, &palette, &mut found).unwrap();
            assert!(rows(&plain) == rows(&found), "{text}");
        }
    }
}

/// Checks pictures, given by their number of letters and their size in pixels.
fn assert_at_most_fifteen_percent_more_bytes_than_zopfli(pictures: &[(usize, u32)]) {
    let text: String = ('a'..='z').cycle().take(512).collect();
    let palette = Palette::new(Color::rgb(26, 35, 126), Color::rgb(255, 253, 231));
    for &(length, size_px) in pictures {
        let symbol = encode(&text[..length], Level::L).unwrap();
        let mut png = Vec::new();
        write_palette_png(&symbol, &Raster::new(size_px), &palette, &mut png).unwrap();
        let mut lines = Vec::new();
        for row in rows(&png).chunks(size_px.div_ceil(8) as usize) {
            lines.push(0);
            lines.extend_from_slice(row);
        }
        let mut packed = Vec::new();
        let options = zopfli::Options::default();
        zopfli::compress(options, zopfli::Format::Deflate, lines.as_slice(), &mut packed).unwrap();
        // Signature, header, palette, end, and the frame around the stream: 8 + 25 + 18 + 12 + 18 bytes.
        let by_zopfli = packed.len() + 81;
        assert!(
            100 * png.len() <= 115 * by_zopfli,
            "{length} {size_px}: {} {by_zopfli}",
            png.len()
        );
    }
}

#[test]
fn a_picture_has_at_most_fifteen_percent_more_bytes_than_zopfli_makes_of_it() {
    assert_at_most_fifteen_percent_more_bytes_than_zopfli(&[(3, 450), (53, 450), (512, 450)]);
}

/// Only `make test-all` runs it: Zopfli takes seconds for each picture.
mod nightly {
    use super::*;

    #[test]
    fn a_large_picture_has_at_most_fifteen_percent_more_bytes_than_zopfli_makes_of_it() {
        let lengths = [3, 53, 200, 512];
        assert_at_most_fifteen_percent_more_bytes_than_zopfli(&lengths.map(|len| (len, 1000)));
    }
}

#[test]
fn a_picture_too_large_for_zopfli_is_written_as_usual() {
    let symbol = encode("text", Level::M).unwrap();
    let raster = Raster::new(1000);
    let [usual, smallest] = usual_and_smallest(&symbol, &raster, &BLACK_ON_WHITE);
    assert_eq!(usual, smallest);
}
