//! Compares the decoder with zxing-cpp, at its highest effort, on a corpus of pictures that are hard to read.
//!
//! `cargo test --release -p qr-service --all-features nightly::corpus -- --nocapture` prints both rates and times.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use zxingcpp::{BarcodeFormat, ImageFormat, ImageView};

use super::camera::{Camera, symbol};
use crate::v1::options::Kind;
use crate::v1::reader::{GreyImage, read_photo};

/// Pictures per difficulty.
const EACH: usize = 15;
/// Of the pictures that zxing-cpp reads, the decoder must read this share, in at most so many times zxing-cpp's time.
const MIN_SHARE: f64 = 0.95;
const MAX_TIMES: f64 = 3.0;

/// A difficulty: draws a camera at random.
type Way = fn(&mut Rng) -> Camera;

fn between(random: &mut Rng, from: f64, to: f64) -> f64 {
    from + random.f64() * (to - from)
}

/// A picture taken by hand: slightly turned and tilted, on a table.
fn by_hand(random: &mut Rng) -> Camera {
    Camera {
        scale: between(random, 3.0, 8.0),
        turn: between(random, -30.0, 30.0),
        tilt: between(random, 0.0, 20.0),
        axis: between(random, 0.0, 360.0),
        around: None,
        noise: between(random, 0.0, 5.0),
        ..Camera::default()
    }
}

#[rustfmt::skip]
const WAYS: [(&str, Kind, usize, Way); 20] = [
    ("faint", Kind::Qr, 1, |r| Camera { dark: between(r, 150.0, 200.0), light: between(r, 235.0, 255.0), ..by_hand(r) }),
    ("blurred", Kind::Qr, 1, |r| { let by = by_hand(r); Camera { blur: by.scale * between(r, 0.3, 0.8), ..by } }),
    ("small", Kind::Qr, 1, |r| Camera { scale: between(r, 1.6, 3.2), ..by_hand(r) }),
    ("tilted", Kind::Qr, 1, |r| Camera { tilt: between(r, 20.0, 50.0), turn: between(r, 0.0, 360.0), ..by_hand(r) }),
    ("inverted", Kind::Qr, 1, |r| Camera { dark: 255.0, light: 0.0, around: Some(0.0), ..by_hand(r) }),
    ("white on red", Kind::Qr, 1, |r| Camera { dark: 255.0, light: 76.0, around: Some(76.0), ..by_hand(r) }),
    ("micro", Kind::Micro, 1, by_hand),
    ("inverted micro", Kind::Micro, 1, |r| Camera { dark: 255.0, light: 20.0, around: Some(20.0), ..by_hand(r) }),
    ("rmqr", Kind::Rmqr, 1, |r| Camera { scale: between(r, 5.0, 8.0), tilt: 0.0, ..by_hand(r) }),
    ("shaded", Kind::Qr, 1, |r| Camera { shade: between(r, 0.5, 0.95), ..by_hand(r) }),
    ("jpeg", Kind::Qr, 1, |r| Camera { jpeg: Some(r.u8(8..35)), ..by_hand(r) }),
    ("noisy", Kind::Qr, 1, |r| Camera { noise: between(r, 20.0, 60.0), ..by_hand(r) }),
    ("moved", Kind::Qr, 1, |r| { let by = by_hand(r); Camera { motion: by.scale * between(r, 0.5, 1.4), ..by } }),
    ("dark", Kind::Qr, 1, |r| Camera { dark: between(r, 2.0, 10.0), light: between(r, 35.0, 70.0), around: Some(40.0), ..by_hand(r) }),
    ("without quiet zone", Kind::Qr, 1, |r| Camera { margin: 1.0, around: Some(between(r, 150.0, 255.0)), ..by_hand(r) }),
    ("dirty", Kind::Qr, 1, |r| Camera { spots: r.usize(2..8), ..by_hand(r) }),
    ("bent", Kind::Qr, 1, |r| Camera { bend: between(r, 0.01, 0.05), ..by_hand(r) }),
    ("photo", Kind::Qr, 1, |r| Camera { size: Some((1000, 750)), blur: between(r, 0.5, 2.0), shade: 0.4, jpeg: Some(80), ..by_hand(r) }),
    ("sheet of 24", Kind::Qr, 24, |r| Camera { columns: 4, turn: between(r, -4.0, 4.0), tilt: 0.0, scale: between(r, 3.0, 5.0), ..by_hand(r) }),
    ("all of it", Kind::Qr, 1, |r| Camera { blur: 1.5, shade: 0.5, dark: 60.0, light: 200.0, noise: 8.0, jpeg: Some(50), ..by_hand(r) }),
];

fn text(random: &mut Rng, kind: Kind) -> String {
    let most = if kind == Kind::Qr { random.usize(4..120) } else { random.usize(3..7) };
    (0..most).map(|_| random.digit(36)).collect()
}

fn by_zxing(picture: &GreyImage) -> Vec<String> {
    let GreyImage { width, height, grey } = picture;
    let view = ImageView::from_slice(grey, *width, *height, ImageFormat::Lum).unwrap();
    let formats = [BarcodeFormat::QRCode, BarcodeFormat::MicroQRCode, BarcodeFormat::RMQRCode];
    zxingcpp::read().formats(formats).from(view).unwrap().iter().map(|it| it.text()).collect()
}

fn by_us(picture: &GreyImage) -> Vec<String> {
    let reading = read_photo(picture, &[Kind::Qr, Kind::Micro, Kind::Rmqr], 256);
    reading.found.into_iter().map(|found| found.text).collect()
}

/// Reads the picture three times; returns the texts and the shortest time.
fn timed(read: fn(&GreyImage) -> Vec<String>, picture: &GreyImage) -> (Vec<String>, Duration) {
    let once = || {
        let begun = Instant::now();
        (read(picture), begun.elapsed())
    };
    [once(), once(), once()].into_iter().min_by_key(|(_, time)| *time).unwrap()
}

#[derive(Default)]
struct Sum {
    zxing: usize,
    ours: usize,
    both: usize,
    zxing_ms: f64,
    our_ms: f64,
}

#[test]
fn corpus_of_hard_pictures_is_read_as_zxing_reads_it() {
    let mut random = Rng::with_seed(42);
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for (what, kind, count, way) in WAYS {
        for _ in 0..EACH {
            let texts: Vec<String> = (0..count).map(|_| text(&mut random, kind)).collect();
            let symbols: Vec<_> = texts.iter().map(|text| symbol(text, kind)).collect();
            let picture = way(&mut random).shoot(&symbols, &mut random);
            let (theirs, their_time) = timed(by_zxing, &picture);
            let (ours, our_time) = timed(by_us, &picture);
            assert!(ours.iter().all(|text| texts.contains(text)), "{what}: {ours:?} of {texts:?}");
            for name in [what, "~ all"] {
                let sum = sums.entry(name).or_default();
                // A picture counts once, however many symbols it has.
                let is_read = |text: &String| ours.contains(text);
                sum.zxing += usize::from(!theirs.is_empty());
                sum.ours += usize::from(!ours.is_empty());
                sum.both += usize::from(!theirs.is_empty() && theirs.iter().all(is_read));
                sum.zxing_ms += their_time.as_secs_f64() * 1e3;
                sum.our_ms += our_time.as_secs_f64() * 1e3;
            }
        }
    }
    for (what, sum) in &sums {
        let Sum { zxing, ours, both, zxing_ms, our_ms } = sum;
        anstream::println!(
            "{what:18} zxing-cpp {zxing:3} in {zxing_ms:7.1} ms, ours {ours:3} in {our_ms:7.1} ms ({:.2} times), {both:3} of the same",
            our_ms / zxing_ms
        );
    }
    let all = &sums["~ all"];
    assert!(all.zxing * 2 > WAYS.len() * EACH, "{} are read: too hard to tell anything", all.zxing);
    assert!(all.both as f64 >= MIN_SHARE * all.zxing as f64, "{} of {}", all.both, all.zxing);
    // A debug build of our decoder is slow; zxing-cpp is always optimised.
    if !cfg!(debug_assertions) {
        assert!(all.our_ms < MAX_TIMES * all.zxing_ms, "{} and {} ms", all.our_ms, all.zxing_ms);
    }
}
