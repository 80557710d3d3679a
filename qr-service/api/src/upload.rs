//! Pictures that clients send, decoded within bounds.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::reader::Picture;

/// The most pixels. With four bytes each, a picture takes 34 MB while it is decoded.
pub(crate) const MAX_PIXELS: u64 = 8_400_000;
const MAX_SIDE: u32 = 16_384;
const FORMATS: [ImageFormat; 3] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];

/// Decodes a PNG, JPEG or WebP to grey over white.
///
/// # Errors
/// What is wrong with it, for the client.
pub(crate) fn decode(bytes: &[u8]) -> Result<Picture, String> {
    decode_as(bytes, &FORMATS)
}

/// The same for other formats.
pub(crate) fn decode_as(bytes: &[u8], formats: &[ImageFormat]) -> Result<Picture, String> {
    let image = open_as(bytes, formats, MAX_PIXELS)?;
    Ok(Picture { width: image.width(), height: image.height(), grey: grey(image) })
}

/// Decodes a PNG, JPEG or WebP of up to `max_pixels`, by its bytes and not by what it is called.
///
/// # Errors
/// What is wrong with it, for the client.
pub(crate) fn open(bytes: &[u8], max_pixels: u64) -> Result<DynamicImage, String> {
    open_as(bytes, &FORMATS, max_pixels)
}

fn open_as(bytes: &[u8], formats: &[ImageFormat], max_pixels: u64) -> Result<DynamicImage, String> {
    let format = image::guess_format(bytes).ok();
    let Some(format) = format.filter(|format| formats.contains(format)) else {
        return Err("it is no PNG, JPEG or WebP".to_owned());
    };
    // Four bytes a pixel; pictures of 16 bits a channel have half as many pixels.
    let max_bytes = 4 * max_pixels;
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    limits.max_alloc = Some(2 * max_bytes);
    reader.limits(limits);
    let cannot = |error: image::ImageError| match error {
        image::ImageError::Limits(_) => {
            format!("it is above {max_pixels} pixels or {MAX_SIDE} a side")
        }
        _ => "it is damaged or cut off".to_owned(),
    };
    let decoder = reader.into_decoder().map_err(cannot)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > max_pixels || decoder.total_bytes() > max_bytes {
        return Err(format!("it has {width} x {height} pixels, above {max_pixels} in all"));
    }
    DynamicImage::from_decoder(decoder).map_err(cannot)
}

/// Luma of each pixel; what is transparent shows white.
fn grey(image: DynamicImage) -> Vec<u8> {
    if !image.color().has_alpha() {
        return image.into_luma8().into_raw();
    }
    let over_white = |luma: u8, alpha: u8| {
        let alpha = u32::from(alpha);
        ((u32::from(luma) * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    image.into_luma_alpha8().pixels().map(|pixel| over_white(pixel.0[0], pixel.0[1])).collect()
}
