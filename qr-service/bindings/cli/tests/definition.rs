//! Tests the flags that come from the definition of the options.

use contract::decode::Pixels;
use qr_core::{Ink, Level, RmqrEncoder, TextStyle, encode, write_ascii, write_half_blocks};

use crate::support::{decode, pixels_of_svg, qr, qr_reading, read, refused, written};

const TEXT: &str = "https://example.com/";
/// A PNG of 4 x 2 red pixels.
const LOGO: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 4, 0, 0, 0, 2, 8, 2, 0,
    0, 0, 240, 202, 234, 52, 0, 0, 0, 16, 73, 68, 65, 84, 120, 218, 99, 56, 32, 160, 0, 71, 12,
    200, 28, 0, 102, 154, 7, 129, 24, 82, 66, 174, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

fn draw(args: &[&str]) -> Vec<u8> {
    written(qr(&[TEXT]).args(args).output().unwrap())
}

fn error(args: &[&str], code: i32) -> String {
    refused(qr(&[TEXT]).args(args).output().unwrap(), code)
}

#[test]
fn shapes_are_those_of_the_definition() {
    for (format, pixels) in [
        ("png", (|bytes| Pixels::from_png(bytes).unwrap()) as fn(&[u8]) -> Pixels),
        ("svg", pixels_of_svg),
    ] {
        let args = ["--shape", "dots", "--finder-shape", "circle", "--dark", "036", "--scale", "9"];
        let drawn = draw(&[&args[..], &["-f", format]].concat());
        let query =
            "shape=dots&finder_shape=circle&dark=036&scale=9&level=L&text=https://example.com/";
        let expected = qr_options::draw_query(&format!("{query}&format={format}")).unwrap().bytes;
        assert!(drawn == expected, "{format}");
        assert_eq!(read(&pixels(&drawn)).text(), TEXT, "{format}");
        // Without a flag for the size, pictures are 200 pixels wide.
        let default = draw(&["--shape", "rounded", "-f", format]);
        assert_eq!(pixels(&default).width, 200, "{format}");
    }
    for format in ["pdf", "eps"] {
        let args = "--shape dots --caption Menu --width-mm 25 --dark 036 --light cmyk(0,0,9,0) -f";
        let args: Vec<&str> = args.split(' ').chain([format]).collect();
        let query = "shape=dots&caption=Menu&width_mm=25&dark=036&light=cmyk(0,0,9,0)&level=L&text=https://example.com/";
        let expected = qr_options::draw_query(&format!("{query}&format={format}")).unwrap().bytes;
        assert!(draw(&args) == expected, "{format}");
    }
}

#[test]
fn bytes_and_parts_have_shapes_too() {
    let png = written(qr_reading(&[0xff, 0, 1], &["--bytes", "--shape", "dots", "-s", "300"]));
    assert_eq!(decode(&Pixels::from_png(&png).unwrap()).bytes, [0xff, 0, 1]);
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a.svg");
    let text = "x".repeat(100);
    let args = ["-S", "--symbol-version", "1-4", "--shape", "dots", "-o", file.to_str().unwrap()];
    written(qr(&[&text]).args(args).output().unwrap());
    let names = ["a-01.svg", "a-02.svg"].map(|name| folder.path().join(name));
    let [first, second] = names.map(|name| std::fs::read(name).unwrap());
    assert_ne!(first, second);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_logo_is_drawn_at_level_h_and_leaves_the_symbol_readable() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("logo");
    std::fs::write(&file, LOGO).unwrap();
    let logo = file.to_str().unwrap();
    let png = draw(&["--logo", logo, "--logo-size", "0.25", "--scale", "8"]);
    let pixels = Pixels::from_png(&png).unwrap();
    let decoded = decode(&pixels);
    assert_eq!((decoded.bytes.as_slice(), decoded.level), (TEXT.as_bytes(), 'H'));
    // The logo's red, 240.
    assert_eq!(pixels.grey[pixels.width * (pixels.height / 2) + pixels.width / 2], 240 / 3);
    let svg = draw(&["--logo", logo, "-l", "Q", "-f", "svg", "-s", "400"]);
    assert_eq!(decode(&pixels_of_svg(&svg)).level, 'Q');
    assert!(String::from_utf8(svg).unwrap().contains("data:image/png;base64,"));

    std::fs::write(&file, "<svg/>").unwrap();
    assert_eq!(
        error(&["--logo", logo], 1),
        format!("--logo {logo}: it is not a PNG, JPEG or WebP")
    );
    std::fs::write(&file, &LOGO[..50]).unwrap();
    assert!(error(&["--logo", logo], 1).starts_with(&format!("--logo {logo}: ")));
    std::fs::remove_file(&file).unwrap();
    assert!(error(&["--logo", logo], 1).contains("No such file"));
}

#[test]
fn an_rmqr_has_the_height_and_width_asked_for() {
    let symbol = RmqrEncoder::new(Level::M).heights(7..=7).widths(139..=139).encode(TEXT).unwrap();
    let mut expected = String::new();
    let style = TextStyle::default().margin_modules(2).ink(Ink::Dark);
    write_ascii(symbol.modules(), &style, &mut expected);
    let args = ["--rmqr", "--rmqr-height", "7", "--rmqr-width", "139", "-f", "ascii"];
    assert_eq!(draw(&args), expected.as_bytes());
    for format in ["pdf", "eps", "pbm", "svg", "png"] {
        draw(&["--rmqr", "--rmqr-height", "9", "-f", format]);
    }
}

#[test]
fn the_ink_is_the_one_asked_for() {
    let symbol = encode(TEXT, Level::L).unwrap();
    let style = |ink| TextStyle::default().ink(ink);
    let mut expected = String::new();
    write_half_blocks(&symbol, &style(Ink::Dark), &mut expected);
    assert_eq!(draw(&["-f", "utf8", "--ink", "dark"]), expected.as_bytes());
    expected.clear();
    write_ascii(&symbol, &style(Ink::Light), &mut expected);
    assert_eq!(draw(&["-f", "ascii", "--ink", "light"]), expected.as_bytes());
    assert_ne!(draw(&["-f", "ascii"]), expected.as_bytes());
}
