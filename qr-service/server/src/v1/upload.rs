//! Decodes pictures that clients send to grey, within a limit of memory.
//!
//! A PNG is read row by row, and of a JPEG only the luma, so both take little more than the grey pixels. The crates for
//! WebP and GIF keep whole pictures. [`Upload::open`] reads no pixels; it computes the memory that decoding will take.

use std::io::Cursor;

use bytes::Bytes;
use image::codecs::gif::GifDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{DynamicImage, GrayImage, ImageDecoder, ImageFormat};
use png::{InterlaceInfo, Transformations, expand_interlaced_row};
use qr_core::Color;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;
use zune_jpeg::{ImageInfo, JpegDecoder, SampleRatios};

use crate::v1::picture::over_white;
use crate::v1::reader::GreyImage;
use crate::v1::verify::luma;

/// The most pixels, a little more than the 24 million of phones. The limit is lower for formats that take much memory.
const MAX_PIXELS: u64 = 25_000_000;
/// The memory that all pictures being decoded may take together. It is enough for one picture of 9 million pixels in
/// the most demanding formats, WebP and progressive JPEG of four components.
pub(crate) const MAX_BYTES: usize = 96 << 20;
const MAX_SIDE: u32 = 16_384;
/// The memory that a PNG may take in addition to its pixels, for chunks that are read as a whole.
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// A picture whose head was read.
pub(crate) struct Upload {
    file: Bytes,
    format: ImageFormat,
    size: (u32, u32),
    /// Bytes that decoding and reading take for each pixel.
    pixel_bytes: u64,
    /// The orientation that the camera stored in the EXIF data.
    orientation: Orientation,
}

impl Upload {
    /// Reads the head of a picture. Its bytes tell which of the `formats` it has, not its name or media type. Fails
    /// with a message for the client if it has another format, is damaged or has too many pixels.
    pub(crate) fn open(file: Bytes, formats: &[ImageFormat]) -> Result<Self, String> {
        let format = image::guess_format(&file).ok();
        let Some(format) = format.filter(|format| formats.contains(format)) else {
            return Err("it is not a PNG, JPEG or WebP".to_owned());
        };
        let (size, pixel_bytes, exif) = match format {
            ImageFormat::Png => {
                let reader = png_reader(&file)?;
                let exif = reader.info().exif_metadata.as_ref().map(|exif| exif.to_vec());
                (reader.info().size(), 1, exif)
            }
            ImageFormat::Jpeg => head_of_jpeg(&file)?,
            ImageFormat::WebP => {
                let mut decoder = WebPDecoder::new(Cursor::new(&file[..])).map_err(damaged)?;
                let exif = decoder.exif_metadata().map_err(damaged)?;
                // The picture, its luma and chroma, its opacity; for an animation also the canvas and a frame.
                (decoder.dimensions(), if decoder.has_animation() { 20 } else { 11 }, exif)
            }
            // The canvas and a frame.
            _ => (GifDecoder::new(Cursor::new(&file[..])).map_err(damaged)?.dimensions(), 9, None),
        };
        let orientation = exif.and_then(|exif| Orientation::from_exif_chunk(&exif));
        let orientation = orientation.unwrap_or(Orientation::NoTransforms);
        // Turning takes two copies of the picture, and reading it at several sizes nearly two.
        let pixel_bytes = pixel_bytes.max(2);
        let most = (MAX_BYTES - MAX_CHUNK_BYTES) as u64 / pixel_bytes;
        check_size(size, most.min(MAX_PIXELS))?;
        Ok(Upload { file, format, size, pixel_bytes, orientation })
    }

    /// The most memory that decoding takes in addition to the file, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let (width, height) = self.size;
        let pixels = usize::try_from(u64::from(width) * u64::from(height) * self.pixel_bytes);
        pixels.unwrap_or(usize::MAX).saturating_add(MAX_CHUNK_BYTES)
    }

    /// Decodes the picture to grey over white, and turns it upright. Fails with a message for the client if the file is
    /// damaged.
    pub(crate) fn decode(&self) -> Result<GreyImage, String> {
        let file = Cursor::new(&self.file[..]);
        let grey = match self.format {
            ImageFormat::Png => grey_of_png(&self.file)?,
            ImageFormat::Jpeg => grey_of_jpeg(&self.file)?,
            ImageFormat::WebP => grey_of(WebPDecoder::new(file).map_err(damaged)?)?,
            _ => grey_of(GifDecoder::new(file).map_err(damaged)?)?,
        };
        let (width, height) = self.size;
        if self.orientation == Orientation::NoTransforms {
            return Ok(GreyImage { width, height, grey });
        }
        let picture = GrayImage::from_raw(width, height, grey).ok_or(()).map_err(damaged)?;
        let mut picture = DynamicImage::from(picture);
        picture.apply_orientation(self.orientation);
        let (width, height) = (picture.width(), picture.height());
        Ok(GreyImage { width, height, grey: picture.into_bytes() })
    }
}

/// Checks the number of pixels and the length of the sides. Fails with a message for the client if there are too many.
pub(crate) fn check_size((width, height): (u32, u32), max_pixels: u64) -> Result<(), String> {
    if u64::from(width) * u64::from(height) > max_pixels || width.max(height) > MAX_SIDE {
        let most = format!("{max_pixels} in all or {MAX_SIDE} a side");
        return Err(format!("it has {width} x {height} pixels, above {most}"));
    }
    Ok(())
}

pub(crate) fn damaged<E>(_: E) -> String {
    "it is damaged or cut off".to_owned()
}

fn png_reader(file: &[u8]) -> Result<png::Reader<Cursor<&[u8]>>, String> {
    let limits = png::Limits { bytes: MAX_CHUNK_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.read_info().map_err(damaged)
}

fn grey_of_png(file: &[u8]) -> Result<Vec<u8>, String> {
    let mut reader = png_reader(file)?;
    let (width, height) = reader.info().size();
    let samples = reader.output_color_type().0.samples();
    let mut grey = vec![0; width as usize * height as usize];
    let mut line = Vec::with_capacity(width as usize);
    let mut lines = 0;
    while let Some(row) = reader.next_interlaced_row().map_err(damaged)? {
        line.clear();
        line.extend(row.data().chunks_exact(samples).map(grey_of_pixel));
        match row.interlace() {
            InterlaceInfo::Adam7(pass) => {
                expand_interlaced_row(&mut grey, width as usize, &line, pass, 8);
            }
            InterlaceInfo::Null(_) => {
                let at = lines * width as usize;
                grey[at..at + line.len()].copy_from_slice(&line);
            }
        }
        lines += 1;
    }
    Ok(grey)
}

fn jpeg_decoder(file: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize);
    JpegDecoder::new_with_options(ZCursor::new(file), options)
}

/// The colour space that a JPEG is decoded to, and its samples per pixel: only the luma, if the picture has luma.
fn samples_of_jpeg(decoder: &JpegDecoder<ZCursor<&[u8]>>, info: &ImageInfo) -> (ColorSpace, usize) {
    // zune-jpeg 0.5 mixes up the rows of such a picture if it decodes only the luma.
    let is_mixed_up = !info.sof.is_sequential_dct() && info.sample_ratio == SampleRatios::V;
    match decoder.input_colorspace() {
        Some(ColorSpace::YCbCr | ColorSpace::Luma) if !is_mixed_up => (ColorSpace::Luma, 1),
        _ => (ColorSpace::RGB, 3),
    }
}

/// The size of a picture, the bytes per pixel that decoding it takes, and its EXIF data.
type Head = ((u32, u32), u64, Option<Vec<u8>>);

fn head_of_jpeg(file: &[u8]) -> Result<Head, String> {
    let mut decoder = jpeg_decoder(file);
    decoder.decode_headers().map_err(damaged)?;
    let info = decoder.info().ok_or(()).map_err(damaged)?;
    // Coefficients of two bytes, which only a progressive JPEG keeps in memory, and the picture.
    let coefficients =
        if info.sof.is_sequential_dct() { 0 } else { 2 * u64::from(info.components) };
    let (_, samples) = samples_of_jpeg(&decoder, &info);
    let size = (info.width.into(), info.height.into());
    Ok((size, coefficients + samples as u64, decoder.exif().cloned()))
}

fn grey_of_jpeg(file: &[u8]) -> Result<Vec<u8>, String> {
    let mut decoder = jpeg_decoder(file);
    decoder.decode_headers().map_err(damaged)?;
    let info = decoder.info().ok_or(()).map_err(damaged)?;
    let (space, samples) = samples_of_jpeg(&decoder, &info);
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(space));
    Ok(greyed(decoder.decode().map_err(damaged)?, samples))
}

fn grey_of(decoder: impl ImageDecoder) -> Result<Vec<u8>, String> {
    let samples = usize::from(decoder.color_type().channel_count());
    let bytes = usize::try_from(decoder.total_bytes()).map_err(damaged)?;
    let mut pixels = vec![0; bytes];
    decoder.read_image(&mut pixels).map_err(damaged)?;
    Ok(greyed(pixels, samples))
}

/// Turns pixels of `samples` samples into grey ones, in place.
fn greyed(mut pixels: Vec<u8>, samples: usize) -> Vec<u8> {
    if samples > 1 {
        let count = pixels.len() / samples;
        for index in 0..count {
            pixels[index] = grey_of_pixel(&pixels[index * samples..][..samples]);
        }
        pixels.truncate(count);
        pixels.shrink_to_fit();
    }
    pixels
}

/// Luma of a pixel over white.
fn grey_of_pixel(pixel: &[u8]) -> u8 {
    match *pixel {
        [grey] | [grey, 255] => grey,
        [grey, alpha] => over_white(Color { red: grey, green: grey, blue: grey, alpha }).red,
        [red, green, blue] | [red, green, blue, 255] => {
            luma(Color { red, green, blue, alpha: 255 })
        }
        [red, green, blue, alpha] => luma(over_white(Color { red, green, blue, alpha })),
        _ => 255,
    }
}
