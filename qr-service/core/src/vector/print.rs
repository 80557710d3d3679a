//! What the formats for print have in common.

use std::fmt;

use crate::modules::Modules;

/// How to draw for print: black ink alone (K of CMYK), and no background.
///
/// ```
/// use qr_core::Print;
///
/// let label = Print { width_mm: 12.5, ..Print::default() };
/// assert_eq!(label.margin_modules, 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Print {
    /// Width of the quiet zone, in modules.
    pub margin_modules: u32,
    /// Width of the page with the quiet zone, in millimetres; the height follows.
    pub width_mm: f64,
}

impl Default for Print {
    /// 40 mm with the standard's quiet zone of 4 modules.
    fn default() -> Self {
        Print { margin_modules: 4, width_mm: 40.0 }
    }
}

/// Why a symbol cannot be drawn for print.
///
/// ```
/// assert_eq!(
///     qr_core::PrintError::Width { width_mm: 0.5 }.to_string(),
///     "a width of 0.5 mm is not within 1 to 5080",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PrintError {
    /// The width is not between 1 and [`Print::MAX_MM`].
    Width {
        /// The width asked for, in millimetres.
        width_mm: f64,
    },
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrintError::Width { width_mm } = self;
        write!(f, "a width of {width_mm} mm is not within 1 to {}", Print::MAX_MM)
    }
}

impl std::error::Error for PrintError {}

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

impl Print {
    /// The widest page, in millimetres: PDF's limit is 14400 points.
    ///
    /// ```
    /// assert_eq!(qr_core::Print::MAX_MM / 25.4 * 72.0, 14400.0);
    /// ```
    pub const MAX_MM: f64 = 5080.0;

    pub(super) fn page(&self, modules: &Modules<'_>) -> Result<Page, PrintError> {
        if !(1.0..=Self::MAX_MM).contains(&self.width_mm) {
            return Err(PrintError::Width { width_mm: self.width_mm });
        }
        let margin = f64::from(self.margin_modules);
        let width = self.width_mm * 72.0 / 25.4;
        let module = width / (modules.width() as f64 + 2.0 * margin);
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
