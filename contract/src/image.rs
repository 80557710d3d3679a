//! Checks a picture.

use crate::case::Expect;
use crate::decode::{Decoded, Pixels, decode_pixels_by_others};
use crate::report::shorten;

/// Width and height.
const SIZE_PX: usize = 200;
/// Width of the quiet zone.
const QUIET_MODULES: usize = 4;

/// The program that made the picture. It decides which checks apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// `qr-service`: modules have a whole number of pixels, and the symbol is centred.
    Service,
    /// `qr-service` with `QR_ENGINE=reference`: any size, and perhaps Kanji mode.
    Reference,
    /// Any other: modules may have uneven widths.
    Other,
}

/// Returns what is wrong with a picture.
pub(crate) fn check(png: &[u8], expect: &Expect, maker: Maker) -> Vec<String> {
    let pixels = match Pixels::from_png(png) {
        Ok(pixels) => pixels,
        Err(error) => return vec![format!("picture: {error:#}")],
    };
    let mut wrong = Vec::new();
    if maker != Maker::Reference && (pixels.width, pixels.height) != (SIZE_PX, SIZE_PX) {
        wrong.push(format!("picture: {} x {} px, not 200 x 200", pixels.width, pixels.height));
    }
    if let Some(&grey) = pixels.grey.iter().find(|grey| !matches!(grey, 0 | 255)) {
        wrong.push(format!("picture: a pixel is grey ({grey}), not black or white"));
    }
    match decode_pixels_by_others(&pixels) {
        Ok(decoded) => {
            check_symbol(&decoded, expect, maker, &mut wrong);
            if wrong.is_empty() {
                check_layout(&pixels, usize::from(decoded.version) * 4 + 17, maker, &mut wrong);
            }
        }
        Err(error) => wrong.push(format!("picture: {error:#}")),
    }
    wrong
}

fn check_symbol(decoded: &Decoded, expect: &Expect, maker: Maker, wrong: &mut Vec<String>) {
    let text = expect.text.as_ref().map(|text| text.full()).unwrap_or_default();
    if decoded.bytes != text.as_bytes() {
        let got = shorten(&decoded.bytes);
        wrong.push(format!("text: expected {}, decoded {got}", shorten(text.as_bytes())));
    }
    if decoded.level != 'L' {
        wrong.push(format!("level: expected L, got {}", decoded.level));
    }
    if let Some(version) =
        expect.version.filter(|&v| maker != Maker::Reference && v != decoded.version)
    {
        wrong.push(format!("version: expected {version}, got {}", decoded.version));
    }
}

/// Checks the quiet zone. For `qr-service`, also checks that all modules are squares of one size and
/// that the symbol is centred.
fn check_layout(pixels: &Pixels, modules: usize, maker: Maker, wrong: &mut Vec<String>) {
    let is_dark = |x: usize, y: usize| pixels.grey[y * pixels.width + x] == 0;
    let dark = (0..pixels.height).flat_map(|y| (0..pixels.width).map(move |x| (x, y)));
    let dark = dark.filter(|&(x, y)| is_dark(x, y));
    let (first, last) = dark.fold(([usize::MAX; 2], [0; 2]), |(first, last), (x, y)| {
        ([first[0].min(x), first[1].min(y)], [last[0].max(x), last[1].max(y)])
    });
    let size = pixels.width;
    let total = modules + 2 * QUIET_MODULES;
    let scale = size / total;
    // If modules have uneven widths, the quiet zone is measured in modules of mean width.
    let quiet = match maker {
        Maker::Other => QUIET_MODULES * size / total,
        _ => QUIET_MODULES * scale,
    };
    let least = first[0].min(first[1]).min(size - 1 - last[0]).min(size - 1 - last[1]);
    if least < quiet {
        wrong.push(format!(
            "quiet zone: {least} px, less than {QUIET_MODULES} modules ({quiet} px)"
        ));
    }
    if maker != Maker::Service {
        return;
    }
    let offset = (size - modules * scale) / 2;
    if first != [offset; 2] || last != [offset + modules * scale - 1; 2] {
        wrong.push(format!(
            "modules: {modules} of {scale} px must begin at pixel {offset}; dark from {first:?} to {last:?}"
        ));
        return;
    }
    let corner = |at: usize| offset + (at - offset) / scale * scale;
    let odd = (offset..offset + modules * scale)
        .flat_map(|y| (offset..offset + modules * scale).map(move |x| (x, y)))
        .find(|&(x, y)| is_dark(x, y) != is_dark(corner(x), corner(y)));
    if let Some((x, y)) = odd {
        wrong.push(format!("modules: the one at pixel ({x}, {y}) has two colours"));
    }
}
