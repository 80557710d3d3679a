//! Distorts symbols as cameras, scanners and printers do.

use fastrand::Rng;
use image::codecs::jpeg::JpegEncoder;
use image::{GrayImage, ImageFormat};

use crate::v1::options::{Format, Kind, Options};
use crate::v1::plan::Plan;
use crate::v1::reader::GreyImage;
use crate::v1::symbol::{AnySymbol, encode};

pub(super) fn symbol(text: &str, kind: Kind) -> AnySymbol {
    let (text, kind) = (Some(text.to_owned()), Some(kind));
    let options = Options { text, kind, ..Options::default() };
    encode(&Plan::new(options, Format::Json).unwrap()).unwrap().symbol
}

/// How the picture shows symbols on a sheet. By default: upright, black on white, sharp, with four pixels per module.
#[derive(Clone, Debug)]
pub(super) struct Camera {
    /// Pixels per module.
    pub(super) scale: f64,
    /// In degrees: how far the sheet is turned, how far it is tilted, and the direction of the axis of the tilt.
    pub(super) turn: f64,
    pub(super) tilt: f64,
    pub(super) axis: f64,
    /// Whether the sheet is seen from behind.
    pub(super) is_mirrored: bool,
    /// Modules around each symbol.
    pub(super) margin: f64,
    /// Symbols per row.
    pub(super) columns: usize,
    /// The greys of the modules.
    pub(super) dark: f64,
    pub(super) light: f64,
    /// The grey around the sheet; `None` stands for a pattern of greys.
    pub(super) around: Option<f64>,
    /// The size of the picture in pixels; `None` stands for that of the sheet.
    pub(super) size: Option<(usize, usize)>,
    /// The share of the light that is missing at one side.
    pub(super) shade: f64,
    /// The blur of a lens out of focus, and of a moving hand, in pixels.
    pub(super) blur: f64,
    pub(super) motion: f64,
    /// Standard deviation of the greys.
    pub(super) noise: f64,
    /// How far the paper bends, as a share of its height.
    pub(super) bend: f64,
    /// The number of spots on the paper.
    pub(super) spots: usize,
    /// The quality of the JPEG, up to 100; with `None` the picture is not stored as JPEG.
    pub(super) jpeg: Option<u8>,
}

impl Default for Camera {
    fn default() -> Self {
        Camera {
            scale: 4.0,
            turn: 0.0,
            tilt: 0.0,
            axis: 0.0,
            is_mirrored: false,
            margin: 4.0,
            columns: 1,
            dark: 0.0,
            light: 255.0,
            around: Some(255.0),
            size: None,
            shade: 0.0,
            blur: 0.0,
            motion: 0.0,
            noise: 0.0,
            bend: 0.0,
            spots: 0,
            jpeg: None,
        }
    }
}

/// Symbols in cells of the same size, row by row.
struct Sheet<'a> {
    symbols: &'a [AnySymbol],
    columns: usize,
    margin: f64,
    /// The size of a cell, in modules.
    place: (f64, f64),
    /// For each spot: position and radius in modules, and grey.
    spots: Vec<(f64, f64, f64, f64)>,
}

impl Sheet<'_> {
    fn size(&self) -> (f64, f64) {
        let rows = self.symbols.len().div_ceil(self.columns);
        (self.columns as f64 * self.place.0, rows as f64 * self.place.1)
    }

    /// Returns the grey at a point, from 0, dark, to 1, light; `None` beside the sheet.
    fn grey(&self, x: f64, y: f64) -> Option<f64> {
        let (width, height) = self.size();
        if x < 0.0 || y < 0.0 || x >= width || y >= height {
            return None;
        }
        let spot = self.spots.iter().find(|spot| (spot.0 - x).hypot(spot.1 - y) < spot.2);
        if let Some((.., grey)) = spot {
            return Some(*grey);
        }
        let index = (y / self.place.1) as usize * self.columns + (x / self.place.0) as usize;
        let (x, y) = (x % self.place.0 - self.margin, y % self.place.1 - self.margin);
        let is_dark = self.symbols.get(index).is_some_and(|symbol| {
            let (x, y) = (x.floor() as usize, y.floor() as usize);
            x as f64 >= 0.0 && symbol.modules().is_dark(x, y)
        });
        Some(if is_dark && x >= 0.0 && y >= 0.0 { 0.0 } else { 1.0 })
    }
}

impl Camera {
    /// Takes a picture of the symbols.
    pub(super) fn shoot(&self, symbols: &[AnySymbol], random: &mut Rng) -> GreyImage {
        let most = |side: fn(&AnySymbol) -> usize| symbols.iter().map(side).max().unwrap() as f64;
        let margins = 2.0 * self.margin;
        let place = (
            most(|symbol| symbol.modules().width()) + margins,
            most(|symbol| symbol.modules().height()) + margins,
        );
        let columns = self.columns;
        let mut sheet = Sheet { symbols, columns, margin: self.margin, place, spots: Vec::new() };
        let (wide, high) = sheet.size();
        sheet.spots = (0..self.spots)
            .map(|_| {
                let radius = 0.5 + random.f64() * wide / 20.0;
                (random.f64() * wide, random.f64() * high, radius, random.f64())
            })
            .collect();
        let is_flat = self.tilt == 0.0 && self.turn.rem_euclid(90.0) == 0.0;
        let round = if is_flat { 1.0 } else { 1.15 * wide.hypot(high) / wide.max(high) };
        let side = (wide.max(high) * self.scale * round) as usize;
        let upright = ((wide * self.scale) as usize, (high * self.scale) as usize);
        let is_upright = is_flat && self.turn.rem_euclid(180.0) == 0.0;
        let (width, height) = self.size.unwrap_or(if is_upright { upright } else { (side, side) });
        let seed = random.u64(..);
        let mut grey = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                // The mean of four points of each pixel.
                let parts = (0..4).map(|part| {
                    let at = |whole: usize, part: usize| whole as f64 + (part as f64 + 0.5) / 2.0;
                    let (x, y) = (at(x, part % 2), at(y, part / 2));
                    let seen =
                        self.on_sheet(x - width as f64 / 2.0, y - height as f64 / 2.0, wide, high);
                    let paper = sheet.grey(seen.0, seen.1);
                    paper.map_or_else(
                        || self.around.unwrap_or_else(|| pattern(x, y, seed)),
                        |paper| self.dark + paper * (self.light - self.dark),
                    )
                });
                let lit = 1.0 - self.shade * (x + y) as f64 / (width + height) as f64;
                grey.push(parts.sum::<f64>() / 4.0 * lit);
            }
        }
        let spread = (3.0 * self.blur).ceil() as i32;
        let bell = |at: i32| (-0.5 * (f64::from(at) / self.blur.max(0.01)).powi(2)).exp();
        let bell: Vec<f64> = (-spread..=spread).map(bell).collect();
        grey = smeared(&grey, width, &bell, true);
        grey = smeared(&grey, width, &bell, false);
        let path = vec![1.0; (self.motion / 2.0).round() as usize * 2 + 1];
        grey = smeared(&grey, width, &path, true);
        let grey: Vec<u8> = grey
            .into_iter()
            .map(|grey| {
                // The sum is nearly normally distributed.
                let noise = (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 1.73 * self.noise;
                (grey + noise).clamp(0.0, 255.0) as u8
            })
            .collect();
        self.stored(GreyImage { width: width as u32, height: height as u32, grey })
    }

    /// Returns the point of the sheet at a pixel; both are given relative to the middle.
    fn on_sheet(&self, x: f64, y: f64, wide: f64, high: f64) -> (f64, f64) {
        let (sin, cos) = self.axis.to_radians().sin_cos();
        let (tilt_sin, tilt_cos) = self.tilt.to_radians().sin_cos();
        // Along the axis of the tilt, and across it, where the paper recedes.
        let (along, across) = (x * cos + y * sin, y * cos - x * sin);
        let distance = 2.2 * wide.max(high) * self.scale;
        let far = distance / (distance * tilt_cos - across * tilt_sin);
        let (along, across) = (along * far * tilt_cos, across * far);
        let (x, y) = (along * cos - across * sin, along * sin + across * cos);
        let (sin, cos) = self.turn.to_radians().sin_cos();
        let (x, y) = ((x * cos + y * sin) / self.scale, (y * cos - x * sin) / self.scale);
        let bent = self.bend * high * (x / wide * std::f64::consts::PI).cos();
        (if self.is_mirrored { -x } else { x } + wide / 2.0, y + bent + high / 2.0)
    }

    fn stored(&self, picture: GreyImage) -> GreyImage {
        let Some(quality) = self.jpeg else { return picture };
        let GreyImage { width, height, grey } = picture;
        let image = GrayImage::from_raw(width, height, grey).unwrap();
        let mut file = Vec::new();
        image.write_with_encoder(JpegEncoder::new_with_quality(&mut file, quality)).unwrap();
        let image = image::load_from_memory_with_format(&file, ImageFormat::Jpeg).unwrap();
        GreyImage { width, height, grey: image.into_luma8().into_raw() }
    }
}

/// A pattern of stains in all greys.
fn pattern(x: f64, y: f64, seed: u64) -> f64 {
    let phase = (seed % 100) as f64;
    140.0 + 60.0 * (x / 31.0 + phase).sin() + 50.0 * (y / 23.0 + x / 47.0 + phase * 0.7).sin()
}

/// Replaces each pixel by the weighted mean of it and its neighbours in the row or the column.
fn smeared(grey: &[f64], width: usize, weights: &[f64], in_rows: bool) -> Vec<f64> {
    let height = grey.len() / width;
    let (count, stride) = if in_rows { (width, 1) } else { (height, width) };
    let sum: f64 = weights.iter().sum();
    let at = |pixel: usize| {
        let place = if in_rows { pixel % width } else { pixel / width };
        let first = pixel - place * stride;
        let parts = weights.iter().enumerate().map(|(index, weight)| {
            let other = (place + index).saturating_sub(weights.len() / 2).min(count - 1);
            grey[first + other * stride] * weight
        });
        parts.sum::<f64>() / sum
    };
    (0..grey.len()).map(at).collect()
}
