mod camera;
mod nightly;

use std::f64::consts::PI;

use encoding_rs::{EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
use fastrand::Rng;

use super::{GreyImage, Reading, read, read_photo, text};
use crate::v1::options::Kind;
use camera::{Camera, symbol};

const KINDS: [Kind; 3] = [Kind::Qr, Kind::Micro, Kind::Rmqr];

fn shot(camera: &Camera, texts: &[&str], kind: Kind) -> GreyImage {
    let symbols: Vec<_> = texts.iter().map(|text| symbol(text, kind)).collect();
    camera.shoot(&symbols, &mut Rng::with_seed(1))
}

fn texts(reading: &Reading) -> Vec<&str> {
    let mut texts: Vec<&str> = reading.found.iter().map(|found| &*found.text).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn light_on_dark_is_read_in_every_kind_but_not_as_what_everyone_can_read() {
    for kind in KINDS {
        // Symbols on black, and on red.
        for (dark, light) in [(255.0, 0.0), (255.0, 76.0), (200.0, 40.0)] {
            let camera = Camera { dark, light, around: Some(light), ..Camera::default() };
            let picture = shot(&camera, &["hello"], kind);
            assert_eq!(texts(&read_photo(&picture, &KINDS, 9)), ["hello"], "{kind:?} {light}");
            assert_eq!(read(&picture, &KINDS, 9), []);
        }
    }
}

#[test]
fn corners_begin_at_the_upper_left_of_the_symbol_and_go_round_however_it_is_turned() {
    for kind in KINDS {
        for quarter in 0..4 {
            for is_mirrored in [false, true] {
                if is_mirrored && kind != Kind::Qr {
                    continue;
                }
                for (dark, light) in [(0.0, 255.0), (255.0, 0.0)] {
                    let turn = f64::from(quarter) * 90.0;
                    let around = Some(light);
                    let camera = Camera {
                        turn,
                        is_mirrored,
                        dark,
                        light,
                        around,
                        scale: 6.0,
                        ..Camera::default()
                    };
                    let picture = shot(&camera, &["corners"], kind);
                    let reading = read_photo(&picture, &KINDS, 9);
                    assert_eq!(texts(&reading), ["corners"], "{kind:?} {turn} {is_mirrored}");
                    let modules = symbol("corners", kind);
                    let half = [modules.modules().width(), modules.modules().height()]
                        .map(|it| it as f64 * 3.0);
                    let middle = [picture.width, picture.height].map(|it| f64::from(it) / 2.0);
                    let expected =
                        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| {
                            let (x, y) =
                                (x * half[0] * if is_mirrored { -1.0 } else { 1.0 }, y * half[1]);
                            let (sin, cos) = (turn / 180.0 * PI).sin_cos();
                            (middle[0] + x * cos - y * sin, middle[1] + x * sin + y * cos)
                        });
                    for (corner, expected) in reading.found[0].corners.iter().zip(expected) {
                        let off = (corner.0 - expected.0).hypot(corner.1 - expected.1);
                        assert!(
                            off < 4.0,
                            "{kind:?} {turn} {is_mirrored}: {corner:?} {expected:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_symbol_of_a_sheet_is_read_once_or_the_reading_is_truncated() {
    let all: Vec<String> = (10..40).map(|number| format!("label {number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for (count, columns, scale) in [(24, 3, 2.5), (30, 5, 4.0), (30, 6, 5.0)] {
        let camera = Camera { columns, scale, ..Camera::default() };
        let picture = shot(&camera, &all[..count], Kind::Qr);
        let reading = read_photo(&picture, &KINDS, 256);
        assert_eq!((texts(&reading), reading.is_truncated), (all[..count].to_vec(), false));
        let some = read_photo(&picture, &KINDS, count - 1);
        assert_eq!((some.found.len(), some.is_truncated), (count - 1, true));
    }
    let same = shot(&Camera { columns: 2, ..Camera::default() }, &["twice", "twice"], Kind::Qr);
    assert_eq!(texts(&read_photo(&same, &KINDS, 9)), ["twice", "twice"]);
}

#[test]
fn bullseyes_hide_no_symbol() {
    let mut picture =
        shot(&Camera { size: Some((1000, 1000)), ..Camera::default() }, &["found"], Kind::Qr);
    // Around the symbol in the middle, larger than its own finder patterns.
    for index in 0..81_u32 {
        let (left, top) = (index % 9 * 110 + 10, index / 9 * 110 + 10);
        if left.abs_diff(450) < 150 && top.abs_diff(450) < 150 {
            continue;
        }
        for (x, y) in (0..70 * 70_u32).map(|at| (at % 70, at / 70)) {
            let ring = (x / 10).abs_diff(3).max((y / 10).abs_diff(3));
            let at = ((top + y) * picture.width + left + x) as usize;
            picture.grey[at] = if ring == 2 { 255 } else { 0 };
        }
    }
    assert_eq!(texts(&read_photo(&picture, &KINDS, 9)), ["found"]);
}

#[test]
fn what_is_faint_blurred_small_tilted_or_large_is_read() {
    let plain = Camera { scale: 3.0, ..Camera::default() };
    for (what, camera) in [
        ("faint", Camera { dark: 160.0, ..plain.clone() }),
        ("faint and blurred", Camera { dark: 160.0, blur: 1.5, noise: 3.0, ..plain.clone() }),
        ("tilted", Camera { tilt: 30.0, axis: 20.0, scale: 5.0, ..plain.clone() }),
        ("tilted more", Camera { tilt: 45.0, axis: 70.0, turn: 30.0, scale: 6.0, ..plain.clone() }),
        ("much blurred", Camera { blur: 6.0, scale: 12.0, ..plain.clone() }),
        ("large and noisy", Camera { noise: 60.0, scale: 16.0, ..plain.clone() }),
        (
            "in a photo",
            Camera { size: Some((1200, 900)), around: None, blur: 1.0, scale: 6.0, ..plain },
        ),
    ] {
        let picture = shot(&camera, &["https://example.com/hard"], Kind::Qr);
        assert_eq!(texts(&read_photo(&picture, &KINDS, 9)), ["https://example.com/hard"], "{what}");
    }
}

#[test]
fn encodings_of_short_texts_are_guessed() {
    for (encoding, texts) in [
        (GBK, ["你好", "中文测试", "地址：上海市浦东新区"]),
        (SHIFT_JIS, ["日本語", "こんにちは", "会議室A 東京"]),
        (WINDOWS_1251, ["Привет", "ул. Ленина, 5", "“Оплата” счета № 12"]),
        (WINDOWS_1252, ["Müller", "It’s 5 €", "naïve"]),
        (EUC_KR, ["안녕하세요", "한국어", "대한민국"]),
    ] {
        for text in texts {
            let (bytes, ..) = encoding.encode(text);
            assert_eq!(text::guess(&bytes).name(), encoding.name(), "{text}");
        }
    }
}
