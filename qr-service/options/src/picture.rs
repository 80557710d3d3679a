//! Draws a symbol in each format.

use qr_core::{
    Color, Print, Raster, Svg, TextStyle, to_ascii, to_eps, to_half_blocks, to_pdf, to_svg,
};
use serde::Serialize;

use crate::artwork::{
    Artwork, over, with_overlays, write_png as write_png_of, write_svg as write_svg_of,
};
use crate::fault::{Code, Fault};
use crate::label::write_label;
use crate::options::{Format, InkedModules, MAX_SIZE_PX, Style};
use crate::plan::{Fit, PicturePlan, Plan};
use crate::symbol::Encoded;

/// A symbol in the format `json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SymbolData {
    /// `qr`, `micro` or `rmqr`.
    kind: &'static str,
    /// The version as the standards name it: `7`, `M3`, `R11x59`.
    version: String,
    /// `null` for Micro QR M1, which has none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    level: Option<String>,
    /// `null` for rMQR, which has only one.
    mask: Option<u8>,
    /// Number of symbols that the data takes.
    parts: usize,
    /// Modules in a row.
    width: usize,
    /// Number of rows.
    height: usize,
    /// Quiet zone that the standard requires, in modules.
    quiet_zone: u32,
    /// The rows from the top, one character per module: `1` is dark, `0` is light.
    rows: Vec<String>,
}

/// Draws the picture of a plan, with shapes and a logo if `art` has them.
///
/// # Errors
/// If the symbol needs more pixels than were asked for, or the picture would have more than are allowed.
pub fn draw(plan: &Plan, encoded: &Encoded, art: Option<&Artwork<'_>>) -> Result<Vec<u8>, Fault> {
    let modules = encoded.symbol.modules();
    let margin_modules = plan.margin;
    let widest = (modules.width() as u32) + 2 * margin_modules;
    let print = Print::default().margin_modules(margin_modules).caption(plan.caption.as_deref());
    Ok(match &plan.picture {
        PicturePlan::Png { fit, colors, compression } => {
            let size_px = size_px(*fit, widest)?;
            if let Some(art) = art {
                let written = write_png_of(art, size_px as usize, margin_modules as usize);
                return written.map_err(|error| Fault::new("size", Code::Size, error.to_string()));
            }
            let raster = Raster::new(size_px).margin_modules(margin_modules);
            let mut png = Vec::with_capacity(2048);
            let written = encoded.symbol.write_png(&raster, *colors, *compression, &mut png);
            written.map_err(|error| Fault::new("size", Code::Size, error.to_string()))?;
            png
        }
        PicturePlan::Svg { fit, colors, title } => {
            let size_px = fit.map(|fit| size_px(fit, widest)).transpose()?;
            let svg = Svg::default().margin_modules(margin_modules).size_px(size_px);
            let svg = svg.dark(colors.dark).light(colors.light).title(title.as_deref());
            let svg = svg.caption(plan.caption.as_deref());
            match art {
                Some(art) => write_svg_of(art, &svg).into_bytes(),
                None => to_svg(modules, &svg).into_bytes(),
            }
        }
        PicturePlan::Pdf { width, inks } => {
            with_overlays(art, *inks, print.width_mm(width.0), |print| to_pdf(modules, print))
                .map_err(|error| Fault::new("width_mm", Code::OutOfRange, error.to_string()))?
        }
        PicturePlan::Eps { width, inks } => {
            with_overlays(art, *inks, print.width_mm(width.0), |print| to_eps(modules, print))
                .map_err(|error| Fault::new("width_mm", Code::OutOfRange, error.to_string()))?
                .into_bytes()
        }
        PicturePlan::Txt { style, ink } => {
            let ink = match ink {
                InkedModules::Light => qr_core::Ink::Light,
                InkedModules::Dark => qr_core::Ink::Dark,
            };
            let text_style = TextStyle::default().margin_modules(margin_modules).ink(ink);
            let text = match style {
                Style::Blocks => to_half_blocks(modules, &text_style),
                Style::Ascii => to_ascii(modules, &text_style),
            };
            text.into_bytes()
        }
        PicturePlan::Zpl(dots) => write_label(modules, margin_modules, *dots, Format::Zpl)?,
        PicturePlan::Epl(dots) => write_label(modules, margin_modules, *dots, Format::Epl)?,
        // Strings and numbers always serialise.
        PicturePlan::Json => serde_json::to_vec(&describe(plan, encoded)).unwrap_or_default(),
    })
}

/// Width of a picture whose symbol and margin are `modules` wide.
///
/// # Errors
/// If the width is above [`MAX_SIZE_PX`], or less than one pixel per module.
pub fn size_px(fit: Fit, modules: u32) -> Result<u32, Fault> {
    match fit {
        Fit::Size(size) if size < modules => {
            let detail = format!("the symbol and its margin need {modules} px");
            Err(Fault::new("size", Code::Size, detail).at_least(modules))
        }
        Fit::Size(size) => Ok(size),
        Fit::Scale(scale) => {
            let size = modules.saturating_mul(scale);
            if size > MAX_SIZE_PX {
                let detail = format!("the picture would be {size} px wide, above {MAX_SIZE_PX}");
                return Err(Fault::new("scale", Code::Size, detail).at_most(MAX_SIZE_PX / modules));
            }
            Ok(size)
        }
    }
}

fn describe(plan: &Plan, encoded: &Encoded) -> SymbolData {
    let symbol = &encoded.symbol;
    let modules = symbol.modules();
    let row = |row: qr_core::Row<'_>| row.map(|dark| if dark { '1' } else { '0' }).collect();
    SymbolData {
        kind: plan.symbol.kind().as_str(),
        version: symbol.version(),
        level: symbol.level().map(|level| level.to_string()),
        mask: symbol.mask(),
        parts: encoded.parts,
        width: modules.width(),
        height: modules.height(),
        quiet_zone: plan.margin,
        rows: modules.rows().map(row).collect(),
    }
}

/// A colour over a white page.
pub fn over_white(color: Color) -> Color {
    over(color, Color::WHITE)
}
