//! Draws the pictures of other services' parameters, and checks that they can be read.

use super::raster::{self, PixelFormat, Placement};
use crate::v1::artwork::{Artwork, LogoPixels};
use crate::v1::fault::{Code, Fault};
use crate::v1::logo;
use crate::v1::options::{FinderShape, Format, MAX_MM, Options};
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
type Layout = Box<dyn Fn(u32) -> Result<Placement, Fault> + Send>;

/// A picture to draw.
pub(super) enum Drawing {
    Pixels(PixelFormat, Layout),
    /// `width` is in pixels. `margin` returns the margin in modules, given the symbol's modules a side.
    Svg {
        width: Option<u32>,
        margin: Box<dyn Fn(u32) -> Result<u32, Fault> + Send>,
    },
    /// `points` is the width. `margin` is as for `Svg`.
    Eps {
        points: u32,
        margin: Box<dyn Fn(u32) -> Result<u32, Fault> + Send>,
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
pub(super) fn wrong(parameter: &str, detail: impl Into<String>) -> Fault {
    Fault::new(parameter, Code::Malformed, detail)
}

/// A fault in one line, with the other service's names, given as pairs of ours and theirs.
pub(super) fn line_with(fault: &Fault, names: &[(&str, &str)]) -> String {
    let theirs = names.iter().find(|(ours, _)| *ours == fault.parameter).map(|(_, it)| *it);
    let more = fault.suggestion.as_ref().map(|it| format!("; {it}")).unwrap_or_default();
    format!("{}: {}{more}", theirs.unwrap_or(&fault.parameter), fault.detail)
}

/// Encodes the symbol of `options`, which must have neither format nor size.
pub(super) fn symbol(options: &Options) -> Result<Encoded, Fault> {
    encode(&plan(options, Format::Png)?)
}

fn plan(options: &Options, format: Format) -> Result<Plan, Fault> {
    // There is at least one fault.
    Plan::new(options.clone(), format).map_err(|mut faults| faults.swap_remove(0))
}

/// Draws a picture, and decodes it unless it is plain. Fails if the picture cannot be made or cannot be read.
pub(super) fn draw(options: &Options, picture: &Drawing) -> Result<Vec<u8>, Fault> {
    draw_with(options, None, picture)
}

/// Like [`draw`], with another shape of the finder patterns' cores, which no option has. Fails as that does.
pub(super) fn draw_with(
    options: &Options,
    cores: Option<FinderShape>,
    picture: &Drawing,
) -> Result<Vec<u8>, Fault> {
    let encoded = symbol(options)?;
    let modules = encoded.symbol.modules().width() as u32;
    let is_plain = cores.is_none() && plan(options, Format::Png)?.look.is_plain();
    let common = options.clone();
    let (format, options) = match picture {
        Drawing::Pixels(format, layout) if is_plain => {
            return draw_plain(common, &encoded, layout(modules)?, *format);
        }
        Drawing::Pixels(format, layout) => {
            let size = layout(modules)?.width;
            check_styled(*format, size.into())?;
            (Format::Png, Options { size: Some(size), ..common })
        }
        Drawing::Svg { width, margin } => {
            (Format::Svg, Options { size: *width, margin: Some(margin(modules)?), ..common })
        }
        Drawing::Eps { points, margin } => {
            let width_mm = Some(f64::from(*points) * POINT_MM).filter(|width| *width <= MAX_MM);
            width_mm.ok_or_else(|| wrong("size", format!("an EPS has at most {MAX_MM} mm")))?;
            if colors_of(&common) != Colors::PLAIN {
                return Err(wrong("dark", "an EPS is black and has no background"));
            }
            let (dark, light, margin) = (None, None, Some(margin(modules)?));
            (Format::Eps, Options { width_mm, margin, dark, light, ..common })
        }
    };
    let mut plan = plan(&options, format)?;
    plan.look.finder_cores = cores;
    let logo = plan.look.logo.as_ref().map(|logo| logo::decode(&logo.file.0)).transpose()?;
    let art = Artwork::of(&plan, &encoded, logo.as_ref().map(|logo| logo as &dyn LogoPixels));
    let drawn = picture::draw(&plan, &encoded, art.as_ref())?;
    if verify::is_needed(&plan, &encoded.symbol) {
        verify::check(&plan, &encoded, art.as_ref())?;
    }
    match picture {
        Drawing::Pixels(format, _) => converted(drawn, *format),
        _ => Ok(drawn),
    }
}

fn colors_of(options: &Options) -> Colors {
    Colors {
        dark: options.dark.map_or(Colors::PLAIN.dark, |ink| ink.0),
        light: options.light.map_or(Colors::PLAIN.light, |ink| ink.0),
    }
}

/// Draws squares at a place that no option has.
fn draw_plain(
    options: Options,
    encoded: &Encoded,
    place: Placement,
    format: PixelFormat,
) -> Result<Vec<u8>, Fault> {
    let colors = colors_of(&options);
    let plan = plan(&Options { scale: Some(place.scale), ..options }, Format::Png)?;
    if verify::is_needed(&plan, &encoded.symbol) {
        verify::check(&plan, encoded, None)?;
    }
    let drawn = raster::draw(&encoded.symbol, place, colors, format);
    drawn.map_err(|error| wrong("size", error))
}

/// Checks that [`converted`] does not take too much memory for a picture of `size` pixels a side. Fails if it would.
pub(super) fn check_styled(format: PixelFormat, size: i64) -> Result<(), Fault> {
    if format != PixelFormat::Png && size > MOST_STYLED_JPEG_PX {
        let detail =
            format!("a JPEG with styles has at most {MOST_STYLED_JPEG_PX} pixels a side; use png");
        return Err(wrong("size", detail));
    }
    Ok(())
}

/// Converts a PNG to another format. Fails if an encoder fails, which is a defect.
pub(super) fn converted(png: Vec<u8>, format: PixelFormat) -> Result<Vec<u8>, Fault> {
    raster::converted(png, format).map_err(|error| wrong("format", error))
}
