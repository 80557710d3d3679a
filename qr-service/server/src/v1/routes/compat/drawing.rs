//! Draws the pictures of other services' parameters, and checks that they can be read.

use qr_core::{Print, Svg, to_eps, to_svg};

use super::raster::{self, PixelFormat, Placement};
use crate::v1::artwork::{Artwork, LogoPixels};
use crate::v1::fault::Fault;
use crate::v1::logo;
use crate::v1::options::{FinderShape, Format, Options};
use crate::v1::picture;
use crate::v1::plan::{Colors, Plan};
use crate::v1::symbol::{Encoded, encode};
use crate::v1::verify;

/// The most pixels a side, the same as for `/v1/qr`.
pub(super) use crate::v1::options::MAX_SIZE_PX;

/// A point of PostScript in millimetres.
const POINT_MM: f64 = 25.4 / 72.0;

/// The most pixels a side of a JPEG with shapes, colours of its own or a caption, which takes 7 MB before it is compressed.
const MOST_STYLED_JPEG_PX: i64 = 1000;

/// Places a symbol in a picture, given its modules a side.
type Layout = Box<dyn Fn(u32) -> Result<Placement, Wrong> + Send>;

/// A picture to draw.
pub(super) enum Drawing {
    Pixels(PixelFormat, Layout),
    /// `width` is in pixels. `margin` returns the margin in modules, given the symbol's modules a side.
    Svg {
        width: Option<u32>,
        margin: Box<dyn Fn(u32) -> Result<u32, Wrong> + Send>,
    },
    /// `points` is the width. `margin` is as for `Svg`.
    Eps {
        points: u32,
        margin: Box<dyn Fn(u32) -> Result<u32, Wrong> + Send>,
    },
}

impl Drawing {
    pub(super) fn content_type(&self) -> &'static str {
        match self {
            Drawing::Pixels(format, _) => format.content_type(),
            Drawing::Svg { .. } => Format::Svg.content_type(),
            Drawing::Eps { .. } => Format::Eps.content_type(),
        }
    }
}

/// The fault of a parameter, with our name for it or with that of the other service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) parameter: String,
    pub(super) detail: String,
}

impl Wrong {
    pub(super) fn new(parameter: &str, detail: impl Into<String>) -> Self {
        Wrong { parameter: parameter.to_owned(), detail: detail.into() }
    }

    /// The fault in one line, with the other service's names, given as pairs of ours and theirs.
    pub(super) fn line(&self, names: &[(&str, &str)]) -> String {
        let theirs = names.iter().find(|(ours, _)| *ours == self.parameter).map(|(_, it)| *it);
        format!("{}: {}", theirs.unwrap_or(&self.parameter), self.detail)
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        let detail = match &fault.suggestion {
            Some(suggestion) => format!("{}; {suggestion}", fault.detail),
            None => fault.detail.to_string(),
        };
        Wrong { parameter: fault.parameter, detail }
    }
}

/// Encodes the symbol of `options`, which must have neither format nor size.
pub(super) fn symbol(options: &Options) -> Result<Encoded, Wrong> {
    Ok(encode(&plan(options, Format::Png)?)?)
}

fn plan(options: &Options, format: Format) -> Result<Plan, Wrong> {
    let first = |faults: Vec<Fault>| faults.into_iter().next().map(Wrong::from);
    Plan::new(options.clone(), format).map_err(|faults| {
        first(faults).unwrap_or_else(|| Wrong::new("text", "it cannot be encoded"))
    })
}

/// Draws a picture, and decodes it unless it is plain. Fails if the picture cannot be made or cannot be read.
pub(super) fn draw(options: &Options, picture: &Drawing) -> Result<Vec<u8>, Wrong> {
    draw_with(options, None, picture)
}

/// Like [`draw`], with another shape of the finder patterns' cores, which no option has. Fails as that does.
pub(super) fn draw_with(
    options: &Options,
    cores: Option<FinderShape>,
    picture: &Drawing,
) -> Result<Vec<u8>, Wrong> {
    let encoded = symbol(options)?;
    if cores.is_some() || !plan(options, Format::Png)?.look.is_plain() {
        return draw_styled(options, cores, picture, &encoded);
    }
    let modules = encoded.symbol.modules();
    let colors = Colors {
        dark: options.dark.map_or(Colors::PLAIN.dark, |ink| ink.0),
        light: options.light.map_or(Colors::PLAIN.light, |ink| ink.0),
    };
    match picture {
        Drawing::Pixels(format, layout) => {
            let place = layout(modules.width() as u32)?;
            let seen = Options { scale: Some(place.scale), ..options.clone() };
            check(&plan(&seen, Format::Png)?, &encoded)?;
            raster::draw(&encoded.symbol, place, colors, *format)
                .map_err(|error| Wrong::new("size", error))
        }
        Drawing::Svg { width, margin } => {
            let margin_modules = margin(modules.width() as u32)?;
            let seen = Options { size: *width, margin: Some(margin_modules), ..options.clone() };
            check(&plan(&seen, Format::Svg)?, &encoded)?;
            let svg = Svg::default().margin_modules(margin_modules).size_px(*width);
            Ok(to_svg(modules, &svg.dark(colors.dark).light(colors.light)).into_bytes())
        }
        Drawing::Eps { points, margin } => {
            if colors != Colors::PLAIN {
                return Err(Wrong::new("dark", "an EPS is black and has no background"));
            }
            let margin_modules = margin(modules.width() as u32)?;
            let width_mm = f64::from(*points) * POINT_MM;
            let seen = Options {
                width_mm: Some(width_mm),
                margin: Some(margin_modules),
                ..options.clone()
            };
            check(&plan(&Options { dark: None, light: None, ..seen }, Format::Eps)?, &encoded)?;
            let print = Print::default().margin_modules(margin_modules).width_mm(width_mm);
            let eps = to_eps(modules, &print).map_err(|it| Wrong::new("size", it.to_string()))?;
            Ok(eps.into_bytes())
        }
    }
}

/// Draws shapes, a logo and coloured finder patterns as `/v1/qr` does.
fn draw_styled(
    options: &Options,
    cores: Option<FinderShape>,
    picture: &Drawing,
    encoded: &Encoded,
) -> Result<Vec<u8>, Wrong> {
    let modules = encoded.symbol.modules().width() as u32;
    let (format, size, margin) = match picture {
        Drawing::Pixels(_, layout) => (Format::Png, Some(layout(modules)?.width), options.margin),
        Drawing::Svg { width, margin } => (Format::Svg, *width, Some(margin(modules)?)),
        Drawing::Eps { .. } => {
            return Err(Wrong::new("format", "this path draws EPS in squares only"));
        }
    };
    if let Drawing::Pixels(format, _) = picture {
        check_styled(*format, size.unwrap_or(0).into())?;
    }
    let mut plan = plan(&Options { size, margin, ..options.clone() }, format)?;
    plan.look.finder_cores = cores;
    let logo = plan.look.logo.as_ref().map(|logo| logo::decode(&logo.file.0)).transpose()?;
    let art = Artwork::of(&plan, encoded, logo.as_ref().map(|logo| logo as &dyn LogoPixels));
    let drawn = picture::draw(&plan, encoded, art.as_ref())?;
    verify::check(&plan, encoded, art.as_ref())?;
    match picture {
        Drawing::Pixels(format, _) => converted(drawn, *format),
        _ => Ok(drawn),
    }
}

/// Checks that [`converted`] does not take too much memory for a picture of `size` pixels a side. Fails if it would.
pub(super) fn check_styled(format: PixelFormat, size: i64) -> Result<(), Wrong> {
    if format != PixelFormat::Png && size > MOST_STYLED_JPEG_PX {
        let detail =
            format!("a JPEG with styles has at most {MOST_STYLED_JPEG_PX} pixels a side; use png");
        return Err(Wrong::new("size", detail));
    }
    Ok(())
}

/// Converts a PNG to another format. Fails if an encoder fails, which is a defect.
pub(super) fn converted(png: Vec<u8>, format: PixelFormat) -> Result<Vec<u8>, Wrong> {
    raster::converted(png, format).map_err(|error| Wrong::new("format", error))
}

fn check(plan: &Plan, encoded: &Encoded) -> Result<(), Wrong> {
    if verify::is_needed(plan, &encoded.symbol) {
        verify::check(plan, encoded, None)?;
    }
    Ok(())
}
