//! Logos in PDF and EPS.

use qr_core::{Color, Overlay, Print, PrintColor};

use super::{Artwork, LogoPixels, over};
use crate::options::Ink;
use crate::plan::Inks;

/// The paper.
const WHITE: PrintColor = PrintColor::Cmyk([0; 4]);
/// The most pixels a side of a logo in print: 600 dpi at a width of 20 mm.
const MAX_SIDE: u32 = 512;

/// The colour as the printer gets it.
fn print_color(Ink(color, inks): Ink) -> PrintColor {
    inks.map_or(PrintColor::Rgb([color.red, color.green, color.blue]), PrintColor::Cmyk)
}

/// Gives `write` how to print a symbol, with the logo over it.
pub(crate) fn with_overlays<T>(
    art: Option<&Artwork<'_>>,
    inks: Inks,
    print: Print<'_>,
    write: impl FnOnce(&Print<'_>) -> T,
) -> T {
    let light = inks.light.map(print_color);
    let dark = inks.dark.map_or(PrintColor::BLACK, print_color);
    let print = print.dark(dark).light(light);
    let Some((place, pixels)) = art.and_then(|art| art.logo) else { return write(&print) };
    let color = light.unwrap_or(WHITE);
    let (start, end) = (place.start as f64, (place.start + place.side) as f64);
    let field = [(start, start), (end, start), (end, end), (start, end)];
    let middle = (start + end) / 2.0;
    let field = Overlay::Area { color, corners: &field };
    if let Some(areas) = pixels.areas() {
        let left = middle - place.picture / 2.0;
        let placed = |(x, y): &(f64, f64)| (left + x * place.picture, left + y * place.picture);
        let areas: Vec<(bool, Vec<(f64, f64)>)> = areas
            .iter()
            .map(|(is_black, at)| (*is_black, at.iter().map(placed).collect()))
            .collect();
        let area = |(is_black, corners): &'_ (bool, Vec<(f64, f64)>)| {
            (if *is_black { PrintColor::BLACK } else { WHITE }, corners.clone())
        };
        let areas: Vec<_> = areas.iter().map(area).collect();
        let mut overlays = vec![field];
        overlays
            .extend(areas.iter().map(|(color, corners)| Overlay::Area { color: *color, corners }));
        return write(&print.overlays(&overlays));
    }
    let (wide, high) = pixels.size();
    let longer = wide.max(high).max(1);
    let fit = |length: u32| {
        (u64::from(length) * u64::from(MAX_SIDE.min(longer)) / u64::from(longer)).max(1)
    };
    let (columns, rows) = (fit(wide) as u32, fit(high) as u32);
    let reduced = (longer > MAX_SIDE).then(|| pixels.reduced(columns, rows));
    // It is opaque.
    let below = inks.seen().light;
    let rgb = rgb_of(reduced.as_deref().unwrap_or(pixels), (columns, rows), below);
    let module = |length: u32| place.picture * f64::from(length) / f64::from(longer);
    let size = (module(wide), module(high));
    let at = (middle - size.0 / 2.0, middle - size.1 / 2.0);
    let picture = Overlay::Picture { at, size, pixels: (columns, rows), rgb: &rgb };
    write(&print.overlays(&[field, picture]))
}

/// Red, green and blue of each pixel over the page.
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
