//! Text to the bytes that are written.

use anyhow::Context;
use qr_core::{Level, Raster, encode, write_png};

use crate::options::Format;
use crate::{half_blocks, svg};

pub(crate) struct Picture {
    pub(crate) format: Format,
    pub(crate) level: Level,
    /// For utf8 its margin alone.
    pub(crate) raster: Raster,
    /// Whether a terminal's colours are to be set, for utf8.
    pub(crate) coloured: bool,
}

impl Picture {
    pub(crate) fn draw(&self, text: &str) -> anyhow::Result<Vec<u8>> {
        let symbol = encode(text, self.level).with_context(|| {
            format!("the text's {} bytes are too many for level {:?}", text.len(), self.level)
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
