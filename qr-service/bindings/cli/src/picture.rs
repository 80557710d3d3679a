//! Draws the text or bytes in the requested format.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use image::{ImageFormat, ImageReader, Limits, RgbaImage};
use qr_core::{Error, MAX_SYMBOLS, Raster, to_pbm};
use qr_options::artwork::{Artwork, LogoPixels};
use qr_options::fault::{Code, Fault};
use qr_options::options::{self as defined, InkedModules};
use qr_options::plan::{Content, Fit, PicturePlan, Plan, SymbolPlan};
use qr_options::symbol::{self, Encoded};

use crate::definition::describe;

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
    /// One page
    Pdf,
    /// Encapsulated PostScript
    Eps,
    /// A label in ZPL II
    Zpl,
    /// A label in EPL2
    Epl,
}

impl Format {
    /// Its name among the options; for a bitmap that of the modules, from which it is drawn.
    pub(crate) fn defined(self) -> defined::Format {
        match self {
            Format::Png => defined::Format::Png,
            Format::Svg => defined::Format::Svg,
            Format::Utf8 | Format::Ascii => defined::Format::Txt,
            Format::Pbm => defined::Format::Json,
            Format::Pdf => defined::Format::Pdf,
            Format::Eps => defined::Format::Eps,
            Format::Zpl => defined::Format::Zpl,
            Format::Epl => defined::Format::Epl,
        }
    }
}

pub(crate) struct Picture {
    pub(crate) format: Format,
    /// Its content is a placeholder.
    pub(crate) plan: Plan,
    /// Pixels of a module.
    pub(crate) scale_px: Option<u32>,
    pub(crate) logo: Option<PathBuf>,
    /// Whether utf8 sets the terminal's colours.
    pub(crate) coloured: bool,
}

impl Picture {
    /// The most symbols that a text may take.
    pub(crate) fn most_symbols(&self) -> usize {
        let is_divided = matches!(self.plan.symbol, SymbolPlan::Qr { part: Some(_), .. });
        if is_divided { MAX_SYMBOLS } else { 1 }
    }

    /// Draws one picture for each symbol that the data takes.
    pub(crate) fn draw(&self, content: Content) -> anyhow::Result<Vec<Vec<u8>>> {
        let logo = self.logo.as_deref().map(read_logo).transpose()?;
        let logo = logo.as_ref().map(|logo| logo as &dyn LogoPixels);
        let mut plan = Plan { content, ..self.plan.clone() };
        let mut pictures = Vec::new();
        loop {
            let fault = |fault| anyhow::anyhow!(describe(&fault));
            let encoded = symbol::encode(&plan).map_err(fault)?;
            pictures.push(self.draw_symbol(plan.clone(), &encoded, logo).map_err(fault)?);
            match &mut plan.symbol {
                SymbolPlan::Qr { part: Some(part), .. } if usize::from(*part) < encoded.parts => {
                    *part += 1;
                }
                _ => return Ok(pictures),
            }
        }
    }

    fn draw_symbol(
        &self,
        mut plan: Plan,
        encoded: &Encoded,
        logo: Option<&dyn LogoPixels>,
    ) -> Result<Vec<u8>, Fault> {
        if let Some(scale_px) = self.scale_px {
            let modules = encoded.symbol.modules();
            let raster = Raster::of_scale(modules, scale_px, plan.margin);
            let fault = |error: Error| Fault::new("scale", Code::Size, error.to_string());
            match &mut plan.picture {
                PicturePlan::Json => return to_pbm(modules, &raster).map_err(fault),
                PicturePlan::Png { .. } if raster.size_px > Raster::MAX_SIZE_PX => {
                    let (size_px, most_px) = (raster.size_px, Raster::MAX_SIZE_PX);
                    return Err(fault(Error::SizeTooLarge { size_px, most_px }));
                }
                // The service's limit for a scale is lower.
                PicturePlan::Png { fit, .. } | PicturePlan::Svg { fit: Some(fit), .. } => {
                    *fit = Fit::Size(raster.size_px);
                }
                _ => {}
            }
        }
        let art = Artwork::of(&plan, encoded, logo);
        let drawn = qr_options::picture::draw(&plan, encoded, art.as_ref())?;
        match plan.picture {
            PicturePlan::Txt { ink, .. } if self.coloured && self.format == Format::Utf8 => {
                Ok(coloured(&String::from_utf8_lossy(&drawn), ink).into_bytes())
            }
            _ => Ok(drawn),
        }
    }
}

/// White on black, whatever the terminal's theme. Other colours may lack contrast or show the symbol light on dark,
/// which few scanners read.
const LIGHT_INK: &str = "\x1b[38;5;231;48;5;16m";
/// Black on white, for characters that draw the dark modules.
const DARK_INK: &str = "\x1b[38;5;16;48;5;231m";
const RESET: &str = "\x1b[0m";

/// Sets both colours of each line, by the modules that are drawn as characters.
fn coloured(text: &str, ink: InkedModules) -> String {
    let colours = if ink == InkedModules::Light { LIGHT_INK } else { DARK_INK };
    text.lines().map(|line| format!("{colours}{line}{RESET}\n")).collect()
}

/// The most pixels a side, more than any picture shows of a logo.
const MAX_SIDE_PX: u32 = 4096;

/// Reads a logo: a PNG, JPEG or WebP, whatever its name is.
fn read_logo(file: &Path) -> anyhow::Result<RgbaImage> {
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
