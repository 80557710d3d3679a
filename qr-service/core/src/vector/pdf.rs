//! PDF 1.4 (ISO 32000-1): one page with one fill.

use std::fmt::Write as _;
use std::io::Write;

use super::outline::{Path, trace};
use super::print::{Decimal, Overlay, Page, Print, Step};
use crate::error::Error;
use crate::modules::Modules;

/// Appends a PDF of one page to `out`. The same symbol always gives the same bytes: there are no
/// dates.
#[doc = example!(
    let symbol = encode("https://example.com/", Level::M)?;
    let mut pdf = Vec::new();
    write_pdf(&symbol, &Print::default().width_mm(25.0), &mut pdf)?;
    assert!(pdf.starts_with(b"%PDF-1.4"));
)]
///
/// # Errors
/// [`Error::Width`], [`Error::Margin`], or [`Error::Character`] of the caption; `out` is then unchanged.
pub fn write_pdf<'a>(
    modules: impl Into<Modules<'a>>,
    print: &Print<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let modules = modules.into();
    let page = print.page(&modules)?;
    let content = miniz_oxide::deflate::compress_to_vec_zlib(&content(modules, &page, print), 10);
    let (width, height) = (Decimal(page.width), Decimal(page.height));
    let mut pdf = Objects { start: out.len(), out, offsets: Vec::new() };
    // Four bytes above 127 tell programs that the file is binary.
    pdf.out.extend_from_slice(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
    pdf.object(format_args!("<</Type/Catalog/Pages 2 0 R>>"));
    pdf.object(format_args!("<</Type/Pages/Kids[3 0 R]/Count 1>>"));
    let pictures: Vec<_> = print.overlays.iter().filter_map(Overlay::compressed).collect();
    let names = (FIRST_PICTURE..).take(pictures.len()).map(|it| format!("/I{it} {it} 0 R"));
    let names: String = names.collect();
    let mut resources = if names.is_empty() { names } else { format!("/XObject<<{names}>>") };
    if page.caption.is_some() {
        let _ = write!(resources, "/Font<</F {} 0 R>>", FIRST_PICTURE + pictures.len());
    }
    if let Some(shading) = print.shading {
        let (module, left, top) = (page.module, Decimal(page.left), Decimal(page.top));
        let matrix = format!("{module:.6} 0 0 -{module:.6} {left} {top}");
        let _ =
            write!(resources, "/Pattern<</P<</PatternType 2/Matrix[{matrix}]/Shading{shading}>>>>");
    }
    pdf.object(format_args!(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 {width} {height}]/Resources<<{resources}>>/Contents 4 0 R>>"
    ));
    pdf.stream(format_args!(""), &content);
    for ((width, height), pixels) in &pictures {
        let about = format_args!(
            "/Type/XObject/Subtype/Image/Width {width}/Height {height}/ColorSpace/DeviceRGB/BitsPerComponent 8"
        );
        pdf.stream(about, pixels);
    }
    if page.caption.is_some() {
        pdf.object(format_args!(
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
        ));
    }
    pdf.finish();
    Ok(())
}

/// The number of the first picture's object.
const FIRST_PICTURE: usize = 5;
/// The operators that set the colour of areas, in CMYK and in RGB.
const FILL: [&str; 2] = ["k", "rg"];

/// Appends the dark modules as a path to the content stream of a page: one unit per module, y down, from the
/// symbol's upper left corner. It is for programs that write their own pages: write `cm` before the path to place and
/// scale the symbol, and `f` after it to fill it.
///
/// ```
/// use qr_core::{Level, encode, write_pdf_path};
///
/// let symbol = encode("https://example.com/", Level::M)?;
/// // Three points per module, 100 points from the page's left edge, from 700 points downwards.
/// let mut content = b"q 3 0 0 -3 100 700 cm\n".to_vec();
/// write_pdf_path(&symbol, &mut content);
/// content.extend_from_slice(b"f Q\n");
/// # Ok::<(), qr_core::Error>(())
/// ```
pub fn write_pdf_path<'a>(modules: impl Into<Modules<'a>>, out: &mut Vec<u8>) {
    trace(modules.into(), &mut Operators { out, start: (0, 0), at: (0, 0) });
}

/// The page's content: one unit per module, y down.
fn content(modules: Modules<'_>, page: &Page, print: &Print<'_>) -> Vec<u8> {
    let mut content = Vec::new();
    if let Some(light) = print.light {
        let (light, width, height) = (light.operator(FILL), page.width, page.height);
        put(
            &mut content,
            format_args!("{light} 0 0 {} {} re f\n", Decimal(width), Decimal(height)),
        );
    }
    let (solid, module) = (print.dark.operator(FILL), page.module);
    let dark = print.shading.map_or(solid, |_| "/Pattern cs /P scn".to_owned());
    put(&mut content, format_args!("{dark} {module:.6} 0 0 -{module:.6} "));
    put(&mut content, format_args!("{} {} cm\n", Decimal(page.left), Decimal(page.top)));
    match print.outline {
        Some(outline) => fill(outline, &mut content),
        None => {
            write_pdf_path(modules, &mut content);
            content.extend_from_slice(b"f\n");
        }
    }
    let mut picture = FIRST_PICTURE;
    for overlay in print.overlays {
        match overlay {
            Overlay::Area { color, outline } => {
                put(&mut content, format_args!("{}\n", color.operator(FILL)));
                fill(outline, &mut content);
            }
            Overlay::Picture { at, size, .. } => {
                // In the unit square of a picture, y goes up.
                let (x, y) = (Decimal(at.0), Decimal(at.1 + size.1));
                let (width, height) = (Decimal(size.0), Decimal(size.1));
                let matrix = format_args!("{width} 0 0 -{height} {x} {y}");
                put(&mut content, format_args!("q {matrix} cm /I{picture} Do Q\n"));
                picture += 1;
            }
        }
    }
    if let Some(caption) = &page.caption {
        let (size, (x, y)) = (Decimal(caption.size), caption.at);
        let color = print.caption_color.unwrap_or(print.dark).operator(FILL);
        let (x, y) = (Decimal(x), Decimal(y));
        // The page's y goes down, letters go up.
        let line =
            format_args!("{color} BT /F {size} Tf 1 0 0 -1 {x} {y} Tm <{}> Tj ET\n", caption.hex);
        put(&mut content, line);
    }
    content
}

/// Fills an outline.
fn fill(outline: &[Step], content: &mut Vec<u8>) {
    for step in outline {
        let (numbers, operator) = step.written(["m", "l", "c"]);
        put(content, format_args!("{numbers}{operator}\n"));
    }
    content.extend_from_slice(b"f*\n");
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

/// Writes numbered objects and the table of their offsets.
struct Objects<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    offsets: Vec<usize>,
}

impl Objects<'_> {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        put(self.out, text);
    }

    fn begin(&mut self) {
        self.offsets.push(self.out.len() - self.start);
        self.put(format_args!("{} 0 obj\n", self.offsets.len()));
    }

    fn object(&mut self, content: std::fmt::Arguments<'_>) {
        self.begin();
        self.put(content);
        self.put(format_args!("\nendobj\n"));
    }

    /// Writes a stream that zlib has compressed.
    fn stream(&mut self, about: std::fmt::Arguments<'_>, compressed: &[u8]) {
        self.begin();
        let length = compressed.len();
        self.put(format_args!("<<{about}/Length {length}/Filter/FlateDecode>>stream\n"));
        self.out.extend_from_slice(compressed);
        self.put(format_args!("\nendstream\nendobj\n"));
    }

    fn finish(mut self) {
        let table = self.out.len() - self.start;
        let size = self.offsets.len() + 1;
        self.put(format_args!("xref\n0 {size}\n0000000000 65535 f \n"));
        for offset in std::mem::take(&mut self.offsets) {
            self.put(format_args!("{offset:010} 00000 n \n"));
        }
        self.put(format_args!("trailer\n<</Size {size}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n"));
    }
}

/// Writes path operators. They take absolute positions, because PDF has no relative ones.
struct Operators<'a> {
    out: &'a mut Vec<u8>,
    start: (i32, i32),
    at: (i32, i32),
}

impl Operators<'_> {
    fn line(&mut self) {
        put(self.out, format_args!("{} {} l\n", self.at.0, self.at.1));
    }
}

impl Path for Operators<'_> {
    fn begin(&mut self, dx: i32, dy: i32) {
        self.start = (self.start.0 + dx, self.start.1 + dy);
        self.at = self.start;
        put(self.out, format_args!("{} {} m\n", self.at.0, self.at.1));
    }

    fn horizontal(&mut self, dx: i32) {
        self.at.0 += dx;
        self.line();
    }

    fn vertical(&mut self, dy: i32) {
        self.at.1 += dy;
        self.line();
    }

    /// Filling closes paths.
    fn close(&mut self) {}
}
