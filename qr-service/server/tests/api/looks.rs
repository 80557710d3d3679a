//! Tests colours of finder patterns, gradients, frames and pictures for dark pages: their pixels in each format, what two
//! decoders read, and what is refused.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use service_kit::testing::Service;

use crate::artwork::get;
use crate::decode::decode;
use crate::support::{Answer, Picture, encode, of_print, padded, png_of, read, start};

const WHITE: [u8; 3] = [255; 3];
/// Pixels per module.
const SCALE: usize = 10;

/// The looks; the last one is for a page of the colour 123.
const LOOKS: [&str; 9] = [
    "finder_color=c00&top_right_color=060&top_left_shape=rounded&bottom_left_shape=circle",
    "gradient_color=06c",
    "gradient_color=c00&gradient_angle=200&dark=036&shape=rounded&top_left_color=000",
    "gradient=radial&gradient_color=808&shape=dots&finder_shape=circle&light=ffe",
    "frame=square",
    "frame=rounded&dark=036&light=ffe&caption=Scan%20me",
    "frame=rounded&gradient_color=06c&caption=Scan%20me&shape=rounded",
    "light=transparent&finder_color=900&shape=dots",
    "dark=transparent&light=fff&background=123&shape=rounded",
];

/// Red, green, blue and opacity of each pixel.
struct Pixels {
    width: usize,
    rgba: Vec<[u8; 4]>,
}

impl Pixels {
    /// Draws a picture with 10 pixels per module; `modules` is its width.
    fn of(answer: &Answer, format: &str, modules: usize) -> Self {
        let width = SCALE * modules;
        match format {
            "png" => Pixels::of_png(&answer.body),
            "svg" => {
                let tree = Tree::from_data(&answer.body, &Options::default()).unwrap();
                let height = (tree.size().height() * SCALE as f32).ceil() as u32;
                let mut pixmap = Pixmap::new(width as u32, height).unwrap();
                let scale = SCALE as f32;
                resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
                let rgba = pixmap.pixels().iter().map(|it| it.demultiply());
                let rgba = rgba.map(|it| [it.red(), it.green(), it.blue(), it.alpha()]);
                Pixels { width, rgba: rgba.collect() }
            }
            _ => Pixels::of_pdf(&answer.body, width),
        }
    }

    fn of_png(file: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let samples = info.color_type.samples();
        let rgba = bytes.chunks(samples).map(|it| match it {
            [grey, alpha] => [*grey, *grey, *grey, *alpha],
            _ => it.try_into().unwrap(),
        });
        Pixels { width: info.width as usize, rgba: rgba.collect() }
    }

    /// Draws a page with poppler, paper being transparent.
    fn of_pdf(file: &[u8], width: usize) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        let [page, picture] = ["page.pdf", "page"].map(|name| folder.path().join(name));
        std::fs::write(&page, file).unwrap();
        let mut command = Command::new("pdftocairo");
        command.args(["-png", "-transp", "-singlefile", "-scale-to-y", "-1"]);
        command.args(["-scale-to-x", &width.to_string()]).args([&page, &picture]);
        assert!(command.status().unwrap().success());
        Pixels::of_png(&std::fs::read(picture.with_extension("png")).unwrap())
    }

    /// The pixel at a distance from the picture's upper left corner, in modules.
    fn at(&self, x: f64, y: f64) -> [u8; 4] {
        let pixel = |at: f64| (at * SCALE as f64) as usize;
        self.rgba[pixel(y) * self.width + pixel(x)]
    }

    /// In grey, over a page.
    fn over(&self, page: [u8; 3]) -> Picture {
        let grey = self.rgba.iter().map(|[red, green, blue, alpha]| {
            let over = |it: u8, page: u8| {
                u32::from(it) * u32::from(*alpha) + u32::from(page) * u32::from(255 - alpha)
            };
            let [red, green, blue] =
                [over(*red, page[0]), over(*green, page[1]), over(*blue, page[2])];
            ((299 * red + 587 * green + 114 * blue) / 255_000) as u8
        });
        let height = (self.rgba.len() / self.width) as u32;
        Picture { width: self.width as u32, height, grey: grey.collect() }
    }
}

fn draw(service: &Service, format: &str, query: &str) -> Answer {
    let scale = if format == "png" { "&scale=10" } else { "" };
    let answer = get(service.addr, &format!("/v1/qr.{format}?{query}{scale}"));
    assert_eq!(answer.status, 200, "{format} {query}: {}", answer.text());
    answer
}

/// Reads a picture with zxing-cpp, and with rxing in the service.
fn assert_read(service: &Service, picture: &Picture, text: &str, about: &str) {
    let picture = padded(picture);
    assert_eq!(read(&picture, "qr").map(|it| it.text()).as_deref(), Some(text), "{about}");
    let png = png_of(picture.width, picture.height, &picture.grey);
    let read = decode(service.addr, "image/png", &png).json();
    assert_eq!(read["symbols"][0]["data"], STANDARD.encode(text), "{about}: {read}");
}

#[test]
fn every_look_is_read_by_two_decoders_in_each_format() {
    let service = start(&[]);
    for (text, width) in [("A", 29), ("https://example.com/a/longer/path?of=some&length", 41)] {
        for look in LOOKS {
            let query = format!("text={}&{look}", encode(text));
            let modules = width + if look.contains("frame") { 2 } else { 0 };
            let page = if look.contains("background=123") { [0x11, 0x22, 0x33] } else { WHITE };
            for format in ["png", "svg", "pdf"] {
                let drawn = Pixels::of(&draw(&service, format, &query), format, modules);
                assert_read(&service, &drawn.over(page), text, &format!("{format} {query}"));
            }
            if !look.contains("gradient") && !look.contains("background") {
                let drawn = of_print(&draw(&service, "eps", &query).body, "eps", 300.0);
                assert_read(&service, &drawn, text, &format!("eps {query}"));
            }
        }
    }
}

/// Whether each channel differs by at most 3.
fn is_near(found: [u8; 4], [red, green, blue]: [u8; 3]) -> bool {
    found.iter().zip([red, green, blue, 255]).all(|(found, it)| found.abs_diff(it) <= 3)
}

#[test]
fn each_finder_pattern_has_its_colour_and_its_shape() {
    let service = start(&[]);
    let (red, green) = ([0xcc, 0, 0], [0, 0x66, 0]);
    for format in ["png", "svg", "pdf"] {
        let query = format!("text=A&dark=000&light=fff&{}", LOOKS[0]);
        let drawn = Pixels::of(&draw(&service, format, &query), format, 29);
        // The middle of each, and its outer corner.
        for (x, y, color) in [
            (7.5, 7.5, red),
            (21.5, 7.5, green),
            (7.5, 21.5, red),
            (4.15, 4.15, WHITE),
            (24.85, 4.15, green),
            (4.15, 24.85, WHITE),
            // The ring of the circle is narrower at its corners than that of the rounded square.
            (4.75, 4.75, red),
            (12.5, 10.5, [0, 0, 0]),
        ] {
            assert!(is_near(drawn.at(x, y), color), "{format} {x} {y}: {:?}", drawn.at(x, y));
        }
    }
}

#[test]
fn a_gradient_goes_from_one_colour_to_the_other() {
    let service = start(&[]);
    for format in ["png", "svg", "pdf"] {
        let blue = |look: &str, points: &[(f64, f64)]| {
            let query = format!("text=A&light=fff&dark=000&gradient_color=0000c8&{look}");
            let drawn = Pixels::of(&draw(&service, format, &query), format, 29);
            let blues = points.iter().map(|(x, y)| drawn.at(*x, *y));
            blues.inspect(|it| assert!(it[..2] == [0, 0])).map(|it| it[2]).collect::<Vec<u8>>()
        };
        // Points of finder patterns; 200 of blue over 21 modules.
        for (look, points, expected) in [
            ("gradient_angle=0", [(4.5, 7.5), (7.5, 20.5), (24.5, 7.5)], [4, 33, 195]),
            ("gradient_angle=90", [(7.5, 4.5), (20.5, 7.5), (7.5, 24.5)], [4, 33, 195]),
            ("gradient_angle=180", [(4.5, 7.5), (7.5, 20.5), (24.5, 7.5)], [195, 166, 4]),
            ("gradient=radial", [(4.5, 4.5), (10.5, 10.5), (24.5, 4.5)], [190, 76, 190]),
        ] {
            for (found, expected) in blue(look, &points).into_iter().zip(expected) {
                assert!(found.abs_diff(expected) <= 4, "{format} {look}: {found} {expected}");
            }
        }
    }
}

#[test]
fn a_frame_is_outside_the_quiet_zone_and_holds_the_caption() {
    let service = start(&[]);
    let navy = [0, 0x33, 0x66];
    for format in ["png", "svg", "pdf"] {
        for (shape, corner) in [("square", navy), ("rounded", WHITE)] {
            let query = format!("text=A&dark=036&light=fff&frame={shape}&caption=Scan%20me");
            let drawn = Pixels::of(&draw(&service, format, &query), format, 31);
            for (x, y, color) in [
                (0.15, 0.15, corner),
                (0.5, 15.5, navy),
                (30.5, 15.5, navy),
                (15.5, 0.5, navy),
                (1.5, 1.5, WHITE),
                (29.5, 29.5, WHITE),
                (5.5, 5.5, navy),
                (1.0, 31.5, navy),
            ] {
                let found = drawn.at(x, y);
                assert!(is_near(found, color), "{format} {shape} {x} {y}: {found:?}");
            }
            // Not the last row, which a page may cover in part.
            let corner_below = drawn.rgba[drawn.rgba.len() - 3 * drawn.width];
            assert_eq!(is_near(corner_below, navy), shape == "square", "{format}");
            let bar = &drawn.rgba[31 * SCALE * drawn.width..];
            let letters = bar.iter().filter(|it| it[0] > 0x80).count();
            // The renderer of SVG has no font here.
            let is_readable = letters > 100 || format == "svg";
            assert!(is_readable && letters < bar.len() / 4, "{format}: {letters}");
        }
    }
}

#[test]
fn on_a_dark_page_the_dark_modules_are_left_out() {
    let service = start(&[]);
    for format in ["png", "svg", "pdf"] {
        for shape in ["square", "dots"] {
            let query = format!("text=A&dark=transparent&light=fff&background=123&shape={shape}");
            let drawn = Pixels::of(&draw(&service, format, &query), format, 29);
            assert_eq!(drawn.at(7.5, 7.5)[3], 0, "{format}");
            assert!([(0.5, 0.5), (5.5, 5.5)].iter().all(|(x, y)| is_near(drawn.at(*x, *y), WHITE)));
            // No pixel at an edge has a third colour.
            let is_white = |it: &[u8; 4]| it[3] == 0 || it[..3].iter().all(|it| *it > 250);
            assert!(drawn.rgba.iter().all(is_white), "{format} {shape}");
        }
    }
}
