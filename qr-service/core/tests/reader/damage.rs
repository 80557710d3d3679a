//! Damaged pictures: the reader shows the right text or none.

use fastrand::Rng;
use qr_core::{Encoder, Level, MicroEncoder, Modules, RmqrEncoder, read};

use super::{Look, PLAIN, Pixels};

/// A symbol that [`damage`] is done to.
fn symbol(rng: &mut Rng) -> (Pixels, Vec<u8>) {
    let look = Look { scale: f64::from(rng.u8(1..6)), ..PLAIN };
    let (length, count) = (rng.usize(1..=60), rng.usize(1..=5));
    let text: String = std::iter::repeat_with(|| rng.alphanumeric()).take(length).collect();
    let digits: String = std::iter::repeat_with(|| rng.digit(10)).take(count).collect();
    let draw = |modules: Modules<'_>, text: String| (look.draw(modules), text.into_bytes());
    match rng.u8(0..4) {
        0 => draw(MicroEncoder::new(None).encode(&digits).unwrap().modules(), digits),
        1 => {
            let level = if rng.bool() { Level::M } else { Level::H };
            draw(RmqrEncoder::new(level).encode(&text).unwrap().modules(), text)
        }
        _ => {
            let version = rng.u8(4..=9);
            let encoder = Encoder::new(Level::ALL[rng.usize(0..4)]).versions(1..=version);
            let fallback = Encoder::new(Level::L);
            let symbol = encoder.encode(&text).or_else(|_| fallback.encode(&text)).unwrap();
            draw(symbol.modules(), text)
        }
    }
}

/// Changes some pixels: single ones, or a block that is dark, light or noise.
fn damage((grey, width): &mut Pixels, rng: &mut Rng) {
    let height = grey.len() / *width;
    if rng.bool() {
        for _ in 0..rng.usize(0..grey.len() / 8) {
            let at = rng.usize(0..grey.len());
            grey[at] = !grey[at];
        }
        return;
    }
    let (across, down) = (rng.usize(1..*width / 2), rng.usize(1..height / 2));
    let (left, top, what) =
        (rng.usize(0..*width - across), rng.usize(0..height - down), rng.u8(0..3));
    for y in top..top + down {
        for grey in &mut grey[y * *width + left..][..across] {
            *grey = [0, 255, rng.u8(..)][usize::from(what)];
        }
    }
}

/// Reads so many damaged pictures. Returns how many were read.
fn read_damaged(count: usize, seed: u64) -> usize {
    let mut rng = Rng::with_seed(seed);
    let mut read_ones = 0;
    for _ in 0..count {
        let (mut pixels, text) = symbol(&mut rng);
        damage(&mut pixels, &mut rng);
        if let Some(symbols) = read(&pixels.0, pixels.1) {
            assert!(symbols.iter().all(|symbol| symbol.content.bytes == text), "{symbols:?}");
            read_ones += 1;
        }
    }
    read_ones
}

#[test]
fn a_damaged_picture_shows_its_text_or_none() {
    let read_ones = read_damaged(2_000, 1);
    assert!((200..1800).contains(&read_ones), "{read_ones}");
}

mod nightly {
    #[test]
    fn a_hundred_thousand_damaged_pictures_show_their_texts_or_none() {
        super::read_damaged(100_000, 2);
    }
}
