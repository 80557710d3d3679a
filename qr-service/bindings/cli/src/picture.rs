//! Draws the text in the format asked for.

use anyhow::Context;
use clap::ValueEnum;
use qr_core::{Level, Raster, encode, write_png};

use crate::{half_blocks, svg};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One bit a pixel
    Png,
    /// One path for all dark modules
    Svg,
    /// Half blocks, two modules a character; white on black on a terminal
    Utf8,
}

pub(crate) struct Picture {
    pub(crate) format: Format,
    pub(crate) level: Level,
    /// For utf8 only its margin counts.
    pub(crate) raster: Raster,
    /// Whether utf8 sets the terminal's colours.
    pub(crate) coloured: bool,
}

impl Picture {
    pub(crate) fn draw(&self, text: &str) -> anyhow::Result<Vec<u8>> {
        let symbol = encode(text, self.level).with_context(|| {
            format!("the text's {} bytes are too many for level {}", text.len(), self.level)
        })?;
        Ok(match self.format {
            Format::Png => {
                let mut png = Vec::new();
                write_png(&symbol, &self.raster, &mut png)
                    .with_context(|| format!("--size {} is too small", self.raster.size_px))?;
                png
            }
            Format::Svg => svg::draw(&symbol, &self.raster).into_bytes(),
            Format::Utf8 => {
                half_blocks::draw(&symbol, self.raster.margin_modules as usize, self.coloured)
                    .into_bytes()
            }
        })
    }
}
