//! Draws the text in the format asked for.

use anyhow::Context;
use clap::ValueEnum;
use qr_core::{
    Color, Ink, Palette, Print, Raster, Svg, Symbol, TextStyle, write_ascii, write_eps,
    write_palette_png, write_pbm, write_pdf, write_png, write_svg,
};

use crate::encoding::Encoding;
use crate::{half_blocks, svg};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One bit a pixel
    Png,
    /// One path for all dark modules
    Svg,
    /// Half blocks, two modules a character; white on black on a terminal
    Utf8,
    /// Two characters a module, dark on light
    Ascii,
    /// Portable bitmap
    Pbm,
    /// One page, in black ink alone
    Pdf,
    /// Encapsulated PostScript, in black ink alone
    Eps,
}

impl Format {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
            Format::Utf8 => "utf8",
            Format::Ascii => "ascii",
            Format::Pbm => "pbm",
            Format::Pdf => "pdf",
            Format::Eps => "eps",
        }
    }
}

/// How large the picture is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// The pixels a side of the picture.
    Picture(u32),
    /// The pixels a side of each module.
    Module(u32),
}

pub(crate) struct Picture {
    pub(crate) format: Format,
    pub(crate) encoding: Encoding,
    pub(crate) margin_modules: u32,
    pub(crate) size: Size,
    pub(crate) width_mm: f64,
    pub(crate) dark: Color,
    pub(crate) light: Color,
    pub(crate) title: Option<String>,
    /// Whether utf8 sets the terminal's colours.
    pub(crate) coloured: bool,
}

impl Picture {
    pub(crate) fn draw(&self, text: &str) -> anyhow::Result<Vec<u8>> {
        let symbol = self.encoding.encode(text)?;
        let margin_modules = self.margin_modules;
        let raster = self.raster(&symbol);
        let print = Print { margin_modules, width_mm: self.width_mm };
        let (mut bytes, mut text) = (Vec::new(), String::new());
        match self.format {
            Format::Png => {
                let palette = Palette { dark: self.dark, light: self.light };
                let is_plain = palette == Palette { dark: Color::BLACK, light: Color::WHITE };
                let drawn = match is_plain {
                    // The service's bytes.
                    true => write_png(&symbol, &raster, &mut bytes),
                    false => write_palette_png(&symbol, &raster, &palette, &mut bytes),
                };
                drawn.with_context(|| self.fault_of_size())?;
            }
            Format::Svg => text = self.draw_svg(&symbol, &raster),
            Format::Utf8 => {
                text = half_blocks::draw(&symbol, margin_modules, self.coloured);
            }
            Format::Ascii => {
                write_ascii(&symbol, &TextStyle { margin_modules, ink: Ink::Dark }, &mut text);
            }
            Format::Pbm => {
                // Exact, because the options give pbm a size by module only.
                let scale_px = raster.size_px / (symbol.size() as u32 + 2 * margin_modules);
                write_pbm(&symbol, scale_px, margin_modules, &mut bytes)
                    .with_context(|| self.fault_of_size())?;
            }
            Format::Pdf => write_pdf(&symbol, &print, &mut bytes)?,
            Format::Eps => write_eps(&symbol, &print, &mut text)?,
        }
        Ok(if text.is_empty() { bytes } else { text.into_bytes() })
    }

    fn raster(&self, symbol: &Symbol) -> Raster {
        let margin_modules = self.margin_modules;
        match self.size {
            Size::Picture(size_px) => Raster { size_px, margin_modules },
            Size::Module(scale_px) => Raster::of_scale(symbol, scale_px, margin_modules),
        }
    }

    fn fault_of_size(&self) -> String {
        match self.size {
            Size::Picture(size_px) => format!("--size {size_px} is too small"),
            Size::Module(scale_px) => format!("--scale {scale_px} is too large"),
        }
    }

    fn draw_svg(&self, symbol: &Symbol, raster: &Raster) -> String {
        let Picture { dark, light, margin_modules, .. } = *self;
        let plain = dark == Color::BLACK && light == Color::WHITE && self.title.is_none();
        // The document that `qr` has always written.
        if plain && matches!(self.size, Size::Picture(_)) {
            return svg::draw(symbol, raster);
        }
        let title = self.title.as_deref();
        let width_px = Some(raster.size_px);
        let mut drawn = String::new();
        write_svg(symbol, &Svg { margin_modules, width_px, dark, light, title }, &mut drawn);
        drawn
    }
}
