//! Decodes the file of a logo that a client sends, within limits of size and memory.

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use image::imageops::thumbnail;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbaImage};

use crate::v1::fault::{Code, Fault};
use crate::v1::upload::{check_size, damaged};

/// The most pixels of a logo's file. Decoding and reducing it takes at most 28 MB.
const MAX_PIXELS: u64 = 4_000_000;
/// The most pixels a side after reducing; a square of them takes 4 MB.
const MAX_SIDE: u32 = 1000;
const FORMATS: [ImageFormat; 3] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];
/// The longest file of a logo.
pub(crate) const MAX_BYTES: usize = 262_144;

/// Decodes a logo's file, and reduces it to [`MAX_SIDE`] pixels a side. Fails if the file is too long, is not a
/// picture, or has too many pixels.
pub(crate) fn decode(file: &[u8]) -> Result<RgbaImage, Fault> {
    if file.len() > MAX_BYTES {
        let detail = format!("it has {} bytes", file.len());
        return Err(Fault::new("logo", Code::OutOfRange, detail).at_most(MAX_BYTES as u32));
    }
    open(file).map_err(|detail| Fault::new("logo", Code::Malformed, detail))
}

fn open(file: &[u8]) -> Result<RgbaImage, String> {
    // One at a time, which bounds the memory that decoders take.
    static DECODING: Mutex<()> = Mutex::new(());
    let _decoding = DECODING.lock().unwrap_or_else(PoisonError::into_inner);
    let format = image::guess_format(file).ok().filter(|format| FORMATS.contains(format));
    let format = format.ok_or("it is not a PNG, JPEG or WebP")?;
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    // A file of a few kilobytes may expand to a colour profile of gigabytes.
    let mut limits = Limits::default();
    limits.max_alloc = Some(4 * MAX_PIXELS);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(damaged)?;
    check_size(decoder.dimensions(), MAX_PIXELS)?;
    let logo =
        DynamicImage::from_decoder(decoder).map(DynamicImage::into_rgba8).map_err(damaged)?;
    let (width, height) = logo.dimensions();
    let longer = width.max(height);
    if longer <= MAX_SIDE {
        return Ok(logo);
    }
    let reduced = |side: u32| (side * MAX_SIDE / longer).max(1);
    Ok(thumbnail(&logo, reduced(width), reduced(height)))
}
