//! Shapes and logo as rows of pixels, with a whole number of pixels per module.
//!
//! Modules are copied from stencils, which are drawn once. A pixel of a stencil is as dark as the share of it that
//! the shape covers, estimated from the distance of its centre from the shape's edge.

use qr_core::Color;

use super::{Artwork, DOT, FINDER, LogoPixels, over};
use crate::options::Shape;

/// Number of steps from light to dark.
pub(super) const STEPS: u8 = 15;

/// Draws rows of pixels of a symbol without its quiet zone.
pub struct Pixels<'a> {
    art: &'a Artwork<'a>,
    /// Pixels per module.
    scale: usize,
    /// Stencils of a module, indexed by the bits of its round corners; a single one for dots and squares.
    modules: Vec<Vec<u8>>,
    finder: Vec<u8>,
    logo: Option<PlacedLogo<'a>>,
    /// The colours of the steps from light to dark.
    pub(super) palette: Vec<Color>,
    /// The same for the finder patterns, if they have their own colour.
    finder_palette: Option<Vec<Color>>,
}

/// A logo with at most as many pixels as are drawn, and its position.
struct PlacedLogo<'a> {
    pixels: &'a dyn LogoPixels,
    /// Replaces `pixels` if those are more than are drawn.
    reduced: Option<Box<dyn LogoPixels>>,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl<'a> Pixels<'a> {
    /// Prepares to draw with `scale` pixels per module, at least 1.
    pub fn new(art: &'a Artwork<'a>, scale: usize) -> Self {
        let module = |corners: usize| {
            stencil(scale, scale, |u, v| match art.shape {
                Shape::Square => -1.0,
                Shape::Dots => (u - 0.5).hypot(v - 0.5) - DOT / 2.0,
                Shape::Rounded => {
                    let corner = [[0, 1], [3, 2]][usize::from(v > 0.5)][usize::from(u > 0.5)];
                    let is_round = corners >> corner & 1 == 1;
                    if is_round { (u - 0.5).hypot(v - 0.5) - 0.5 } else { -1.0 }
                }
            })
        };
        let count = if art.shape == Shape::Rounded { 16 } else { 1 };
        let [outer, ring, core] = art.finder_radii();
        let finder = stencil(FINDER * scale, scale, |u, v| {
            let (x, y) = ((u - 3.5).abs(), (v - 3.5).abs());
            let ring = rounded(x, y, 2.5, ring);
            rounded(x, y, 1.5, core).min(rounded(x, y, 3.5, outer).max(-ring))
        });
        let (light, dark) = (art.colors.light, art.colors.dark);
        let palette = |dark: Color| (0..=STEPS).map(|step| between(light, dark, step)).collect();
        Pixels {
            art,
            scale,
            modules: (0..count).map(module).collect(),
            finder,
            logo: PlacedLogo::new(art, scale),
            palette: palette(dark),
            finder_palette: art.finder_color.map(palette),
        }
    }

    /// Pixels a side.
    pub fn side(&self) -> usize {
        self.art.size() * self.scale
    }

    /// Writes row `y` as steps from light to dark, without the logo.
    pub fn write_steps(&self, y: usize, row: &mut [u8]) {
        let (scale, art) = (self.scale, self.art);
        row.fill(0);
        let (line, sub) = (y / scale, y % scale);
        for x in (0..art.size()).filter(|x| art.is_dark(*x, line)) {
            let stencil = match art.shape {
                Shape::Rounded => {
                    let corners = art.round_corners(x, line);
                    let bits =
                        corners.iter().rev().fold(0, |bits, it| bits << 1 | usize::from(*it));
                    &self.modules[bits]
                }
                _ => &self.modules[0],
            };
            row[x * scale..][..scale].copy_from_slice(&stencil[sub * scale..][..scale]);
        }
        let wide = FINDER * scale;
        for (left, top) in art.finder_corners() {
            if (top..top + FINDER).contains(&line) {
                let at = (y - top * scale) * wide;
                row[left * scale..][..wide].copy_from_slice(&self.finder[at..at + wide]);
            }
        }
    }

    /// Draws the logo over `colors`, the colours of row `y`.
    pub fn add_logo(&self, y: usize, colors: &mut [Color]) {
        let Some(logo) = &self.logo else { return };
        let Some(row) = y.checked_sub(logo.top).filter(|row| *row < logo.height) else { return };
        let pixels = logo.reduced.as_deref().unwrap_or(logo.pixels);
        let v = (row as f32 + 0.5) / logo.height as f32;
        for (x, color) in colors[logo.left..][..logo.width].iter_mut().enumerate() {
            let u = (x as f32 + 0.5) / logo.width as f32;
            if let Some(of_logo) = pixels.color_at(u, v) {
                *color = over(of_logo, *color);
            }
        }
    }

    /// Writes row `y` with the logo. `steps` is a buffer of the same length.
    pub fn write_colors(&self, y: usize, steps: &mut [u8], colors: &mut [Color]) {
        self.write_steps(y, steps);
        for (color, step) in colors.iter_mut().zip(&*steps) {
            *color = self.palette[usize::from(*step)];
        }
        self.color_finders(y, steps, colors);
        self.add_logo(y, colors);
    }

    /// Gives the finder patterns of row `y` their own colour, if they have one.
    fn color_finders(&self, y: usize, steps: &[u8], colors: &mut [Color]) {
        let Some(palette) = &self.finder_palette else { return };
        let wide = FINDER * self.scale;
        for (left, top) in self.art.finder_corners() {
            if (top..top + FINDER).contains(&(y / self.scale)) {
                let range = left * self.scale..left * self.scale + wide;
                for (color, step) in colors[range.clone()].iter_mut().zip(&steps[range]) {
                    *color = palette[usize::from(*step)];
                }
            }
        }
    }
}

impl<'a> PlacedLogo<'a> {
    fn new(art: &Artwork<'a>, scale: usize) -> Option<Self> {
        let (place, pixels) = art.logo?;
        let room = (place.picture * scale as f64).round() as usize;
        let (width, height) = pixels.size();
        let (width, height) = (width as usize, height as usize);
        let longer = width.max(height).max(1);
        let fit = |length: usize| (length * room / longer).max(1);
        let (wide, high) = (fit(width), fit(height));
        let reduced = (wide < width).then(|| pixels.reduced(wide as u32, high as u32));
        let centre = |length: usize| (2 * place.start + place.side) * scale / 2 - length / 2;
        let (left, top) = (centre(wide), centre(high));
        Some(PlacedLogo { pixels, reduced, left, top, width: wide, height: high })
    }
}

/// The steps from light to dark in a square of `side` pixels, with `scale` pixels per module. `distance` is the
/// distance of a point from the shape's edge, negative inside.
fn stencil(side: usize, scale: usize, distance: impl Fn(f64, f64) -> f64) -> Vec<u8> {
    let centre = |pixel: usize| (pixel as f64 + 0.5) / scale as f64;
    let step = |i: usize| {
        let distance = distance(centre(i % side), centre(i / side)) * scale as f64;
        ((0.5 - distance).clamp(0.0, 1.0) * f64::from(STEPS)).round() as u8
    };
    (0..side * side).map(step).collect()
}

/// Distance of a point from the edge of a square around the origin with rounded corners. `half` is half of the
/// square's side; `x` and `y` are the absolute values of the point's coordinates.
fn rounded(x: f64, y: f64, half: f64, radius: f64) -> f64 {
    let (x, y) = (x - half + radius, y - half + radius);
    x.max(0.0).hypot(y.max(0.0)) + x.max(y).min(0.0) - radius
}

fn between(light: Color, dark: Color, step: u8) -> Color {
    let mix = |light: u8, dark: u8| {
        let sum = u32::from(light) * u32::from(STEPS - step) + u32::from(dark) * u32::from(step);
        ((sum + u32::from(STEPS) / 2) / u32::from(STEPS)) as u8
    };
    Color {
        red: mix(light.red, dark.red),
        green: mix(light.green, dark.green),
        blue: mix(light.blue, dark.blue),
        alpha: mix(light.alpha, dark.alpha),
    }
}
