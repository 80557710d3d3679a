//! What the formats for print have in common.

use std::fmt;

use crate::error::Error;
use crate::modules::Modules;

/// How to draw for print: by default black ink alone (K of CMYK), and no background.
///
/// ```
/// use qr_core::{Print, PrintColor};
///
/// let label = Print::default().width_mm(12.5).dark(PrintColor::Cmyk([100, 70, 0, 30]));
/// assert_eq!(label.margin_modules, 4);
/// ```
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
    /// What is drawn over the symbol, in this order.
    pub overlays: &'a [Overlay<'a>],
}

impl Default for Print<'_> {
    /// 40 mm with the standard's quiet zone of 4 modules, in black.
    fn default() -> Self {
        let dark = PrintColor::BLACK;
        Print { margin_modules: 4, width_mm: 40.0, dark, light: None, overlays: &[] }
    }
}

/// A colour in print.
///
/// ```
/// use qr_core::PrintColor;
///
/// assert_eq!(PrintColor::BLACK, PrintColor::Cmyk([0, 0, 0, 100]));
/// ```
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
    ///
    /// ```
    /// assert_eq!(qr_core::Print::default().dark, qr_core::PrintColor::BLACK);
    /// ```
    pub const BLACK: PrintColor = PrintColor::Cmyk([0, 0, 0, 100]);

    /// Its channels from 0 to 1, and the operator after them, of which there is one for each kind.
    pub(super) fn operator(self, [cmyk, rgb]: [&str; 2]) -> String {
        let (channels, most, operator) = match &self {
            PrintColor::Cmyk(channels) => (&channels[..], 100.0, cmyk),
            PrintColor::Rgb(channels) => (&channels[..], 255.0, rgb),
        };
        let number = |channel: &u8| format!("{} ", Decimal(f64::from(*channel) / most));
        channels.iter().map(number).collect::<String>() + operator
    }
}

/// What is drawn over a symbol: in modules from its upper left corner, y down.
///
/// ```
/// use qr_core::{Overlay, Print, PrintColor};
///
/// let corners = &[(11.0, 11.0), (14.0, 11.0), (14.0, 14.0), (11.0, 14.0)];
/// let red = Overlay::Area { color: PrintColor::Rgb([255, 0, 0]), corners };
/// assert_eq!(Print::default().overlays(&[red]).overlays.len(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Overlay<'a> {
    /// A polygon.
    Area {
        /// Its colour.
        color: PrintColor,
        /// Its corners.
        corners: &'a [(f64, f64)],
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

/// The narrowest module, in points, of which six decimals say enough: 0.35 micrometres.
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
}

impl<'a> Print<'a> {
    setters! {
        margin_modules: u32 = "Print::default().margin_modules(2)",
        width_mm: f64 = "Print::default().width_mm(25.4)",
        dark: PrintColor = "Print::default().dark(PrintColor::Rgb([0, 51, 102]))",
        light: impl Into<Option<PrintColor>> = "Print::default().light(PrintColor::Cmyk([0, 0, 20, 0]))",
        overlays: &'a [Overlay<'a>] = "Print::default().overlays(&[])",
    }

    /// The widest page, in millimetres: PDF's limit is 14400 points.
    ///
    /// ```
    /// assert_eq!(qr_core::Print::MAX_MM / 25.4 * 72.0, 14400.0);
    /// ```
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
        let height = module * (modules.height() as f64 + 2.0 * margin);
        Ok(Page { width, height, module, left: module * margin, top: height - module * margin })
    }
}

/// A number with up to four decimals, without trailing zeros. Four make an error below a ten
/// thousandth of a millimetre over the widest symbol.
pub(super) struct Decimal(pub(super) f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}
