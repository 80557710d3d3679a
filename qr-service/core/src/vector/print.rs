//! The options and the page that PDF and EPS share.

use std::fmt;

use super::line::Line;
use crate::error::Error;
use crate::helvetica::Helvetica;
use crate::modules::Modules;

/// How to draw for print: by default black ink alone (K of CMYK), and no background.
#[doc = example!(
    let label = Print::default().width_mm(12.5).dark(PrintColor::Cmyk([100, 70, 0, 30]));
    assert_eq!(label.margin_modules, 4);
)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Print<'a> {
    /// Width of the quiet zone, in modules.
    pub margin_modules: u32,
    /// Width of the page with the quiet zone, in millimetres; the height follows.
    pub width_mm: f64,
    /// The dark modules.
    pub dark: PrintColor,
    /// The page behind them; `None` leaves the paper.
    pub light: Option<PrintColor>,
    /// An outline to fill in the dark colour instead of that of the modules. It is filled even-odd, so a part within
    /// another is a hole.
    pub outline: Option<&'a [Step]>,
    /// Pictures and areas to draw over the symbol, in this order.
    pub overlays: &'a [Overlay<'a>],
    /// A shading dictionary of PDF that colours the dark modules instead of `dark`, in modules from the symbol's upper
    /// left corner, y down. An EPS has none.
    pub shading: Option<&'a str>,
    /// A line of text below the quiet zone, in Helvetica. A long line gets a smaller font size.
    pub caption: Option<&'a str>,
    /// The colour of the caption; `None` is that of the dark modules.
    pub caption_color: Option<PrintColor>,
}

impl Default for Print<'_> {
    /// 40 mm with the standard's quiet zone of 4 modules, in black.
    fn default() -> Self {
        let dark = PrintColor::BLACK;
        Print {
            margin_modules: 4,
            width_mm: 40.0,
            dark,
            light: None,
            outline: None,
            overlays: &[],
            shading: None,
            caption: None,
            caption_color: None,
        }
    }
}

/// A colour in print.
#[doc = example!(assert_eq!(PrintColor::BLACK, PrintColor::Cmyk([0, 0, 0, 100])))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrintColor {
    /// Cyan, magenta, yellow and black ink, in per cent.
    Cmyk([u8; 4]),
    /// Red, green and blue as on a screen, 0 to 255.
    Rgb([u8; 3]),
}

impl PrintColor {
    /// Black ink alone.
    #[doc = example!(assert_eq!(Print::default().dark, PrintColor::BLACK))]
    pub const BLACK: PrintColor = PrintColor::Cmyk([0, 0, 0, 100]);

    /// The channels from 0 to 1, followed by the operator for CMYK or for RGB.
    pub(super) fn operator(self, [cmyk, rgb]: [&str; 2]) -> String {
        let (channels, most, operator) = match &self {
            PrintColor::Cmyk(channels) => (&channels[..], 100.0, cmyk),
            PrintColor::Rgb(channels) => (&channels[..], 255.0, rgb),
        };
        let number = |channel: &u8| format!("{} ", Decimal(f64::from(*channel) / most));
        channels.iter().map(number).collect::<String>() + operator
    }
}

/// A step of an outline, in modules from the symbol's upper left corner, y down. Each part of an outline is closed
/// automatically.
#[doc = example!(
    let triangle = [Step::Move(0.0, 0.0), Step::Line(21.0, 0.0), Step::Line(0.0, 21.0)];
    assert!(Print::default().outline(&triangle[..]).outline.is_some());
)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Begins a part here.
    Move(f64, f64),
    /// A line to here.
    Line(f64, f64),
    /// A cubic Bézier curve with two control points, and its end.
    Curve([(f64, f64); 3]),
}

impl Step {
    /// Its numbers, and the one of three operators that draws it.
    pub(super) fn written<'o>(&self, [begin, line, curve]: [&'o str; 3]) -> (String, &'o str) {
        let point = |(x, y): &(f64, f64)| format!("{} {} ", Decimal(*x), Decimal(*y));
        match self {
            Step::Move(x, y) => (point(&(*x, *y)), begin),
            Step::Line(x, y) => (point(&(*x, *y)), line),
            Step::Curve(points) => (points.iter().map(point).collect(), curve),
        }
    }
}

/// An area or a picture drawn over a symbol, in modules from the symbol's upper left corner, y down.
#[doc = example!(
    let outline = &[Step::Move(11.0, 11.0), Step::Line(14.0, 11.0), Step::Line(11.0, 14.0)];
    let red = Overlay::Area { color: PrintColor::Rgb([255, 0, 0]), outline };
    assert_eq!(Print::default().overlays(&[red]).overlays.len(), 1);
)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Overlay<'a> {
    /// An area.
    Area {
        /// Its colour.
        color: PrintColor,
        /// Its edge, filled even-odd.
        outline: &'a [Step],
    },
    /// A picture.
    Picture {
        /// Its upper left corner.
        at: (f64, f64),
        /// Its width and height.
        size: (f64, f64),
        /// Its width and height in pixels.
        pixels: (u32, u32),
        /// Red, green and blue of each pixel, row by row from the top.
        rgb: &'a [u8],
    },
}

impl<'a> Overlay<'a> {
    /// The pixels of a picture, compressed by zlib.
    pub(super) fn compressed(&self) -> Option<((u32, u32), Vec<u8>)> {
        let Overlay::Picture { pixels, rgb, .. } = self else { return None };
        Some((*pixels, miniz_oxide::deflate::compress_to_vec_zlib(rgb, 9)))
    }
}

/// The narrowest module, in points, for which six decimals are precise enough: 0.35 micrometres.
const LEAST_MODULE: f64 = 0.001;

/// A page in points, 1/72 inch.
pub(super) struct Page {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Points of a module.
    pub(super) module: f64,
    /// The left and the upper edge of the symbol.
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) caption: Option<Caption>,
}

impl<'a> Print<'a> {
    setters! {
        margin_modules: u32 = "Print::default().margin_modules(2)",
        width_mm: f64 = "Print::default().width_mm(25.4)",
        dark: PrintColor = "Print::default().dark(PrintColor::Rgb([0, 51, 102]))",
        light: impl Into<Option<PrintColor>> = "Print::default().light(PrintColor::Cmyk([0, 0, 20, 0]))",
        outline: impl Into<Option<&'a [Step]>> = "Print::default().outline(None)",
        overlays: &'a [Overlay<'a>] = "Print::default().overlays(&[])",
        shading: impl Into<Option<&'a str>> = "Print::default().shading(\"<</ShadingType 2>>\")",
        caption: impl Into<Option<&'a str>> = "Print::default().caption(\"Our menu\")",
        caption_color: impl Into<Option<PrintColor>> = "Print::default().caption_color(PrintColor::BLACK)",
    }

    /// The widest page, in millimetres: PDF's limit is 14400 points.
    #[doc = example!(assert_eq!(Print::MAX_MM / 25.4 * 72.0, 14400.0))]
    pub const MAX_MM: f64 = 5080.0;

    pub(super) fn page(&self, modules: &Modules<'_>) -> Result<Page, Error> {
        if !(1.0..=Self::MAX_MM).contains(&self.width_mm) {
            return Err(Error::Width { width_mm: self.width_mm, most_mm: Self::MAX_MM });
        }
        let margin = f64::from(self.margin_modules);
        let width = self.width_mm * 72.0 / 25.4;
        let module = width / (modules.width() as f64 + 2.0 * margin);
        if module < LEAST_MODULE {
            return Err(Error::Margin { margin_modules: self.margin_modules });
        }
        let caption = self.caption.map(|text| Caption::new(text, modules, self.margin_modules));
        let caption = caption.transpose()?;
        let below = caption.as_ref().map_or(0.0, |caption| caption.height);
        let height = module * (modules.height() as f64 + 2.0 * margin + below);
        let (left, top) = (module * margin, height - module * margin);
        Ok(Page { width, height, module, left, top, caption })
    }
}

/// A number with up to four decimals, without trailing zeros. With four decimals the error stays below a
/// ten thousandth of a millimetre over the widest symbol.
pub(super) struct Decimal(pub(super) f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A caption in print: in modules from the symbol's upper left corner.
pub(super) struct Caption {
    /// The bytes of [`Helvetica::encode`], in hexadecimal digits.
    pub(super) hex: String,
    pub(super) size: f64,
    /// The start of the first letter, on the base line.
    pub(super) at: (f64, f64),
    /// The height that it adds to the page.
    height: f64,
}

impl Caption {
    fn new(text: &str, modules: &Modules<'_>, margin_modules: u32) -> Result<Self, Error> {
        let bytes = Helvetica::encode(text)?;
        let line = Line::new(Helvetica::width_em(text), modules, margin_modules);
        let left = (modules.width() as f64 - Helvetica::width_em(text) * line.size) / 2.0;
        Ok(Caption {
            hex: bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
            size: line.size,
            at: (left, line.base - f64::from(margin_modules)),
            height: line.height,
        })
    }
}
