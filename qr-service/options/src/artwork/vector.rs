//! Shapes and logo as SVG.
//!
//! All modules are one path that is filled once, so no renderer leaves seams between them.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use qr_core::{Color, Svg};

use super::gradient::Gradient;
use super::{Artwork, LogoField, LogoPixels, reduced_size};
use crate::options::Gradient as Kind;
use crate::plan::LINE;

/// Writes an SVG with the shapes and the logo; everything else comes from `svg`.
pub(crate) fn write_svg(art: &Artwork<'_>, svg: &Svg<'_>) -> String {
    let mut out = String::new();
    let margin = svg.margin_modules;
    let (width, height) = (art.size() as f64 + 2.0 * f64::from(margin), svg.height(art.modules));
    let is_cut_out = art.look.is_cut_out;
    // The background of a picture with holes is a part of the path.
    let light = if is_cut_out { Color::TRANSPARENT } else { svg.light };
    svg.light(light).write_head(art.modules, &mut out);
    if let Some(frame) = art.look.frame {
        put(&mut out, format_args!("<path fill-rule=\"evenodd\"{} d=\"", Fill(svg.dark)));
        put_rectangle(&mut out, (0.0, 0.0), (width, height), [frame.radius(); 4]);
        let (line, hole) = (f64::from(LINE), width - 2.0 * f64::from(LINE));
        put_rectangle(&mut out, (line, line), (hole, hole), [0.0; 4]);
        out.push_str("\"/>");
    }
    let gradient = art.gradient.as_ref().map(|gradient| put_gradient(&mut out, gradient));
    put(&mut out, format_args!("<g transform=\"translate({margin} {margin})\""));
    let solid = Fill(if is_cut_out { svg.light } else { svg.dark });
    let fill = gradient.map_or(solid.to_string(), |name| format!(" fill=\"url(#{name})\""));
    out.push_str(&fill);
    out.push_str("><path fill-rule=\"evenodd\" d=\"");
    if is_cut_out {
        let edge = -f64::from(margin);
        put_rectangle(&mut out, (edge, edge), (width, height), [0.0; 4]);
    }
    art.each_module(|at, size, radii| put_rectangle(&mut out, at, size, radii));
    // Those with a colour of their own come last, because each begins a path.
    for index in art.by_color() {
        if let Some(color) = art.look.finders[index].color {
            put(&mut out, format_args!("\"/><path fill-rule=\"evenodd\"{} d=\"", Fill(color.0)));
        }
        art.each_ring(index, |at, size, radii| put_rectangle(&mut out, at, size, radii));
    }
    out.push_str("\"/></g>");
    if let Some((place, pixels)) = &art.logo {
        put_logo(&mut out, place, *pixels, margin);
    }
    let on_frame = art.look.frame.map(|_| art.caption_on_frame());
    svg.dark(on_frame.unwrap_or(svg.dark)).write_tail(art.modules, &mut out);
    out
}

/// Defines a gradient. Returns its name, which only equal gradients have, because a page may contain several pictures.
fn put_gradient(out: &mut String, gradient: &Gradient) -> String {
    let Gradient { kind, from, to, ends: [(x1, y1), (x2, y2)] } = gradient;
    let place = match kind {
        Kind::Linear => format!("x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\""),
        Kind::Radial => format!("cx=\"{x1:.2}\" cy=\"{y1:.2}\" r=\"{:.2}\"", gradient.length()),
    };
    let tag = format!("{}Gradient", kind.as_str());
    let name = format!("{tag}{from}{to}{x1:.2}_{y1:.2}").replace(['#', '.', '-'], "_");
    put(
        out,
        format_args!(
            "<{tag} id=\"{name}\" gradientUnits=\"userSpaceOnUse\" {place}>\
             <stop stop-color=\"{from}\"/><stop offset=\"1\" stop-color=\"{to}\"/></{tag}>"
        ),
    );
    name
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

/// Writes a rectangle with these radii at its corners: top left, top right, bottom right, bottom left.
fn put_rectangle(
    out: &mut String,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    [top_left, top_right, bottom_right, bottom_left]: [f64; 4],
) {
    let corner = |out: &mut String, radius: f64, dx: f64, dy: f64| {
        if radius > 0.0 {
            let (r, dx, dy) = (Short(radius), Short(dx * radius), Short(dy * radius));
            put(out, format_args!("a{r} {r} 0 0 1 {dx} {dy}"));
        }
    };
    put(out, format_args!("M{} {}", Short(x + top_left), Short(y)));
    put(out, format_args!("h{}", Short(width - top_left - top_right)));
    corner(out, top_right, 1.0, 1.0);
    put(out, format_args!("v{}", Short(height - top_right - bottom_right)));
    corner(out, bottom_right, -1.0, 1.0);
    put(out, format_args!("h{}", Short(bottom_right + bottom_left - width)));
    corner(out, bottom_left, -1.0, -1.0);
    put(out, format_args!("v{}", Short(bottom_left + top_left - height)));
    corner(out, top_left, 1.0, -1.0);
    out.push('z');
}

/// Embeds the logo as a PNG of its pixels only, so no metadata of the client's file is passed on.
fn put_logo(out: &mut String, place: &LogoField, pixels: &dyn LogoPixels, margin: u32) {
    let side = Short(place.picture);
    let middle = place.start as f64 + place.side as f64 / 2.0 + f64::from(margin);
    let at = middle - place.picture / 2.0;
    if let Some(areas) = pixels.areas() {
        for (is_black, corners) in areas {
            let color = if *is_black { Color::BLACK } else { Color::WHITE };
            put(out, format_args!("<path{} d=\"", Fill(color)));
            for (index, (x, y)) in corners.iter().enumerate() {
                let (x, y) = (at + x * place.picture, at + y * place.picture);
                put(out, format_args!("{}{x:.3} {y:.3}", if index == 0 { 'M' } else { 'L' }));
            }
            out.push_str("z\"/>");
        }
        return;
    }
    let at = Short(at);
    let file = match reduced_size(pixels.size()) {
        Some((width, height)) => pixels.reduced(width, height).png(),
        None => pixels.png(),
    };
    put(out, format_args!("<image x=\"{at}\" y=\"{at}\" width=\"{side}\" height=\"{side}\""));
    // Programs for SVG 1.1, such as those of printers, know only this name, which SVG 2 keeps.
    out.push_str(
        " xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"data:image/png;base64,",
    );
    STANDARD.encode_string(&file, out);
    out.push_str("\"/>");
}

/// A colour as attributes. Renderers of SVG 1.1 do not know alpha in a colour.
struct Fill(Color);

impl std::fmt::Display for Fill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Color { red, green, blue, alpha } = self.0;
        write!(f, " fill=\"{}\"", Color::rgb(red, green, blue))?;
        match alpha {
            255 => Ok(()),
            alpha => write!(f, " fill-opacity=\"{:.3}\"", f64::from(alpha) / 255.0),
        }
    }
}

/// A number with up to two decimals, without superfluous zeros.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let sign = if hundredths < 0 { "-" } else { "" };
        let (whole, rest) = (hundredths.unsigned_abs() / 100, hundredths.unsigned_abs() % 100);
        match (whole, rest) {
            (whole, 0) => write!(f, "{sign}{whole}"),
            (0, rest) if rest % 10 == 0 => write!(f, "{sign}.{}", rest / 10),
            (0, rest) => write!(f, "{sign}.{rest:02}"),
            (whole, rest) if rest % 10 == 0 => write!(f, "{sign}{whole}.{}", rest / 10),
            (whole, rest) => write!(f, "{sign}{whole}.{rest:02}"),
        }
    }
}
