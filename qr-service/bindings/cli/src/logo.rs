//! Reads the file of a logo.

use std::path::Path;

use anyhow::Context;
use image::{ImageFormat, ImageReader, Limits, RgbaImage};

/// The most pixels a side, more than any picture shows of a logo.
const MAX_SIDE_PX: u32 = 4096;

/// Reads a PNG, JPEG or WebP, whatever its name is.
pub(crate) fn read(file: &Path) -> anyhow::Result<RgbaImage> {
    let name = || format!("--logo {}", file.display());
    let mut reader =
        ImageReader::open(file).and_then(ImageReader::with_guessed_format).with_context(name)?;
    let is_known = reader.format().is_some_and(|format| {
        [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP].contains(&format)
    });
    anyhow::ensure!(is_known, "{}: it is not a PNG, JPEG or WebP", name());
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE_PX), Some(MAX_SIDE_PX));
    reader.limits(limits);
    Ok(reader.decode().with_context(name)?.into_rgba8())
}
