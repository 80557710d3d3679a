//! Tests the flags that choose the symbol, and the formats that `qr-core` writes.

use contract::decode::Pixels;
use qr_core::{
    Encoder, Ink, Level, MicroEncoder, Modes, Print, Raster, RmqrEncoder, Svg, TextStyle, encode,
    write_ascii, write_eps, write_pbm, write_pdf, write_svg,
};

use crate::support;
use crate::support::{decode, pixels_of_svg, qr, read, refused, written};

const TEXT: &str = "https://example.com/";

fn draw(args: &[&str]) -> Vec<u8> {
    written(qr(&[TEXT]).args(args).output().unwrap())
}

fn error(text: &str, args: &[&str]) -> String {
    refused(qr(&[text]).args(args).output().unwrap(), 1)
}

#[test]
fn the_symbol_has_the_version_level_and_modules_asked_for() {
    let of = |args: &[&str]| {
        let decoded = decode(&Pixels::from_png(&draw(args)).unwrap());
        assert_eq!(decoded.bytes, TEXT.as_bytes(), "{args:?}");
        (decoded.version, decoded.level)
    };
    assert_eq!(of(&[]), (2, 'L'));
    assert_eq!(of(&["--boost"]), (2, 'Q'));
    assert_eq!(of(&["--symbol-version", "7"]), (7, 'L'));
    assert_eq!(of(&["--symbol-version", "1-9", "--level", "H"]), (3, 'H'));
    assert_eq!(of(&["--mask", "3", "--mode", "byte"]), (2, 'L'));
    let ascii = |args: &[&str]| draw(&[args, &["--format", "ascii"]].concat());
    let symbol = Encoder::new(Level::L).mask(3).encode(TEXT).unwrap();
    let mut expected = String::new();
    write_ascii(&symbol, &TextStyle::default().ink(Ink::Dark), &mut expected);
    assert_eq!(ascii(&["--mask", "3"]), expected.as_bytes());
    assert_ne!(ascii(&["--mask", "3", "--eci", "26"]), expected.as_bytes());
    assert_ne!(ascii(&["--mask", "3", "--gs1"]), expected.as_bytes());
}

#[test]
fn kanji_takes_fewer_bits() {
    let side = |args: &[&str]| {
        let text =
            written(qr(&["漢字漢字漢字漢字漢字", "-f", "ascii"]).args(args).output().unwrap());
        String::from_utf8(text).unwrap().lines().count()
    };
    let kanji = Encoder::new(Level::L).modes(Modes::Kanji).encode("漢字漢字漢字漢字漢字").unwrap();
    assert_eq!(side(&["--mode", "kanji"]), kanji.size() + 8);
    assert_eq!(side(&["--mode", "auto-kanji"]), kanji.size() + 8);
    assert!(side(&[]) > kanji.size() + 8);
}

#[test]
fn formats_have_the_bytes_of_qr_core() {
    let symbol = encode(TEXT, Level::L).unwrap();
    let print = Print::default().margin_modules(2).width_mm(1033.5);
    let args = |format| draw(&["-f", format, "-m", "2", "--width-mm", "1033.5"]);
    let (mut pdf, mut eps, mut pbm) = (Vec::new(), String::new(), Vec::new());
    write_pdf(&symbol, &print, &mut pdf).unwrap();
    write_eps(&symbol, &print, &mut eps).unwrap();
    assert!(args("pdf") == pdf && args("eps") == eps.as_bytes());
    write_pbm(&symbol, &Raster::of_scale(&symbol, 4, 1), &mut pbm).unwrap();
    assert!(draw(&["-f", "pbm", "-m", "1"]) == pbm);
    pbm.clear();
    write_pbm(&symbol, &Raster::of_scale(&symbol, 7, 4), &mut pbm).unwrap();
    assert!(draw(&["-f", "pbm", "--scale", "7"]) == pbm);
    assert_eq!(draw(&["--size", "33"])[16..20], 33_u32.to_be_bytes(), "the least size");
    // Larger than the service's pictures: 33 modules.
    assert_eq!(draw(&["--scale", "130"])[16..20], (33 * 130_u32).to_be_bytes());
}

#[test]
fn a_picture_has_the_colours_and_the_title_asked_for() {
    let svg = draw(&["-f", "svg", "--dark", "#036", "--light", "ffe", "--title", "A & B"]);
    let symbol = encode(TEXT, Level::L).unwrap();
    let mut expected = String::new();
    let (dark, light) = ("003366".parse().unwrap(), "#ffffee".parse().unwrap());
    let options = Svg::default().size_px(200).dark(dark).light(light).title("A & B");
    write_svg(&symbol, &options, &mut expected);
    assert_eq!(String::from_utf8(svg).unwrap(), expected);
    let png = draw(&["--dark", "036", "--light", "0000"]);
    // A palette with the dark colour first, and the opacity of both entries.
    let has = |what: &[u8]| png.windows(what.len()).any(|bytes| bytes == what);
    assert!(has(b"PLTE\x00\x33\x66\x00\x00\x00") && has(b"\x00\x00\x00\x02tRNS\xff\x00"));
}

#[test]
fn a_long_text_is_divided_among_files_that_scanners_put_together() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("page.v1.png");
    let text: String = (0..40_000).map(|i| char::from(b'a' + (i * i / 7 % 26) as u8)).collect();
    let args = ["-S", "--scale", "3", "-o", file.to_str().unwrap()];
    assert!(written(support::qr_reading(text.as_bytes(), &args)).is_empty());
    let mut joined = Vec::new();
    for number in 1..=14 {
        let name = folder.path().join(format!("page.v1-{number:02}.png"));
        let part = read(&Pixels::from_png(&std::fs::read(name).unwrap()).unwrap());
        assert_eq!((part.sequence_size(), part.sequence_index()), (14, number - 1));
        joined.extend(part.bytes());
    }
    assert!(joined == text.as_bytes());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 14, "and no other file");
    // A text that fits one symbol gives one file, without the header of a part.
    let one =
        ["short", "-S", "-o", folder.path().join("one.svg").to_str().unwrap()].map(str::to_owned);
    let args: Vec<&str> = one.iter().map(String::as_str).collect();
    written(qr(&args).output().unwrap());
    let svg = std::fs::read(folder.path().join("one-01.svg")).unwrap();
    assert_eq!(decode(&pixels_of_svg(&svg)).bytes, b"short");
}

#[test]
fn parts_are_written_all_or_none() {
    let folder = tempfile::TempDir::new().unwrap();
    // The second file cannot be written: a folder has its name.
    std::fs::create_dir(folder.path().join("a-02.png")).unwrap();
    std::fs::write(folder.path().join("a-01.png"), "old").unwrap();
    let file = folder.path().join("a.png");
    let text = "x".repeat(100);
    let args = ["-S", "--symbol-version", "1-4", "-o", file.to_str().unwrap()];
    let said = error(&text, &args);
    assert!(said.contains("a-02.png"), "{said}");
    assert_eq!(std::fs::read(folder.path().join("a-01.png")).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
    let few = ["-S", "--symbol-version", "1", "-o", file.to_str().unwrap()];
    assert_eq!(
        error(&"x".repeat(1000), &few),
        "TEXT: 16 symbols hold only 240 bytes of it (raise --symbol-version or lower the level)"
    );
    let long = support::qr_reading(&vec![b'1'; 16 * 7089 + 2], &few);
    assert_eq!(
        refused(long, 1),
        "standard input is longer than the 113424 bytes that 16 QR codes can hold"
    );
    let nowhere = qr(&["a", "-S"]).output().unwrap();
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(nowhere.status.code() == Some(2) && said.contains("--output <FILE>"), "{said}");
}

#[test]
fn a_micro_qr_is_drawn_in_every_format() {
    let drawn = |args: &[&str]| written(qr(&["12345", "--micro"]).args(args).output().unwrap());
    let encoder = MicroEncoder::new(Some(Level::L));
    let symbol = encoder.encode("12345").unwrap();
    let style = TextStyle::default().margin_modules(2).ink(Ink::Dark);
    let mut expected = String::new();
    write_ascii(symbol.modules(), &style, &mut expected);
    assert_eq!(drawn(&["-f", "ascii"]), expected.as_bytes());
    expected.clear();
    let smallest = MicroEncoder::new(None).encode("12345").unwrap();
    write_ascii(smallest.modules(), &style, &mut expected);
    assert_eq!(drawn(&["-f", "ascii", "--symbol-version", "1"]), expected.as_bytes());
    for format in ["svg", "png", "pbm"] {
        let pixels = drawn(&["-f", format, "--scale", "4"]);
        assert!(!pixels.is_empty(), "{format}");
    }
    let png = Pixels::from_png(&drawn(&["--scale", "4"])).unwrap();
    let svg = pixels_of_svg(&drawn(&["--scale", "4", "-f", "svg"]));
    assert_eq!((png.width, png.height), (4 * 17, 4 * 17));
    assert!(png.grey == svg.grey, "both show the same pixels");
}

#[test]
fn a_rectangular_micro_qr_has_level_m_or_h() {
    let drawn = |args: &[&str]| written(qr(&["12345", "--rmqr"]).args(args).output().unwrap());
    for (args, level) in [(&[][..], Level::M), (&["--level", "h"], Level::H)] {
        let symbol = RmqrEncoder::new(level).encode("12345").unwrap();
        let style = TextStyle::default().margin_modules(2).ink(Ink::Dark);
        let mut expected = String::new();
        write_ascii(symbol.modules(), &style, &mut expected);
        assert_eq!(drawn(&[args, &["-f", "ascii"]].concat()), expected.as_bytes());
    }
    let symbol = RmqrEncoder::new(Level::M).encode("12345").unwrap();
    let side = |modules: usize| 4 * (modules as u32 + 4);
    let png = Pixels::from_png(&drawn(&["--scale", "4"])).unwrap();
    let (width, height) = (symbol.modules().width(), symbol.modules().height());
    assert_eq!((png.width as u32, png.height as u32), (side(width), side(height)));
    assert!(error(&"a".repeat(151), &["--rmqr"]).starts_with("TEXT: it takes 1219 bits"));
}
