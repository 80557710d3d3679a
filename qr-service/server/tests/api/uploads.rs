//! Tests pictures that clients send, in every format.

use std::io::{Cursor, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use image::{DynamicImage, ImageFormat};
use serde_json::json;

use crate::decode::decode;
use crate::support::{get, post_file, start};

#[test]
fn pictures_in_every_form_are_read() {
    let service = start(&[("QR_COMPAT", "quickchart")]);
    let png = get(service.addr, "/v1/qr.png?text=hello&scale=5&dark=036").body;
    let image = image::load_from_memory(&png).unwrap();
    let luma = image.to_luma8();
    // The picture's modules have five pixels, which become blocks of eight.
    let (width, height) = luma.dimensions();
    let drawn_jpeg = |sampling: &[(u32, u32)]| {
        let is_white =
            |x: u32, y: u32| luma.get_pixel_checked(x * 5, y * 5).is_none_or(|it| it.0[0] > 127);
        progressive_jpeg((width / 5 * 8, height / 5 * 8), sampling, is_white)
    };
    let interlaced = interlaced_png(luma.dimensions(), |x, y| luma.get_pixel(x, y).0[0]);
    let deep = DynamicImage::from(image.to_rgba16());
    for (what, file) in [
        ("interlaced", interlaced),
        ("16 bits", encoded(&deep, ImageFormat::Png)),
        ("grey jpeg", encoded(&DynamicImage::from(luma.clone()), ImageFormat::Jpeg)),
        ("jpeg", encoded(&DynamicImage::from(image.to_rgb8()), ImageFormat::Jpeg)),
        ("subsampled jpeg", include_bytes!("files/420.jpg").to_vec()),
        ("progressive jpeg", drawn_jpeg(&[(1, 1)])),
        ("progressive jpeg of 4:4:0", drawn_jpeg(&[(1, 2), (1, 1), (1, 1)])),
        ("webp", encoded(&DynamicImage::from(image.to_rgb8()), ImageFormat::WebP)),
        ("webp with alpha", encoded(&DynamicImage::from(image.to_rgba8()), ImageFormat::WebP)),
    ] {
        let answer = decode(service.addr, "application/octet-stream", &file).json();
        assert_eq!(answer["symbols"][0]["text"], "hello", "{what}: {answer}");
    }
    let gif = encoded(&DynamicImage::from(image.to_rgb8()), ImageFormat::Gif);
    let body = gif_in_json(&gif);
    let answer = post_file(service.addr, "/qr-read", "application/json", &body).json();
    assert_eq!(answer["result"], "hello");
}

/// Returns an interlaced PNG. `grey` is called with x and y.
pub(crate) fn interlaced_png(
    (width, height): (u32, u32),
    grey: impl Fn(u32, u32) -> u8,
) -> Vec<u8> {
    const PASSES: [[u32; 4]; 7] = [
        [0, 0, 8, 8],
        [4, 0, 8, 8],
        [0, 4, 4, 8],
        [2, 0, 4, 4],
        [0, 2, 2, 4],
        [1, 0, 2, 2],
        [0, 1, 1, 2],
    ];
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::fast());
    for [left, top, across, down] in PASSES {
        for y in (top..height).step_by(down as usize) {
            let row = (left..width).step_by(across as usize).map(|x| grey(x, y));
            let row: Vec<u8> = [0].into_iter().chain(row).collect();
            rows.write_all(&row).unwrap();
        }
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([8, 0, 0, 0, 1]);
    for (name, content) in [(b"IHDR", head), (b"IDAT", rows.finish().unwrap()), (b"IEND", vec![])] {
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(&content);
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(name);
        file.extend(content);
        file.extend(crc.sum().to_be_bytes());
    }
    file
}

/// Returns a progressive JPEG of blocks of 8 x 8 pixels in white or black, and grey before the first white one.
/// `sampling` has, for each component, its blocks across and down in an MCU; the first component is the luma.
pub(crate) fn progressive_jpeg(
    (width, height): (u32, u32),
    sampling: &[(u32, u32)],
    is_white: impl Fn(u32, u32) -> bool,
) -> Vec<u8> {
    let count = sampling.len() as u8;
    let mut file = b"\xff\xd8\xff\xdb\x00\x43\x00".to_vec();
    file.extend([8; 64]);
    file.extend([0xff, 0xc2, 0, 8 + 3 * count, 8]);
    file.extend([(height >> 8) as u8, height as u8, (width >> 8) as u8, width as u8, count]);
    for (number, (across, down)) in (1..).zip(sampling) {
        file.extend([number, (across << 4 | down) as u8, 0]);
    }
    // Huffman codes: 0 for no difference, 10 for one of seven bits, 110 for one of eight.
    file.extend(b"\xff\xc4\x00\x16\x00\x01\x01\x01");
    file.extend([0; 13]);
    file.extend(b"\x00\x07\x08");
    file.extend([0xff, 0xda, 0, 6 + 2 * count, count]);
    file.extend((1..=count).flat_map(|component| [component, 0]));
    file.extend([0, 0, 0]);
    let (mut bits, mut last) = (Bits::default(), None);
    let (across, down) = sampling[0];
    for y in 0..height.div_ceil(8 * down) {
        for x in 0..width.div_ceil(8 * across) {
            for at in 0..across * down {
                let white = is_white(x * across + at % across, y * down + at / across);
                match (last, white) {
                    (None, true) => bits.push(0b10_1111111, 9),
                    (Some(true), false) => bits.push(0b110_00000001, 11),
                    (Some(false), true) => bits.push(0b110_11111110, 11),
                    _ => bits.push(0, 1),
                }
                last = last.or(white.then_some(true)).map(|_| white);
            }
            sampling[1..].iter().for_each(|(across, down)| bits.push(0, across * down));
        }
    }
    bits.push(0x7f, 7);
    file.extend(bits.bytes);
    file.extend(b"\xff\xd9");
    file
}

/// Bits of a JPEG's scan.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    rest: u64,
    count: u32,
}

impl Bits {
    fn push(&mut self, bits: u64, count: u32) {
        (self.rest, self.count) = (self.rest << count | bits, self.count + count);
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.rest >> self.count) as u8;
            self.bytes.push(byte);
            if byte == 0xff {
                self.bytes.push(0);
            }
        }
    }
}

pub(crate) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// Returns the body for QuickChart's `/qr-read`.
pub(crate) fn gif_in_json(file: &[u8]) -> Vec<u8> {
    use base64::Engine as _;
    let file = base64::engine::general_purpose::STANDARD.encode(file);
    json!({"image": file}).to_string().into_bytes()
}
