//! Encapsulated PostScript 3.0 (Adobe Technical Note 5002).

use std::fmt::Write;

use super::outline::{Path, trace};
use super::print::{Decimal, Print, PrintError};
use crate::modules::Modules;

/// The longest line, in characters; the conventions for document structure allow 255.
const MAX_LINE: usize = 255;

/// Appends an EPS document to `out`.
///
/// ```
/// use qr_core::{Level, Print, encode, write_eps};
///
/// let symbol = encode("https://example.com/", Level::M)?;
/// let mut eps = String::new();
/// write_eps(&symbol, &Print { width_mm: 25.4, ..Print::default() }, &mut eps)?;
/// assert!(eps.contains("%%BoundingBox: 0 0 72 72\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PrintError`] if the width is out of range; `out` is then unchanged.
pub fn write_eps<'a>(
    modules: impl Into<Modules<'a>>,
    print: &Print,
    out: &mut String,
) -> Result<(), PrintError> {
    let modules = modules.into();
    let page = print.page(&modules)?;
    let (width, height) = (Decimal(page.width), Decimal(page.height));
    // The integers must contain the numbers as written.
    let whole = |length: f64| (length - 0.00005).ceil();
    let (whole_width, whole_height) = (whole(page.width), whole(page.height));
    let (left, top, module) = (Decimal(page.left), Decimal(page.top), page.module);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "%!PS-Adobe-3.0 EPSF-3.0\n\
         %%BoundingBox: 0 0 {whole_width} {whole_height}\n\
         %%HiResBoundingBox: 0 0 {width} {height}\n\
         %%LanguageLevel: 2\n\
         %%EndComments\n\
         save 4 dict begin\n\
         /m{{rmoveto}}bind def/h{{0 rlineto}}bind def/v{{0 exch rlineto}}bind def\
         /z{{closepath}}bind def\n\
         {left} {top} translate {module:.6} -{module:.6} scale\n\
         0 0 0 1 setcmykcolor 0 0 moveto\n"
    );
    let mut operators = Operators { line_start: out.len(), out };
    trace(modules, &mut operators);
    out.push_str("\nfill end restore\n%%EOF\n");
    Ok(())
}

/// The outline in the operators defined above. After `closepath` the current point is the beginning
/// of the path, which the next one is relative to.
struct Operators<'a> {
    out: &'a mut String,
    line_start: usize,
}

impl Operators<'_> {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        let start = self.out.len();
        self.out.push(' ');
        let _ = self.out.write_fmt(text);
        if start == self.line_start {
            self.out.remove(start);
        } else if self.out.len() - self.line_start > MAX_LINE {
            self.out.replace_range(start..=start, "\n");
            self.line_start = start + 1;
        }
    }
}

impl Path for Operators<'_> {
    fn begin(&mut self, dx: i32, dy: i32) {
        self.put(format_args!("{dx} {dy} m"));
    }

    fn horizontal(&mut self, dx: i32) {
        self.put(format_args!("{dx} h"));
    }

    fn vertical(&mut self, dy: i32) {
        self.put(format_args!("{dy} v"));
    }

    fn close(&mut self) {
        self.put(format_args!("z"));
    }
}
