//! The file of a logo that a client sends, decoded within bounds.

use image::codecs::png::PngEncoder;
use image::{DynamicImage, ExtendedColorType, ImageEncoder, RgbaImage, imageops};
use qr_core::Color;

use crate::artwork::LogoPixels;
use crate::fault::{Code, Fault};
use crate::upload;

/// The most pixels of a logo. Decoded they take 4 MB, and no more than there are workers are decoded at
/// once.
const MAX_LOGO_PIXELS: u64 = 1_000_000;
/// The longest file of a logo.
pub(crate) const MAX_LOGO_BYTES: usize = 262_144;

/// A logo of a client.
pub(crate) struct Logo(RgbaImage);

impl Logo {
    /// Decodes a file.
    ///
    /// # Errors
    /// If it is too long, no picture, or has too many pixels.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, Fault> {
        if file.len() > MAX_LOGO_BYTES {
            let detail = format!("it has {} bytes", file.len());
            let fault = Fault::new("logo", Code::OutOfRange, detail);
            return Err(fault.at_most(MAX_LOGO_BYTES as u32));
        }
        let image = upload::open(file, MAX_LOGO_PIXELS).map(DynamicImage::into_rgba8);
        image.map(Logo).map_err(|detail| Fault::new("logo", Code::Malformed, detail))
    }
}

impl LogoPixels for Logo {
    fn size(&self) -> (u32, u32) {
        self.0.dimensions()
    }

    fn reduced(&self, width: u32, height: u32) -> Box<dyn LogoPixels> {
        Box::new(Logo(imageops::thumbnail(&self.0, width, height)))
    }

    fn color_at(&self, u: f32, v: f32) -> Option<Color> {
        let [red, green, blue, alpha] = imageops::sample_bilinear(&self.0, u, v)?.0;
        Some(Color { red, green, blue, alpha })
    }

    fn png(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let (width, height) = self.0.dimensions();
        let written = PngEncoder::new(&mut file).write_image(
            self.0.as_raw(),
            width,
            height,
            ExtendedColorType::Rgba8,
        );
        debug_assert!(written.is_ok(), "a vector takes every picture");
        file
    }
}
