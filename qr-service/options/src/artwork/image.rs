//! Logos that the crate `image` has decoded.

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, RgbaImage, imageops};
use qr_core::Color;

use super::LogoPixels;

impl LogoPixels for RgbaImage {
    fn size(&self) -> (u32, u32) {
        self.dimensions()
    }

    fn reduced(&self, width: u32, height: u32) -> Box<dyn LogoPixels> {
        Box::new(imageops::thumbnail(self, width, height))
    }

    fn color_at(&self, u: f32, v: f32) -> Option<Color> {
        let [red, green, blue, alpha] = imageops::sample_bilinear(self, u, v)?.0;
        Some(Color { red, green, blue, alpha })
    }

    fn png(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let ((width, height), color) = (self.dimensions(), ExtendedColorType::Rgba8);
        let written = PngEncoder::new(&mut file).write_image(self.as_raw(), width, height, color);
        debug_assert!(written.is_ok(), "a vector takes every picture");
        file
    }
}
