//! The file of a logo.

use std::path::Path;

use anyhow::Context;
use image::{ImageFormat, ImageReader, Limits, RgbaImage, imageops};
use qr_core::Color;
use qr_options::artwork::LogoPixels;

/// Pixels a side: more than any picture shows of a logo.
const MAX_SIDE_PX: u32 = 4096;

/// A logo's pixels.
pub(crate) struct Logo(RgbaImage);

impl Logo {
    /// Reads a PNG, JPEG or WebP; what it is called does not matter.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let name = || format!("--logo {}", file.display());
        let mut reader = ImageReader::open(file)
            .and_then(ImageReader::with_guessed_format)
            .with_context(name)?;
        let is_known = reader.format().is_some_and(|format| {
            [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP].contains(&format)
        });
        anyhow::ensure!(is_known, "{}: it is no PNG, JPEG or WebP", name());
        let mut limits = Limits::default();
        (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE_PX), Some(MAX_SIDE_PX));
        reader.limits(limits);
        Ok(Logo(reader.decode().with_context(name)?.into_rgba8()))
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
        let mut file = std::io::Cursor::new(Vec::new());
        let written = self.0.write_to(&mut file, ImageFormat::Png);
        debug_assert!(written.is_ok(), "a vector takes every picture");
        file.into_inner()
    }
}
