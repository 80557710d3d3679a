//! SVG 1.1.

use std::fmt::Write;

use super::line::Line;
use super::outline::{Path, trace};
use crate::color::Color;
use crate::helvetica::Helvetica;
use crate::modules::Modules;

/// How to draw an SVG.
#[doc = example!(symbol:
    let mut svg = String::new();
    let dark = Color::rgb(0, 51, 102);
    write_svg(&symbol, &Svg::default().dark(dark).light(Color::TRANSPARENT), &mut svg);
    assert!(svg.contains("#036") && svg.len() > 500);
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Svg<'a> {
    /// Width of the quiet zone, in modules.
    pub margin_modules: u32,
    /// Width of the picture in CSS pixels; the height follows. With `None` the page scales the picture to
    /// the room it has.
    pub size_px: Option<u32>,
    /// The dark modules.
    pub dark: Color,
    /// The background. It is not drawn if it is transparent.
    pub light: Color,
    /// The title, which screen readers read out and browsers show as a tooltip.
    pub title: Option<&'a str>,
    /// A line of text below the quiet zone, in the dark colour. A long line gets a smaller font size.
    pub caption: Option<&'a str>,
}

impl Default for Svg<'_> {
    /// Black on white without size and title, with the standard's quiet zone of 4 modules.
    fn default() -> Self {
        let (dark, light) = (Color::BLACK, Color::WHITE);
        Svg { margin_modules: 4, size_px: None, dark, light, title: None, caption: None }
    }
}

/// Appends an SVG document to `out`; its user unit is one module.
#[doc = example!(
    let symbol = encode("https://example.com/", Level::M)?;
    let mut svg = String::new();
    write_svg(&symbol, &Svg::default().title("example.com"), &mut svg);
    assert!(svg.contains(r#"viewBox="0 0 33 33""#));
)]
pub fn write_svg<'a>(modules: impl Into<Modules<'a>>, svg: &Svg<'_>, out: &mut String) {
    let modules = modules.into();
    // Enough for most symbols.
    out.reserve(256 + modules.width() * modules.height() * 2);
    svg.write_head(modules, out);
    out.push_str("<path");
    if svg.dark != Color::BLACK {
        put_fill(out, svg.dark);
    }
    out.push_str(" d=\"");
    trace(modules, &mut Data { out, offset: Some(i64::from(svg.margin_modules)) });
    out.push_str("\"/>");
    svg.write_tail(modules, out);
}

impl<'a> Svg<'a> {
    setters! {
        margin_modules: u32 = "Svg::default().margin_modules(2)",
        size_px: impl Into<Option<u32>> = "Svg::default().size_px(300)",
        dark: Color = "Svg::default().dark(Color::rgb(0, 51, 102))",
        light: Color = "Svg::default().light(Color::TRANSPARENT)",
        title: impl Into<Option<&'a str>> = "Svg::default().title(\"Our menu\")",
        caption: impl Into<Option<&'a str>> = "Svg::default().caption(\"Our menu\")",
    }

    /// Appends everything before the dark modules: the start of the `svg` element, the title and the background. It is
    /// for programs that draw the modules themselves; [`write_tail`](Self::write_tail) ends the document.
    ///
    /// ```
    /// use qr_core::{Level, Svg, encode};
    ///
    /// let symbol = encode("https://example.com/", Level::M)?;
    /// let mut svg = String::new();
    /// Svg::default().write_head(&symbol, &mut svg);
    /// svg.push_str("<!-- 25 modules after a margin of 4 -->");
    /// assert!(svg.contains(r#"viewBox="0 0 33 33""#));
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn write_head<'m>(&self, modules: impl Into<Modules<'m>>, out: &mut String) {
        let modules = modules.into();
        let width = modules.width() as u64 + 2 * u64::from(self.margin_modules);
        let height = self.height(modules);
        out.push_str("<svg xmlns=\"http://www.w3.org/2000/svg\"");
        if let Some(size_px) = self.size_px {
            let height_px = f64::from(size_px) * height / width as f64;
            put(out, format_args!(" width=\"{size_px}\" height=\"{height_px}\""));
        }
        put(out, format_args!(" viewBox=\"0 0 {width} {height}\" role=\"img\">"));
        if let Some(title) = self.title {
            out.push_str("<title>");
            put_escaped(out, title);
            out.push_str("</title>");
        }
        if self.light.alpha > 0 {
            out.push_str("<path");
            put_fill(out, self.light);
            put(out, format_args!(" d=\"M0 0h{width}v{height}H0z\"/>"));
        }
    }
}

impl Svg<'_> {
    /// The height of the picture in modules, with the caption.
    ///
    /// ```
    /// use qr_core::{Level, Svg, encode};
    ///
    /// assert_eq!(Svg::default().height(&encode("text", Level::M)?), 29.0);
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn height<'m>(&self, modules: impl Into<Modules<'m>>) -> f64 {
        let modules = modules.into();
        let below = self.line(&modules).map_or(0.0, |(_, line)| line.height);
        (modules.height() as u64 + 2 * u64::from(self.margin_modules)) as f64 + below
    }

    /// Appends everything after the dark modules: the caption, and the end of the document.
    #[doc = example!(
        let mut svg = String::new();
        Svg::default().caption("Our menu").write_tail(&encode("text", Level::M)?, &mut svg);
        assert!(svg.ends_with(">Our menu</text></svg>\n"));
    )]
    pub fn write_tail<'m>(&self, modules: impl Into<Modules<'m>>, out: &mut String) {
        let modules = modules.into();
        if let Some((caption, Line { size, base, .. })) = self.line(&modules) {
            let middle = modules.width() as f64 / 2.0 + f64::from(self.margin_modules);
            put(out, format_args!("<text x=\"{middle}\" y=\"{base:.3}\" font-size=\"{size:.3}\""));
            out.push_str(" text-anchor=\"middle\" font-family=\"Helvetica,Arial,sans-serif\"");
            put_fill(out, self.dark);
            out.push('>');
            put_escaped(out, caption);
            out.push_str("</text>");
        }
        out.push_str("</svg>\n");
    }

    /// The caption and its place.
    fn line(&self, modules: &Modules<'_>) -> Option<(&str, Line)> {
        let caption = self.caption?;
        Some((caption, Line::new(Helvetica::width_em(caption), modules, self.margin_modules)))
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn put_fill(out: &mut String, color: Color) {
    let Color { red, green, blue, alpha } = color;
    // Three digits if both digits of each channel are equal.
    if [red, green, blue].iter().all(|c| c % 17 == 0) {
        put(out, format_args!(" fill=\"#{:x}{:x}{:x}\"", red / 17, green / 17, blue / 17));
    } else {
        put(out, format_args!(" fill=\"{}\"", Color::rgb(red, green, blue)));
    }
    // Renderers of SVG 1.1 do not know alpha in a colour.
    if alpha < 255 {
        put(out, format_args!(" fill-opacity=\"{:.3}\"", f64::from(alpha) / 255.0));
    }
}

/// Escapes markup, and replaces characters that XML 1.0 cannot represent.
fn put_escaped(out: &mut String, text: &str) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            '\t' | '\n' => out.push(char),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(char),
        }
    }
}

/// Path data in relative commands.
struct Data<'a> {
    out: &'a mut String,
    /// The margin, until the first path has begun.
    offset: Option<i64>,
}

impl Data<'_> {
    fn number(&mut self, value: i64) {
        if value < 0 {
            self.out.push('-');
        }
        let value = value.unsigned_abs();
        // Nearly all numbers are short, and `format_args!` would take most of the time.
        match value {
            0..=9 => self.out.push(char::from(b'0' + value as u8)),
            10..=99 => {
                self.out.push(char::from(b'0' + (value / 10) as u8));
                self.out.push(char::from(b'0' + (value % 10) as u8));
            }
            _ => put(self.out, format_args!("{value}")),
        }
    }
}

impl Path for Data<'_> {
    fn begin(&mut self, dx: i32, dy: i32) {
        let offset = self.offset.take();
        self.out.push(if offset.is_some() { 'M' } else { 'm' });
        let (dx, dy) = (i64::from(dx) + offset.unwrap_or(0), i64::from(dy) + offset.unwrap_or(0));
        self.number(dx);
        if dy >= 0 {
            self.out.push(' ');
        }
        self.number(dy);
    }

    fn horizontal(&mut self, dx: i32) {
        self.out.push('h');
        self.number(i64::from(dx));
    }

    fn vertical(&mut self, dy: i32) {
        self.out.push('v');
        self.number(i64::from(dy));
    }

    fn close(&mut self) {
        self.out.push('z');
    }
}
