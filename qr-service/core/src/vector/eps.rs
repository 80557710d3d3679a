//! Encapsulated PostScript 3.0 (Adobe Technical Note 5002).

use std::fmt::Write;

use super::outline::{Path, trace};
use super::print::{Decimal, Overlay, Page, Print, Step};
use crate::error::Error;
use crate::modules::Modules;

/// The longest line, in characters; the conventions for document structure allow 255.
const MAX_LINE: usize = 255;

/// Appends an EPS document to `out`.
#[doc = example!(
    let symbol = encode("https://example.com/", Level::M)?;
    let mut eps = String::new();
    write_eps(&symbol, &Print::default().width_mm(25.4), &mut eps)?;
    assert!(eps.contains("%%BoundingBox: 0 0 72 72\n"));
)]
///
/// # Errors
/// [`Error::Width`], [`Error::Margin`], or [`Error::Character`] of the caption; `out` is then unchanged.
pub fn write_eps<'a>(
    modules: impl Into<Modules<'a>>,
    print: &Print<'_>,
    out: &mut String,
) -> Result<(), Error> {
    let modules = modules.into();
    let page = print.page(&modules)?;
    let (width, height) = (Decimal(page.width), Decimal(page.height));
    // The box in whole points must contain the sizes as `Decimal` writes them.
    let whole = |length: f64| (length - 0.00005).ceil();
    let (whole_width, whole_height) = (whole(page.width), whole(page.height));
    let (left, top, module) = (Decimal(page.left), Decimal(page.top), page.module);
    let dark = print.dark.operator(FILL);
    // The filter that decompresses a picture is of level 3.
    let level =
        if print.overlays.iter().any(|it| matches!(it, Overlay::Picture { .. })) { 3 } else { 2 };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "%!PS-Adobe-3.0 EPSF-3.0\n\
         %%BoundingBox: 0 0 {whole_width} {whole_height}\n\
         %%HiResBoundingBox: 0 0 {width} {height}\n\
         %%LanguageLevel: {level}\n\
         %%EndComments\n\
         save 4 dict begin\n\
         /m{{rmoveto}}bind def/h{{0 rlineto}}bind def/v{{0 exch rlineto}}bind def\
         /z{{closepath}}bind def\n\
         {background}{left} {top} translate {module:.6} -{module:.6} scale\n\
         {dark} 0 0 moveto\n",
        background = background(print, &page),
    );
    match print.outline {
        Some(outline) => fill(outline, out),
        None => {
            trace(modules, &mut Operators { line_start: out.len(), out });
            out.push_str("\nfill");
        }
    }
    print.overlays.iter().for_each(|overlay| put_overlay(overlay, out));
    if let Some(caption) = &page.caption {
        let (size, x, y) = (Decimal(caption.size), Decimal(caption.at.0), Decimal(caption.at.1));
        let color = print.caption_color.unwrap_or(print.dark).operator(FILL);
        let _ = write!(out, "\n{FONT}{color} {x} {y} moveto 1 -1 scale /F {size} selectfont\n<");
        for line in caption.hex.as_bytes().chunks(MAX_LINE - 1) {
            out.extend(line.iter().map(|digit| char::from(*digit)));
            out.push('\n');
        }
        out.push_str("> show");
    }
    out.push_str(" end restore\n%%EOF\n");
    Ok(())
}

/// Defines F: Helvetica with the characters of Windows-1252.
const FONT: &str = "\
/Helvetica findfont dup length dict begin {1 index /FID ne {def} {pop pop} ifelse} forall
/Encoding ISOLatin1Encoding 256 array copy dup 39 /quotesingle put dup 45 /hyphen put dup 96 /grave put
dup 128 [/Euro /.notdef /quotesinglbase /florin /quotedblbase /ellipsis /dagger /daggerdbl /circumflex /perthousand
/Scaron /guilsinglleft /OE /.notdef /Zcaron /.notdef /.notdef /quoteleft /quoteright /quotedblleft /quotedblright
/bullet /endash /emdash /tilde /trademark /scaron /guilsinglright /oe /.notdef /zcaron /Ydieresis] putinterval def
currentdict end /F exch definefont pop
";

/// The operators that set the colour of areas, in CMYK and in RGB.
const FILL: [&str; 2] = ["setcmykcolor", "setrgbcolor"];

fn background(print: &Print<'_>, page: &Page) -> String {
    let (width, height) = (Decimal(page.width), Decimal(page.height));
    let light = print.light.map(|light| light.operator(FILL));
    light.map_or(String::new(), |light| format!("{light} 0 0 {width} {height} rectfill\n"))
}

fn put_overlay(overlay: &Overlay<'_>, out: &mut String) {
    match overlay {
        Overlay::Area { color, outline } => {
            out.push('\n');
            out.push_str(&color.operator(FILL));
            fill(outline, out);
        }
        Overlay::Picture { at, size, .. } => {
            let Some(((wide, high), compressed)) = overlay.compressed() else { return };
            // In the unit square of a picture, y goes up.
            let (x, y) = (Decimal(at.0), Decimal(at.1 + size.1));
            let (width, height) = (Decimal(size.0), Decimal(size.1));
            let _ = write!(
                out,
                "\ngsave {x} {y} translate {width} -{height} scale /DeviceRGB setcolorspace\n\
                 <</ImageType 1/Width {wide}/Height {high}/BitsPerComponent 8/Decode[0 1 0 1 0 1]\n\
                 /ImageMatrix[{wide} 0 0 -{high} 0 {high}]\
                 /DataSource currentfile/ASCIIHexDecode filter/FlateDecode filter>>image\n"
            );
            for line in compressed.chunks(MAX_LINE / 2) {
                line.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
                out.push('\n');
            }
            out.push_str(">\ngrestore");
        }
    }
}

/// Fills an outline.
fn fill(outline: &[Step], out: &mut String) {
    for step in outline {
        let (numbers, operator) = step.written(["moveto", "lineto", "curveto"]);
        let _ = write!(out, "\n{numbers}{operator}");
    }
    out.push_str(" eofill");
}

/// Writes the outline in the operators defined above. After `closepath` the current point is the beginning
/// of the path, and the next path is relative to it.
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
