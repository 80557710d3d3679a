//! Tests `/v1/grade` on pictures with known faults.

use std::f64::consts::PI;
use std::net::SocketAddr;

use serde_json::Value;

use crate::support::{Answer, Picture, get, of_png, png_of, post_file, start};

const NAMES: [&str; 7] = [
    "symbol_contrast",
    "modulation",
    "fixed_pattern_damage",
    "axial_nonuniformity",
    "grid_nonuniformity",
    "unused_error_correction",
    "quiet_zone",
];
/// Pixels per module of the pictures.
const SCALE: u32 = 10;

fn post(addr: SocketAddr, body: &[u8]) -> Answer {
    post_file(addr, "/v1/grade", "image/png", body)
}

/// Returns the only symbol of a picture.
fn symbol_on(addr: SocketAddr, picture: &Picture) -> Value {
    let answer = post(addr, &png_of(picture.width, picture.height, &picture.grey));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let graded = answer.json();
    assert_eq!(graded["symbols"].as_array().unwrap().len(), 1, "{graded}");
    graded["symbols"][0].clone()
}

/// Returns the grades of a symbol in the order of [`NAMES`], and the values. Checks that the symbol's own grade is the
/// lowest, and that each parameter that is not the best has advice.
fn grades(symbol: &Value) -> ([u64; 7], [f64; 7]) {
    let parameters = symbol["parameters"].as_array().unwrap();
    assert_eq!(parameters.iter().map(|it| &it["name"]).collect::<Vec<_>>(), NAMES);
    let grades = std::array::from_fn(|at| parameters[at]["grade"].as_u64().unwrap());
    assert_eq!(symbol["grade"].as_u64(), grades.iter().copied().min());
    for parameter in parameters {
        let advice = parameter["advice"].as_str();
        let is_advised = advice.is_some_and(|it| it.ends_with('.'));
        assert_eq!(is_advised, parameter["grade"] != 4, "{parameter}");
    }
    (grades, std::array::from_fn(|at| parameters[at]["value"].as_f64().unwrap()))
}

fn drawn(addr: SocketAddr, query: &str) -> Picture {
    let answer = get(addr, &format!("/v1/qr.png?{query}&scale={SCALE}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    of_png(&answer.body)
}

/// Returns a picture of the same size, or `width` pixels wide, whose pixels come from another one.
fn redrawn(width: u32, height: u32, grey: impl Fn(u32, u32) -> u8) -> Picture {
    let grey = (0..width * height).map(|at| grey(at % width, at / width)).collect();
    Picture { width, height, grey }
}

impl Picture {
    fn at(&self, x: u32, y: u32) -> u8 {
        self.grey[(y.min(self.height - 1) * self.width + x.min(self.width - 1)) as usize]
    }

    /// Exchanges dark and light in modules, counted from the symbol's corner.
    fn with_flipped(&self, margin: u32, modules: &[(u32, u32)]) -> Picture {
        redrawn(self.width, self.height, |x, y| {
            let module = (x / SCALE, y / SCALE);
            let is_flipped = modules.iter().any(|(x, y)| module == (x + margin, y + margin));
            if is_flipped { 255 - self.at(x, y) } else { self.at(x, y) }
        })
    }

    /// Replaces each pixel by the mean of a square around it.
    fn blurred(&self, side: u32) -> Picture {
        let mean = |of: &dyn Fn(u32) -> u8, at: u32| {
            let sum: u32 =
                (0..side).map(|k| u32::from(of((at + k).saturating_sub(side / 2)))).sum();
            (sum / side) as u8
        };
        let rows = redrawn(self.width, self.height, |x, y| mean(&|x| self.at(x, y), x));
        redrawn(self.width, self.height, |x, y| mean(&|y| rows.at(x, y), y))
    }
}

#[test]
fn what_the_service_draws_has_the_best_grades() {
    let service = start(&[]);
    for query in [
        "text=a",
        "text=https://example.com/grades&level=H",
        "text=a&version_min=7",
        "text=a&version_min=22&level=Q",
        "text=1&kind=micro&version_min=1&version_max=1",
        "text=1&kind=micro&version_min=2&version_max=2",
        "text=1&kind=micro&version_min=3&level=L",
        "text=1&kind=micro&version_min=3&version_max=3&level=M",
        "text=1&kind=micro&version_min=4&level=Q",
        "text=a&kind=rmqr&rmqr_height=7",
        "text=a&kind=rmqr&rmqr_height=17&rmqr_width=139&level=H",
        "text=a&kind=rmqr&rmqr_height=9&rmqr_width=59",
    ] {
        let picture = drawn(service.addr, query);
        let (width, height) = (picture.width, picture.height);
        let turned = redrawn(height, width, |x, y| picture.at(y, height - 1 - x));
        let inverted = redrawn(width, height, |x, y| 255 - picture.at(x, y));
        for picture in [&picture, &turned, &inverted] {
            let (of, values) = grades(&symbol_on(service.addr, picture));
            assert_eq!(of, [4; 7], "{query}: {values:?}");
            let quiet = if query.contains("kind") { 2.0 } else { 4.0 };
            assert_eq!([values[0], values[2], values[5], values[6]], [1.0, 0.0, 1.0, quiet]);
            let is_even = values[1] > 0.98 && values[3] < 0.005 && values[4] < 0.05;
            assert!(is_even, "{query}: {values:?}");
        }
    }
}

#[test]
fn each_fault_lowers_the_grade_of_its_parameter() {
    let service = start(&[]);
    let addr = service.addr;
    let check = |picture: &Picture, name: &str, grade: u64, value: f64, within: f64| {
        let (of, values) = grades(&symbol_on(addr, picture));
        let at = NAMES.iter().position(|it| *it == name).unwrap();
        assert_eq!(of[at], grade, "{name}: {values:?}");
        assert!((values[at] - value).abs() <= within, "{name}: {} is not {value}", values[at]);
        let others = of.iter().enumerate().filter(|(other, _)| *other != at);
        assert!(others.clone().all(|(_, grade)| *grade == 4), "{name}: {of:?} {values:?}");
    };
    let plain = drawn(addr, "text=a&level=M&mask=2");
    for (difference, grade) in [(180, 4), (150, 3), (110, 2), (60, 1), (48, 0)] {
        let paled = redrawn(plain.width, plain.height, |x, y| {
            if plain.at(x, y) == 0 { 230 - difference } else { 230 }
        });
        check(&paled, "symbol_contrast", grade, f64::from(difference) / 255.0, 0.001);
    }
    // The separator of the first finder pattern.
    let spots = [(7, 7), (7, 6), (7, 5), (7, 4)];
    for (count, grade) in [(1, 3), (2, 2), (3, 1), (4, 0)] {
        let share = count as f64 / (3.0 * 64.0 + 10.0);
        check(&plain.with_flipped(4, &spots[..count]), "fixed_pattern_damage", grade, share, 0.001);
    }
    // One module of each of the first codewords, of which four can be repaired.
    let covered = [(20, 20), (20, 16), (20, 12), (18, 9)];
    for (count, grade) in [(1, 4), (2, 3), (3, 1), (4, 0)] {
        let unused = 1.0 - count as f64 / 4.0;
        let picture = plain.with_flipped(4, &covered[..count]);
        check(&picture, "unused_error_correction", grade, unused, 0.001);
    }
    for (px, grade) in [(11, 2), (12, 0)] {
        let wide =
            redrawn(plain.width * px / SCALE, plain.height, |x, y| plain.at(x * SCALE / px, y));
        let ratio = f64::from(px - SCALE) / (f64::from(px + SCALE) / 2.0);
        check(&wide, "axial_nonuniformity", grade, ratio, 0.003);
    }
    for margin in 0..4_u32 {
        let picture = drawn(addr, &format!("text=a&margin={margin}"));
        check(&picture, "quiet_zone", margin.into(), margin.into(), 0.0);
    }
    let line =
        redrawn(plain.width, plain.height, |x, y| if x < SCALE { 0 } else { plain.at(x, y) });
    check(&line, "quiet_zone", 3, 3.0, 0.0);
    // The rows are moved along a half wave, whose ends are furthest from the even grid.
    let large = drawn(addr, "text=a&version_min=4&margin=6");
    for (modules, grade) in [(0.45, 4), (0.7, 3)] {
        let bent = redrawn(large.width, large.height, |x, y| {
            let wave = f64::from(y).mul_add(1.0 / f64::from(SCALE), -6.0) / 33.0;
            let moved = (wave.clamp(0.0, 1.0) * PI).sin() * modules * f64::from(SCALE);
            large.at((f64::from(x) + moved) as u32, y)
        });
        check(&bent, "grid_nonuniformity", grade, modules * 2.0 / PI, 0.06);
    }
}

#[test]
fn blur_lowers_the_modulation_step_by_step() {
    let service = start(&[]);
    let plain = drawn(service.addr, "text=blurred&level=M");
    let mut last = (4, 1.01);
    for side in [1, 5, 9, 13] {
        let (of, values) = grades(&symbol_on(service.addr, &plain.blurred(side)));
        let is_worse = of[1] < last.0 || of[1] == last.0 && values[1] < last.1;
        assert!(is_worse, "{side}: {of:?} {values:?}");
        last = (of[1], values[1]);
    }
    assert!(last.0 <= 1, "{last:?}");
}

#[test]
fn a_picture_without_a_symbol_has_no_grades_and_what_is_no_picture_is_refused() {
    let service = start(&[]);
    let answer = post(service.addr, &png_of(300, 200, &[255; 60_000]));
    let graded = answer.json();
    assert_eq!((answer.status, &graded["symbols"]), (200, &Value::Array(Vec::new())));
    assert_eq!((&graded["width"], &graded["truncated"]), (&300.into(), &false.into()));
    assert_eq!(post(service.addr, b"no picture").status, 400);
}
