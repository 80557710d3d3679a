//! Tests that every format shows the symbol's modules: other programs render it, and zxing-cpp reads the result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(feature = "formats")]

mod seams;
mod zxing;

use qr_core::{
    Color, Encoder, Error, Ink, Level, Palette, Print, Raster, Svg, Symbol, TextStyle, encode,
    to_half_blocks, write_ascii, write_eps, write_half_blocks, write_palette_png, write_pbm,
    write_pdf, write_png, write_svg,
};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use seams::{EXACT, assert_no_seams, symbols};
use zxing::{Picture, read_picture};

const TEXT: &str = "https://example.com/some/path?with=query";

/// Renders a document on `backdrop`, at `scale` times its own size.
fn render(svg: &str, scale: f32, backdrop: resvg::tiny_skia::Color) -> Pixmap {
    let tree = Tree::from_str(svg, &Options::default()).unwrap();
    let size = tree.size().to_int_size().scale_by(scale).unwrap();
    let mut drawn = Pixmap::new(size.width(), size.height()).unwrap();
    drawn.fill(backdrop);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut drawn.as_mut());
    drawn
}

fn grey(drawn: &Pixmap) -> Picture {
    let grey = drawn.pixels().iter().map(|pixel| pixel.green()).collect();
    Picture { width: drawn.width() as usize, height: drawn.height() as usize, grey }
}

fn white() -> resvg::tiny_skia::Color {
    resvg::tiny_skia::Color::WHITE
}

#[test]
fn an_svg_has_the_colours_asked_for_also_where_it_is_transparent() {
    let symbol = encode(TEXT, Level::M).unwrap();
    let dark: Color = "#123456".parse().unwrap();
    let light: Color = "f0e0d080".parse().unwrap();
    let colour_of = |dark, light, backdrop, x, y| {
        let mut svg = String::new();
        let options = Svg::default().dark(dark).light(light).margin_modules(2);
        write_svg(&symbol, &options, &mut svg);
        let pixel = render(&svg, 4.0, backdrop).pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    };
    assert_eq!(colour_of(dark, light, white(), 10, 10), [0x12, 0x34, 0x56]);
    let blend = |channel: u16| (channel * 128 + 255 * 127).div_ceil(255) as u8;
    let drawn = colour_of(dark, light, white(), 2, 2);
    for (channel, expected) in drawn.into_iter().zip([0xf0, 0xe0, 0xd0].map(blend)) {
        assert!(channel.abs_diff(expected) <= 1, "{drawn:?}");
    }
    let red = resvg::tiny_skia::Color::from_rgba8(255, 0, 0, 255);
    assert_eq!(colour_of(dark, Color::TRANSPARENT, red, 2, 2), [255, 0, 0]);
    assert_eq!(colour_of(Color::BLACK, Color::WHITE, red, 2, 2), [255, 255, 255]);
}

#[test]
fn an_svgs_title_is_escaped_and_its_width_is_the_one_asked_for() {
    let symbol = encode(TEXT, Level::M).unwrap();
    let title = "</title><script>\"&amp;\u{0}\u{8}\u{ffff}é\r\n\t";
    let mut svg = String::from("kept: ");
    write_svg(&symbol, &Svg::default().title(title).size_px(333), &mut svg);
    let svg = svg.strip_prefix("kept: ").unwrap();
    let tree = resvg::usvg::roxmltree::Document::parse(svg).unwrap();
    let element = tree.descendants().find(|node| node.has_tag_name("title")).unwrap();
    let read = element.text().unwrap();
    assert_eq!(read, title.replace(['\u{0}', '\u{8}', '\u{ffff}'], "\u{fffd}"));
    let size = Tree::from_str(svg, &Options::default()).unwrap().size();
    assert_eq!((size.width(), size.height()), (333.0, 333.0));
}

#[test]
fn a_palette_png_has_the_colours_asked_for_at_every_pixel() {
    let palettes =
        [("#123456", "fff"), ("000", "0000"), ("00000080", "#fedcba40"), ("ff000001", "0f0")];
    for (text, symbol) in symbols() {
        for (dark, light) in palettes {
            let palette = Palette::new(dark.parse().unwrap(), light.parse().unwrap());
            let modules = symbol.size() as u32 + 8;
            for size_px in [modules, modules * 3 + 1, 1000] {
                let raster = Raster::new(size_px);
                let mut png = vec![7];
                write_palette_png(&symbol, &raster, &palette, &mut png).unwrap();
                let drawn = rgba(&png[1..]);
                assert_eq!(drawn.len(), (size_px * size_px) as usize, "{}", text.len());
                let scale = (size_px / modules) as usize;
                let offset = (size_px as usize - scale * symbol.size()) / 2;
                for (i, pixel) in drawn.into_iter().enumerate() {
                    let at = |px: usize| px.wrapping_sub(offset) / scale;
                    let (x, y) = (i % size_px as usize, i / size_px as usize);
                    let is_dark = x >= offset && y >= offset && symbol.is_dark(at(x), at(y));
                    let Color { red, green, blue, alpha } =
                        if is_dark { palette.dark } else { palette.light };
                    assert_eq!(pixel, [red, green, blue, alpha]);
                }
            }
        }
    }
}

/// Returns the pixels as the `png` crate reads them.
fn rgba(png: &[u8]) -> Vec<[u8; 4]> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    reader.finish().unwrap();
    pixels.as_chunks::<4>().0.to_vec()
}

#[test]
fn a_palette_png_in_black_on_white_whose_modules_are_bytes_is_the_plain_png() {
    let symbol = encode(TEXT, Level::M).unwrap();
    let raster = Raster::of_scale(&symbol, 8, 4);
    let palette = Palette::new(Color::BLACK, Color::WHITE);
    let (mut plain, mut coloured) = (Vec::new(), Vec::new());
    write_png(&symbol, &raster, &mut plain).unwrap();
    write_palette_png(&symbol, &raster, &palette, &mut coloured).unwrap();
    assert!(plain == coloured);
    let tiny = Raster::new(1);
    let dark = Palette::new(Color::rgb(1, 1, 1), Color::WHITE);
    let refused = write_palette_png(&symbol, &tiny, &dark, &mut coloured);
    assert_eq!(refused, Err(Error::SizeTooSmall { least_px: symbol.size() as u32 + 8 }));
    assert!(plain == coloured, "a refusal leaves the buffer unchanged");
}

#[test]
fn a_pbm_is_read() {
    for (text, symbol) in symbols() {
        let mut pbm = Vec::new();
        write_pbm(&symbol, &Raster::of_scale(&symbol, 3, 4), &mut pbm).unwrap();
        let side = (symbol.size() + 8) * 3;
        let header = format!("P4\n{side} {side}\n");
        let bytes = pbm.strip_prefix(header.as_bytes()).unwrap();
        let width = side.div_ceil(8);
        assert_eq!(bytes.len(), width * side);
        let grey = |i: usize| {
            let (x, y) = (i % side, i / side);
            if bytes[y * width + x / 8] << (x % 8) & 0x80 > 0 { 0 } else { 255 }
        };
        let drawn =
            Picture { width: side, height: side, grey: (0..side * side).map(grey).collect() };
        assert_eq!(read_picture(&drawn).bytes(), text.as_bytes());
        assert_no_seams(&symbol, &drawn, 3.0, EXACT);
    }
    let symbol = encode("a", Level::L).unwrap();
    let mut out = Vec::new();
    let refused = |scale, margin, out: &mut Vec<u8>| {
        write_pbm(&symbol, &Raster::of_scale(&symbol, scale, margin), out).unwrap_err()
    };
    assert_eq!(refused(0, 4, &mut out), Error::SizeTooSmall { least_px: 29 });
    let too_large = |size_px| Error::SizeTooLarge { size_px, most_px: Raster::MAX_SIZE_PX };
    assert_eq!(refused(565, 4, &mut out), too_large(565 * 29));
    assert_eq!(refused(u32::MAX, u32::MAX, &mut out), too_large(u32::MAX));
    assert!(out.is_empty());
}

#[test]
fn the_readme_shows_the_symbol_that_its_example_makes() {
    let symbol = encode("https://example.com/", Level::M).unwrap();
    let drawn = to_half_blocks(&symbol, &TextStyle::default().margin_modules(0).ink(Ink::Dark));
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    assert!(include_str!("../README.md").contains(&lines.join("\n")), "{drawn}");
}

/// Turns lines of text into pixels; `halves` gives the two halves of a character.
fn picture_of_text(text: &str, halves: impl Fn(char) -> [bool; 2], ink: Ink) -> Picture {
    let rows: Vec<Vec<[bool; 2]>> =
        text.lines().map(|line| line.chars().map(&halves).collect()).collect();
    let width = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == width), "all lines have the same length");
    let shade = |drawn: bool| if drawn == (ink == Ink::Dark) { 0 } else { 255 };
    let upper_and_lower = rows.iter().flat_map(|row| {
        [row.iter().map(|h| shade(h[0])).collect(), row.iter().map(|h| shade(h[1])).collect()]
    });
    let lines: Vec<Vec<u8>> = upper_and_lower.collect();
    let scaled =
        |line: &Vec<u8>| line.iter().flat_map(|grey| [*grey; 3]).collect::<Vec<_>>().repeat(3);
    let grey = lines.iter().flat_map(scaled).collect();
    Picture { width: 3 * width, height: 3 * lines.len(), grey }
}

#[test]
fn half_blocks_and_ascii_are_read_in_either_ink() {
    for (text, symbol) in symbols() {
        for ink in [Ink::Dark, Ink::Light] {
            let style = TextStyle::default().ink(ink);
            let mut blocks = String::new();
            write_half_blocks(&symbol, &style, &mut blocks);
            let halves = |c| match c {
                '█' => [true, true],
                '▀' => [true, false],
                '▄' => [false, true],
                ' ' => [false, false],
                other => panic!("{other:?} is not a half block"),
            };
            let drawn = picture_of_text(&blocks, halves, ink);
            assert_eq!(read_picture(&drawn).bytes(), text.as_bytes());

            let mut ascii = String::new();
            write_ascii(&symbol, &style, &mut ascii);
            // Each character is half a module wide and a whole one high.
            let drawn = picture_of_text(&ascii, |c| [c == '#'; 2], ink);
            assert_eq!(read_picture(&drawn).bytes(), text.as_bytes());
            assert!(ascii.chars().all(|c| ['#', ' ', '\n'].contains(&c)));
        }
    }
}

#[test]
fn a_page_of_any_width_in_range_is_written() {
    let symbol = encode(TEXT, Level::M).unwrap();
    for width_mm in [0.0, 0.9, -1.0, 5080.1, f64::NAN, f64::INFINITY] {
        let print = Print::default().width_mm(width_mm);
        let (mut pdf, mut eps) = (Vec::new(), String::new());
        let refused = [write_pdf(&symbol, &print, &mut pdf), write_eps(&symbol, &print, &mut eps)];
        assert!(refused.iter().all(|it| matches!(it, Err(Error::Width { .. }))));
        assert!(pdf.is_empty() && eps.is_empty());
    }
    for margin_modules in [100_000_000, u32::MAX] {
        let print = Print::default().margin_modules(margin_modules);
        let (mut pdf, mut eps) = (Vec::new(), String::new());
        let refused = [write_pdf(&symbol, &print, &mut pdf), write_eps(&symbol, &print, &mut eps)];
        assert_eq!(refused, [Err(Error::Margin { margin_modules }); 2]);
        assert!(pdf.is_empty() && eps.is_empty());
    }
    // 185 modules at the least width: the scale still has significant digits.
    let mut eps = String::new();
    let print = Print::default().width_mm(1.0).margin_modules(100);
    write_eps(&symbol, &print, &mut eps).unwrap();
    assert!(!eps.contains("0.000000"), "{eps}");
}

/// Returns the numbers of the comment `name` in an EPS.
fn comment(eps: &str, name: &str) -> Vec<f64> {
    let line = eps.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn an_eps_keeps_the_conventions_for_documents() {
    for (_, symbol) in symbols() {
        for width_mm in [1.0, 25.4, 40.0, 5080.0] {
            let mut eps = String::new();
            write_eps(&symbol, &Print::default().width_mm(width_mm), &mut eps).unwrap();
            assert!(eps.is_ascii() && eps.lines().all(|line| line.len() <= 255));
            let exact = comment(&eps, "%%HiResBoundingBox:");
            let whole = comment(&eps, "%%BoundingBox:");
            assert!((exact[2] - width_mm * 72.0 / 25.4).abs() < 0.0001);
            for (exact, whole) in exact.iter().zip(&whole) {
                assert!(exact <= whole && whole - exact < 1.0 && whole.fract() == 0.0, "{whole}");
            }
        }
    }
}

#[test]
fn formats_append_to_what_the_buffer_holds() {
    let symbol = Encoder::new(Level::M).encode(TEXT).unwrap();
    let print = Print::default();
    let strings: [fn(&Symbol, &mut String); 4] = [
        |symbol, out| write_svg(symbol, &Svg::default(), out),
        |symbol, out| write_half_blocks(symbol, &TextStyle::default(), out),
        |symbol, out| write_ascii(symbol, &TextStyle::default(), out),
        |symbol, out| write_eps(symbol, &Print::default(), out).unwrap(),
    ];
    for write in strings {
        let (mut alone, mut after) = (String::new(), String::from("before"));
        write(&symbol, &mut alone);
        write(&symbol, &mut after);
        assert!(after.strip_prefix("before") == Some(&alone));
    }
    let (mut alone, mut after) = (Vec::new(), b"before".to_vec());
    write_pdf(&symbol, &print, &mut alone).unwrap();
    write_pdf(&symbol, &print, &mut after).unwrap();
    assert!(after.strip_prefix(b"before") == Some(&alone), "offsets begin at the document");
}

/// Renders path data with one unit per module, and reads it.
fn read_path(symbol: &Symbol, data: &str) -> zxingcpp::Barcode {
    let side = symbol.size() + 8;
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{side}' height='{side}'>\
         <path transform='translate(4 4)' d='{data}'/></svg>"
    );
    let drawn = grey(&render(&svg, 3.0, white()));
    assert_no_seams(symbol, &drawn, 3.0, EXACT);
    read_picture(&drawn)
}

#[test]
fn the_path_of_an_eps_is_read() {
    for (text, symbol) in symbols() {
        let mut eps = String::new();
        write_eps(&symbol, &Print::default(), &mut eps).unwrap();
        let (_, path) = eps.split_once("0 0 moveto\n").unwrap();
        let (path, end) = path.split_once("\nfill ").unwrap();
        assert_eq!(end, "end restore\n%%EOF\n");
        // The operators are those of SVG, but follow their numbers.
        let (mut data, mut numbers) = (String::from("M0 0"), String::new());
        for word in path.split_whitespace() {
            match word {
                "m" | "h" | "v" | "z" => data += &(word.to_owned() + &std::mem::take(&mut numbers)),
                number => numbers += &format!(" {number}"),
            }
        }
        assert!(numbers.is_empty());
        assert_eq!(read_path(&symbol, &data).bytes(), text.as_bytes());
    }
}

#[test]
fn the_path_of_a_pdf_is_read_and_its_table_has_the_offsets_of_the_objects() {
    for (text, symbol) in symbols() {
        let mut pdf = Vec::new();
        write_pdf(&symbol, &Print::default().width_mm(25.4), &mut pdf).unwrap();
        let position = |what: &[u8]| pdf.windows(what.len()).position(|w| w == what).unwrap();
        assert_eq!(position(b"/MediaBox[0 0 72 72]"), position(b"/MediaBox"));
        let (start, end) = (position(b"stream\n") + 7, position(b"\nendstream"));
        let length = format!("/Length {}/", end - start);
        assert!(position(length.as_bytes()) < start);
        let table = position(b"xref\n0 5\n");
        let entries = pdf[table + 9..].chunks(20).take(5).skip(1);
        for (number, entry) in (1..).zip(entries) {
            let offset: usize = std::str::from_utf8(&entry[..10]).unwrap().parse().unwrap();
            assert!(pdf[offset..].starts_with(format!("{number} 0 obj\n").as_bytes()));
            assert_eq!(&entry[10..], b" 00000 n \n");
        }
        assert!(pdf.ends_with(format!("startxref\n{table}\n%%EOF\n").as_bytes()));

        let content = miniz_oxide::inflate::decompress_to_vec_zlib(&pdf[start..end]).unwrap();
        let content = String::from_utf8(content).unwrap();
        let (state, path) = content.split_once(" cm\n").unwrap();
        let module = 72.0 / (symbol.size() as f64 + 8.0);
        let numbers: Vec<f64> =
            state.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let (left, top) = (4.0 * module, 72.0 - 4.0 * module);
        let expected = [0.0, 0.0, 0.0, 1.0, module, 0.0, 0.0, -module, left, top];
        assert!(numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.0001), "{state}");
        let lines = path.strip_suffix("f\n").unwrap().lines();
        let data: String = lines
            .map(|line| match line.split_once(['m', 'l']) {
                Some((point, "")) if line.ends_with('m') => format!("M{point}"),
                Some((point, "")) => format!("L{point}"),
                _ => panic!("{line}"),
            })
            .collect();
        assert_eq!(read_path(&symbol, &data).bytes(), text.as_bytes());
    }
}
