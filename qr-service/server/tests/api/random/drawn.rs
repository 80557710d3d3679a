//! Turns every format into pixels with other programs than ours.

use crate::random::requests::Request;
use crate::support::{Answer, Picture, of_epl, of_png, of_print, of_rows, of_svg, of_zpl, rows_of};

/// Pixels per module, for formats without a size in pixels.
const SCALE: usize = 5;

/// Draws an answer over white.
pub(crate) fn draw(request: &Request, answer: &Answer) -> Picture {
    match request.format {
        "png" => of_png(&answer.body),
        "svg" => of_svg(&answer.body, SCALE as f32),
        "json" => of_rows(&rows_of(answer), SCALE),
        "zpl" => of_zpl(answer.text()),
        "epl" => of_epl(&answer.body),
        "txt" => of_text(request, answer.text()),
        extension => of_page(request, answer, extension),
    }
}

/// Draws a page at the resolution that gives its modules [`SCALE`] pixels.
fn of_page(request: &Request, answer: &Answer, extension: &str) -> Picture {
    let (width, _) = answer.header("x-qr-modules").unwrap().split_once('x').unwrap();
    let quiet = if request.kind() == "qr" { 4 } else { 2 };
    let margin = request.option("margin").map_or(quiet, |margin| margin.parse().unwrap());
    let line = usize::from(request.option("frame").is_some());
    let modules = width.parse::<usize>().unwrap() + 2 * (margin + line);
    let inches = request.option("width_mm").map_or(40.0, |it| it.parse::<f64>().unwrap()) / 25.4;
    let picture = of_print(&answer.body, extension, (SCALE * modules) as f64 / inches);
    assert!(picture.width.abs_diff((SCALE * modules) as u32) < 8, "{request:?}");
    picture
}

/// Draws characters: a half block is a module wide and two high, an ASCII one half a module wide and one high.
fn of_text(request: &Request, text: &str) -> Picture {
    let is_ascii = request.option("style") == Some("ascii");
    let has_dark_ink = request.option("ink") == Some("dark");
    let mut rows = Vec::new();
    for line in text.lines() {
        let ink = |upper: bool| {
            let has_ink = |c: char| match c {
                '█' => true,
                '▀' => upper,
                '▄' => !upper,
                '#' if is_ascii => true,
                ' ' => false,
                other => panic!("{request:?}: {other:?}"),
            };
            line.chars().step_by(1 + usize::from(is_ascii)).map(has_ink).collect::<Vec<bool>>()
        };
        rows.push(ink(true));
        if !is_ascii {
            rows.push(ink(false));
        }
    }
    let has_odd_height = !is_ascii && rows.last().is_some_and(|row| !row.contains(&true));
    // The lower half of the last line may be below the symbol, and then has no ink.
    if has_odd_height {
        rows.pop();
    }
    rows.iter_mut().flatten().for_each(|ink| *ink = *ink == has_dark_ink);
    of_rows(&rows, SCALE)
}
