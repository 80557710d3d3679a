//! Draws the text or bytes in the requested format.

use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;
use qr_core::{
    Color, Ink, Modules, Print, Raster, Svg, TextStyle, to_ascii, to_eps, to_pbm, to_pdf, to_svg,
};
use qr_options::artwork::{Artwork, LogoPixels};
use qr_options::options::{Compression, InkedModules};
use qr_options::plan::{Colors, Content, Plan, SymbolPlan};
use qr_options::symbol::{self, AnySymbol};

use crate::definition::describe;
use crate::encoding::Encoding;
use crate::{half_blocks, logo};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One bit per pixel
    Png,
    /// One path for all dark modules
    Svg,
    /// Half blocks, two modules per character; white on black on a terminal
    Utf8,
    /// Two characters per module, dark on light
    Ascii,
    /// Portable bitmap
    Pbm,
    /// One page, in black ink only
    Pdf,
    /// Encapsulated PostScript, in black ink only
    Eps,
    /// A label in ZPL II
    Zpl,
    /// A label in EPL2
    Epl,
}

impl Format {
    /// Whether it is for label printers.
    pub(crate) fn is_label(self) -> bool {
        matches!(self, Format::Zpl | Format::Epl)
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }
}

/// The size of the picture.
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
    /// `None` for the standard's quiet zone.
    pub(crate) margin_modules: Option<u32>,
    pub(crate) size: Size,
    pub(crate) width_mm: f64,
    pub(crate) dark: Color,
    pub(crate) light: Color,
    pub(crate) compression: Compression,
    pub(crate) title: Option<String>,
    /// `None` for the format's default.
    pub(crate) ink: Option<InkedModules>,
    /// The plan to draw by if a flag of the definition or a logo is given. Its content is a placeholder.
    pub(crate) plan: Option<Plan>,
    pub(crate) logo: Option<PathBuf>,
    /// Whether utf8 sets the terminal's colours.
    pub(crate) coloured: bool,
}

impl Picture {
    /// Draws one picture for each symbol that the data takes.
    pub(crate) fn draw(&self, content: Content) -> anyhow::Result<Vec<Vec<u8>>> {
        let Some(plan) = &self.plan else {
            let symbols = self.encoding.encode(&content)?;
            return symbols.iter().map(|symbol| self.draw_symbol(symbol)).collect();
        };
        self.draw_plan(Plan { content, ..plan.clone() })
    }

    /// Draws the pictures by a plan.
    fn draw_plan(&self, mut plan: Plan) -> anyhow::Result<Vec<Vec<u8>>> {
        let logo = self.logo.as_deref().map(logo::read).transpose()?;
        let mut pictures = Vec::new();
        loop {
            let fault = |fault| anyhow::anyhow!(describe(&fault));
            let encoded = symbol::encode(&plan).map_err(fault)?;
            let pixels = logo.as_ref().map(|logo| logo as &dyn LogoPixels);
            let picture = match Artwork::of(&plan, &encoded, pixels) {
                None if plan.caption.is_none() && !self.format.is_label() => {
                    Ok(self.draw_symbol(&encoded.symbol)?)
                }
                art => qr_options::picture::draw(&plan, &encoded, art.as_ref()),
            };
            pictures.push(picture.map_err(fault)?);
            match &mut plan.symbol {
                SymbolPlan::Qr { part: Some(part), .. } if usize::from(*part) < encoded.parts => {
                    *part += 1;
                }
                _ => return Ok(pictures),
            }
        }
    }

    fn draw_symbol(&self, symbol: &AnySymbol) -> anyhow::Result<Vec<u8>> {
        let modules = symbol.modules();
        let margin_modules = self.margin_modules();
        let raster = self.raster(modules);
        let print = Print::default().margin_modules(margin_modules).width_mm(self.width_mm);
        let style = |ink| TextStyle::default().margin_modules(margin_modules).ink(self.ink(ink));
        Ok(match self.format {
            Format::Png => {
                let colors = Colors { dark: self.dark, light: self.light };
                let mut png = Vec::new();
                let drawn = symbol.write_png(&raster, colors, self.compression, &mut png);
                drawn.with_context(|| self.fault_of_size())?;
                png
            }
            Format::Svg => {
                let svg = Svg::default().margin_modules(margin_modules).size_px(raster.size_px);
                let svg = svg.dark(self.dark).light(self.light).title(self.title.as_deref());
                to_svg(modules, &svg).into_bytes()
            }
            Format::Utf8 => {
                half_blocks::draw(modules, &style(Ink::Light), self.coloured).into_bytes()
            }
            Format::Ascii => to_ascii(modules, &style(Ink::Dark)).into_bytes(),
            Format::Pbm => to_pbm(modules, &raster).with_context(|| self.fault_of_size())?,
            Format::Pdf => to_pdf(modules, &print)?,
            Format::Eps => to_eps(modules, &print)?.into_bytes(),
            Format::Zpl | Format::Epl => unreachable!("labels are drawn by a plan"),
        })
    }

    fn ink(&self, of_format: Ink) -> Ink {
        match self.ink {
            Some(InkedModules::Light) => Ink::Light,
            Some(InkedModules::Dark) => Ink::Dark,
            None => of_format,
        }
    }

    fn margin_modules(&self) -> u32 {
        self.margin_modules.unwrap_or(self.encoding.quiet_zone())
    }

    fn raster(&self, modules: Modules<'_>) -> Raster {
        let margin_modules = self.margin_modules();
        match self.size {
            Size::Picture(size_px) => Raster::new(size_px).margin_modules(margin_modules),
            Size::Module(scale_px) => Raster::of_scale(modules, scale_px, margin_modules),
        }
    }

    fn fault_of_size(&self) -> String {
        match self.size {
            Size::Picture(size_px) => format!("--size {size_px} is too small"),
            Size::Module(scale_px) => format!("--scale {scale_px} is too large"),
        }
    }
}
