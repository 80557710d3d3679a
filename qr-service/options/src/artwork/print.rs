//! Shapes and logos in PDF and EPS.

use qr_core::{Color, Overlay, Print, PrintColor, Step, Svg};

use super::{Artwork, LogoField, LogoPixels, over, reduced_size};
use crate::options::Ink;
use crate::plan::{Inks, LINE};

/// White, without ink.
const WHITE: PrintColor = PrintColor::Cmyk([0; 4]);
/// Distance of a Bézier curve's control points from the ends of a quarter of a circle, in radii.
const ROUND: f64 = 0.5523;

/// The colour to print.
fn print_color(Ink(color, inks): Ink) -> PrintColor {
    inks.map_or(PrintColor::Rgb([color.red, color.green, color.blue]), PrintColor::Cmyk)
}

/// Calls `write` with `print` extended by the colours, the shapes of the symbol, and the logo over it.
pub(crate) fn with_overlays<T>(
    art: Option<&Artwork<'_>>,
    inks: Inks,
    print: Print<'_>,
    write: impl FnOnce(&Print<'_>) -> T,
) -> T {
    let light = inks.light.map(print_color);
    let print = print.dark(inks.dark.map_or(PrintColor::BLACK, print_color)).light(light);
    let Some(art) = art else { return write(&print) };
    let margin = f64::from(print.margin_modules);
    let width = art.size() as f64 + 2.0 * margin;
    // An SVG with the same caption has the same height.
    let svg = Svg::default().margin_modules(print.margin_modules).caption(print.caption);
    let height = svg.height(art.modules);
    let mut shapes = Vec::new();
    let mut areas: Vec<(PrintColor, Vec<Step>)> = Vec::new();
    let mut print = print;
    if art.look.is_cut_out {
        // The light modules are drawn instead of a background.
        add_rectangle(&mut shapes, (-margin, -margin), (width, height), [0.0; 4]);
        print = print.dark(light.unwrap_or(WHITE)).light(None);
    }
    if art.has_outline() {
        art.each_module(|at, size, radii| add_rectangle(&mut shapes, at, size, radii));
    }
    for index in (0..3).filter(|_| art.has_outline()) {
        let mut rings = Vec::new();
        art.each_ring(index, |at, size, radii| add_rectangle(&mut rings, at, size, radii));
        match art.look.finders[index].color {
            Some(color) => areas.push((print_color(color), rings)),
            None => shapes.append(&mut rings),
        }
    }
    if let Some(frame) = art.look.frame {
        let mut edge = Vec::new();
        add_rectangle(&mut edge, (-margin, -margin), (width, height), [frame.radius(); 4]);
        let (line, hole) = (f64::from(LINE), width - 2.0 * f64::from(LINE));
        add_rectangle(&mut edge, (line - margin, line - margin), (hole, hole), [0.0; 4]);
        areas.push((print.dark, edge));
        print = print.caption_color(light.unwrap_or(WHITE));
    }
    let shading = art.gradient.map(|gradient| gradient.shading());
    print = print.shading(shading.as_deref());
    let mut picture = None;
    if let Some((place, pixels)) = art.logo {
        let field = place.start as f64;
        let mut outline = Vec::new();
        add_rectangle(
            &mut outline,
            (field, field),
            (place.side as f64, place.side as f64),
            [0.0; 4],
        );
        areas.push((light.unwrap_or(WHITE), outline));
        match pixels.areas() {
            Some(drawn) => areas.extend(drawn.iter().map(|(is_black, corners)| {
                (if *is_black { PrintColor::BLACK } else { WHITE }, polygon(corners, &place))
            })),
            None => picture = Some(Picture::new(pixels, &place, art.caption_on_frame())),
        }
    }
    let overlays = areas.iter().map(|(color, outline)| Overlay::Area { color: *color, outline });
    let overlays: Vec<_> = overlays.chain(picture.as_ref().map(Picture::overlay)).collect();
    let outline = art.has_outline().then_some(&shapes[..]);
    write(&print.outline(outline).overlays(&overlays))
}

/// Adds a rectangle with these radii at its corners: top left, top right, bottom right, bottom left.
fn add_rectangle(
    outline: &mut Vec<Step>,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    radii: [f64; 4],
) {
    // Each corner, with the directions towards it and away from it.
    let corners = [
        ((x, y), (0.0, -1.0), (1.0, 0.0)),
        ((x + width, y), (1.0, 0.0), (0.0, 1.0)),
        ((x + width, y + height), (0.0, 1.0), (-1.0, 0.0)),
        ((x, y + height), (-1.0, 0.0), (0.0, -1.0)),
    ];
    for (index, ((corner, to, away), radius)) in corners.into_iter().zip(radii).enumerate() {
        let before = |far: f64| (corner.0 - to.0 * far, corner.1 - to.1 * far);
        let after = |far: f64| (corner.0 + away.0 * far, corner.1 + away.1 * far);
        let (from, rest) = (before(radius), radius * (1.0 - ROUND));
        outline.push(match index {
            0 => Step::Move(from.0, from.1),
            _ => Step::Line(from.0, from.1),
        });
        if radius > 0.0 {
            outline.push(Step::Curve([before(rest), after(rest), after(radius)]));
        }
    }
}

/// Moves a polygon from a square of side 1 to the logo's place.
fn polygon(corners: &[(f64, f64)], place: &LogoField) -> Vec<Step> {
    let left = place.start as f64 + (place.side as f64 - place.picture) / 2.0;
    let placed = |at: f64| left + at * place.picture;
    let step = |(index, (x, y)): (usize, &(f64, f64))| match index {
        0 => Step::Move(placed(*x), placed(*y)),
        _ => Step::Line(placed(*x), placed(*y)),
    };
    corners.iter().enumerate().map(step).collect()
}

/// A logo's pixels, reduced to the resolution of a printer.
struct Picture {
    at: (f64, f64),
    size: (f64, f64),
    pixels: (u32, u32),
    rgb: Vec<u8>,
}

impl Picture {
    /// The logo over the colour of the page, because pictures in print are opaque.
    fn new(pixels: &dyn LogoPixels, place: &LogoField, below: Color) -> Self {
        let (wide, high) = pixels.size();
        let longer = wide.max(high).max(1);
        let reduced = reduced_size((wide, high)).map(|(wide, high)| pixels.reduced(wide, high));
        let pixels = reduced.as_deref().unwrap_or(pixels);
        let (columns, rows) = pixels.size();
        let rgb = rgb_of(pixels, (columns, rows), below);
        let module = |length: u32| place.picture * f64::from(length) / f64::from(longer);
        let (size, middle) =
            ((module(wide), module(high)), place.start as f64 + place.side as f64 / 2.0);
        let at = (middle - size.0 / 2.0, middle - size.1 / 2.0);
        Picture { at, size, pixels: (columns, rows), rgb }
    }

    fn overlay(&self) -> Overlay<'_> {
        let Picture { at, size, pixels, rgb } = self;
        Overlay::Picture { at: *at, size: *size, pixels: *pixels, rgb }
    }
}

/// Red, green and blue of each pixel over the colour of the page.
fn rgb_of(pixels: &dyn LogoPixels, (columns, rows): (u32, u32), below: Color) -> Vec<u8> {
    let centre = |index: u32, count: u32| (index as f32 + 0.5) / count as f32;
    let mut rgb = Vec::with_capacity(3 * (columns * rows) as usize);
    for y in 0..rows {
        for x in 0..columns {
            let color = pixels.color_at(centre(x, columns), centre(y, rows));
            let color = over(color.unwrap_or(below), below);
            rgb.extend([color.red, color.green, color.blue]);
        }
    }
    rgb
}
