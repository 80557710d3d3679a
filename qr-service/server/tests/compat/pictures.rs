//! Reads pictures, also in formats that `/v1/qr` does not have.

use crate::support::{Answer, Picture, of_svg, padded, read};

/// Decodes the picture of an answer by its media type.
pub(crate) fn picture(answer: &Answer) -> Picture {
    let body = || String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{:?}: {}", answer.headers, body());
    if answer.header("content-type") == Some("image/svg+xml") {
        return of_svg(&answer.body, 1.0);
    }
    let format = match answer.header("content-type") {
        Some("image/png") => image::ImageFormat::Png,
        Some("image/gif") => image::ImageFormat::Gif,
        Some("image/jpeg") => image::ImageFormat::Jpeg,
        other => panic!("{other:?}"),
    };
    let image = image::load_from_memory_with_format(&answer.body, format).unwrap();
    let over_white = |it: &image::LumaA<u8>| {
        let [luma, alpha] = it.0.map(u32::from);
        ((luma * alpha + 255 * (255 - alpha)) / 255) as u8
    };
    let image = image.into_luma_alpha8();
    let (width, height) = image.dimensions();
    Picture { width, height, grey: image.pixels().map(over_white).collect() }
}

/// Returns the picture's width and height, and the text of its code.
pub(crate) fn seen(answer: &Answer) -> (u32, u32, String) {
    let picture = picture(answer);
    let code =
        read(&padded(&picture), "qr").unwrap_or_else(|| panic!("unreadable: {:?}", answer.headers));
    (picture.width, picture.height, code.text())
}

/// Returns a detail of the code from zxing-cpp: `ECLevel` or `Version`.
pub(crate) fn extra(answer: &Answer, key: &str) -> String {
    read(&padded(&picture(answer)), "qr").unwrap().extra_with_key(key)
}

/// Counts the light pixels around the code: left, top, right, bottom.
pub(crate) fn margins(answer: &Answer) -> [u32; 4] {
    let Picture { width, height, grey } = picture(answer);
    let is_dark = |x: u32, y: u32| grey[(y * width + x) as usize] < 128;
    let column = |x: &u32| (0..height).any(|y| is_dark(*x, y));
    let row = |y: &u32| (0..width).any(|x| is_dark(x, *y));
    let (left, right) = ((0..width).find(column).unwrap(), (0..width).rfind(column).unwrap());
    let (top, bottom) = ((0..height).find(row).unwrap(), (0..height).rfind(row).unwrap());
    [left, top, width - 1 - right, height - 1 - bottom]
}
