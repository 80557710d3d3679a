//! Shapes and logo as rows of pixels, with a whole number of pixels per module.
//!
//! Modules are copied from stencils, which are drawn once. A pixel of a stencil is as dark as the share of it that
//! the shape covers, estimated from the distance of its centre from the shape's edge.

use qr_core::Color;

use super::{Artwork, DOT, FINDER, LogoPixels, over};
use crate::options::Shape;

/// Number of steps from light to dark.
pub const STEPS: u8 = 15;

/// Draws rows of pixels of a symbol without its quiet zone.
pub struct Pixels<'a> {
    pub(super) art: &'a Artwork<'a>,
    /// Pixels per module.
    pub(super) scale: usize,
    /// Stencils of a module, indexed by the bits of its round corners; a single one for dots and squares.
    modules: Vec<Vec<u8>>,
    /// Stencils of the finder patterns. One with the shape of an earlier one is empty.
    finders: [Vec<u8>; 3],
    logo: Option<PlacedLogo<'a>>,
    /// The colours of the steps from light to dark.
    pub(super) palette: Vec<Color>,
    /// The same for each finder pattern that has its own colour.
    finder_palettes: [Option<Vec<Color>>; 3],
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
            stencil(scale, scale, |u, v| match art.look.shape {
                Shape::Square => -1.0,
                Shape::Dots => (u - 0.5).hypot(v - 0.5) - DOT / 2.0,
                Shape::Rounded => {
                    let corner = [[0, 1], [3, 2]][usize::from(v > 0.5)][usize::from(u > 0.5)];
                    let is_round = corners >> corner & 1 == 1;
                    if is_round { (u - 0.5).hypot(v - 0.5) - 0.5 } else { -1.0 }
                }
            })
        };
        let count = if art.look.shape == Shape::Rounded { 16 } else { 1 };
        let finder = |index: usize| {
            let [outer, ring, core] = art.finder_radii(index);
            stencil(FINDER * scale, scale, |u, v| {
                let (x, y) = ((u - 3.5).abs(), (v - 3.5).abs());
                let ring = rounded(x, y, (2.5, 2.5), ring);
                let outer = rounded(x, y, (3.5, 3.5), outer);
                rounded(x, y, (1.5, 1.5), core).min(outer.max(-ring))
            })
        };
        let finders =
            [0, 1, 2].map(|it| if art.same_shape(it) == it { finder(it) } else { vec![] });
        let (light, dark) = (art.colors.light, art.colors.dark);
        let palette = |dark: Color| (0..=STEPS).map(|step| between(light, dark, step)).collect();
        Pixels {
            art,
            scale,
            modules: (0..count).map(module).collect(),
            finders,
            logo: PlacedLogo::new(art, scale),
            palette: palette(dark),
            finder_palettes: art.look.finders.map(|finder| finder.color.map(|ink| palette(ink.0))),
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
            let stencil = match art.look.shape {
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
        for (index, (left, top)) in art.finder_corners().into_iter().enumerate() {
            if (top..top + FINDER).contains(&line) {
                let at = (y - top * scale) * wide;
                let stencil = &self.finders[art.same_shape(index)][at..at + wide];
                row[left * scale..][..wide].copy_from_slice(stencil);
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
        let module = |pixel: usize| (pixel as f64 + 0.5) / self.scale as f64;
        for (x, (color, step)) in colors.iter_mut().zip(&*steps).enumerate() {
            *color = match &self.art.gradient {
                Some(gradient) if *step > 0 => {
                    between(self.palette[0], gradient.color_at(module(x), module(y)), *step)
                }
                _ => self.palette[usize::from(*step)],
            };
        }
        self.color_finders(y, steps, colors);
        self.add_logo(y, colors);
    }

    /// Gives the finder patterns of row `y` their own colours, if they have some.
    fn color_finders(&self, y: usize, steps: &[u8], colors: &mut [Color]) {
        let wide = FINDER * self.scale;
        let palettes = self.finder_palettes.iter();
        for ((left, top), palette) in self.art.finder_corners().into_iter().zip(palettes) {
            if let Some(palette) = palette
                && (top..top + FINDER).contains(&(y / self.scale))
            {
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

/// Distance of a point from the edge of a rectangle around the origin with rounded corners. `half` is half of its width
/// and height; `x` and `y` are the absolute values of the point's coordinates.
pub(super) fn rounded(x: f64, y: f64, half: (f64, f64), radius: f64) -> f64 {
    let (x, y) = (x - half.0 + radius, y - half.1 + radius);
    x.max(0.0).hypot(y.max(0.0)) + x.max(y).min(0.0) - radius
}

/// The colour at a step from light to dark, 0 to [`STEPS`].
pub fn between(light: Color, dark: Color, step: u8) -> Color {
    // Next to a transparent colour only the opacity changes; its own red, green and blue would be an edge.
    let (light, dark) = match (light.alpha, dark.alpha) {
        (0, _) => (Color { alpha: 0, ..dark }, dark),
        (_, 0) => (light, Color { alpha: 0, ..light }),
        _ => (light, dark),
    };
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
