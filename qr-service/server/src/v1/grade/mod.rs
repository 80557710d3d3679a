//! Grades symbols by the parameters of ISO/IEC 15415 that a picture can show.
//!
//! A verifier has a calibrated light and camera; here a picture's luma stands for reflectance, so a grade tells how well
//! the picture reads, and only hints at how a print would be graded.
//!
//! Manuals of verifiers have the same limits: Cognex' DataMan 475 those of contrast, modulation and unused error
//! correction, Omron's V430-F (Z392, pages 8-8 and 8-20) those of both nonuniformities and unused error correction. No
//! public manual was found with those of the fixed patterns.

mod blocks;
mod grid;

use rxing::common::BitMatrix;
use serde::Serialize;
use utoipa::ToSchema;

use crate::v1::options::{Format, Kind, Options};
use crate::v1::plan::Plan;
use crate::v1::reader::{Found, GreyImage};
use crate::v1::symbol::encode;
use blocks::{Layout, Module};
use grid::Grid;

/// The limits of the grades 1, 2, 3 and 4 (ISO/IEC 15415:2011, tables 5 to 10): at least, or at most.
type Limits = [f64; 4];
const CONTRAST: Limits = [0.2, 0.4, 0.55, 0.7];
const MODULATION: Limits = [0.2, 0.3, 0.4, 0.5];
const UNUSED: Limits = [0.25, 0.37, 0.5, 0.62];
const AXIAL: Limits = [0.12, 0.1, 0.08, 0.06];
const GRID: Limits = [0.75, 0.63, 0.5, 0.38];
/// Limits of the fixed patterns (ISO/IEC 18004:2015, annex G): wrong modules of a finder pattern, the wrong shares of
/// the timing patterns and of the others, and the mean of the grades of these segments.
const FINDER: Limits = [3.0, 2.0, 1.0, 0.0];
const TIMING: Limits = [0.14, 0.11, 0.07, 0.0];
const ALIGNMENT: Limits = [0.3, 0.2, 0.1, 0.0];
const SEGMENTS: Limits = [2.5, 3.0, 3.5, 4.0];

fn at_least(value: f64, limits: Limits) -> u8 {
    limits.iter().filter(|limit| value >= **limit).count() as u8
}

fn at_most(value: f64, limits: Limits) -> u8 {
    limits.iter().filter(|limit| value <= **limit).count() as u8
}

/// A parameter of a symbol's quality.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Parameter {
    /// `symbol_contrast`, `modulation`, `fixed_pattern_damage`, `axial_nonuniformity`, `grid_nonuniformity`,
    /// `unused_error_correction` or `quiet_zone`.
    name: &'static str,
    /// 4 is the best, 0 a failure.
    #[schema(maximum = 4)]
    pub(crate) grade: u8,
    /// What was measured: shares from 0 to 1; for `grid_nonuniformity` and `quiet_zone` modules.
    value: f64,
    /// What to change, unless the grade is 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    advice: Option<String>,
}

impl Parameter {
    fn new(name: &'static str, grade: u8, value: f64, advice: impl Into<String>) -> Self {
        let value = (value * 1000.0).round() / 1000.0;
        Parameter { name, grade, value, advice: (grade < 4).then(|| advice.into()) }
    }
}

/// Measures a symbol that was read from a picture. `None` if it cannot be measured, like a symbol of model 1.
pub(crate) fn parameters(picture: &GreyImage, found: &Found) -> Option<Vec<Parameter>> {
    let measured = Measured::new(picture, found)?;
    Some(vec![
        measured.symbol_contrast(),
        measured.modulation(),
        measured.fixed_pattern_damage(found)?,
        measured.axial_nonuniformity(),
        measured.grid_nonuniformity(),
        measured.unused_error_correction(),
        measured.quiet_zone(found.kind.quiet_zone()),
    ])
}

struct Measured<'a> {
    grid: Grid<'a>,
    layout: Layout,
    width: u32,
    height: u32,
    /// The greys of the modules, row by row, as if the symbol were dark on light.
    greys: Vec<f64>,
    /// The difference of the darkest and the lightest module, and the middle between them.
    contrast: f64,
    threshold: f64,
}

impl<'a> Measured<'a> {
    fn new(picture: &'a GreyImage, found: &Found) -> Option<Self> {
        let (grid, layout) = (Grid::new(picture, found)?, Layout::of(found)?);
        let (width, height) = (found.modules.width(), found.modules.height());
        let all = (0..width * height).map(|at| (at % width, at / width));
        let greys = all.map(|(x, y)| grid.module((x as i32, y as i32)));
        let mut greys: Vec<f64> = greys.collect::<Option<_>>()?;
        if grid.is_inverted {
            greys.iter_mut().for_each(|grey| *grey = 255.0 - *grey);
        }
        let (darkest, lightest) = greys
            .iter()
            .fold((255.0_f64, 0.0_f64), |(least, most), it| (least.min(*it), most.max(*it)));
        let (contrast, threshold) = (lightest - darkest, (lightest + darkest) / 2.0);
        Some(Measured { grid, layout, width, height, greys, contrast, threshold })
    }

    fn grey(&self, (x, y): Module) -> f64 {
        self.greys[(y * self.width + x) as usize]
    }

    fn is_dark(&self, module: Module) -> bool {
        self.grey(module) < self.threshold
    }

    /// How far a module's grey is from the threshold, as a share of what is possible.
    fn modulation_of(&self, module: Module) -> f64 {
        2.0 * (self.grey(module) - self.threshold).abs() / self.contrast.max(f64::EPSILON)
    }

    /// The grade of a parameter that counts modules below a modulation as damaged: the best over all limits of the
    /// modulation. `grade` takes the limit and returns a grade and a value.
    fn best(&self, grade: impl Fn(f64) -> (u8, f64)) -> (u8, f64) {
        let mut best = (0, grade(MODULATION[0]).1);
        for (level, limit) in (1..).zip(MODULATION) {
            let (of_level, value) = grade(limit);
            if of_level.min(level) > best.0 {
                best = (of_level.min(level), value);
            }
        }
        best
    }

    fn symbol_contrast(&self) -> Parameter {
        let value = self.contrast / 255.0;
        let advice = format!(
            "Use a darker dark or a lighter light: they differ by only {:.0} % of black and white.",
            value * 100.0
        );
        Parameter::new("symbol_contrast", at_least(value, CONTRAST), value, advice)
    }

    fn modulation(&self) -> Parameter {
        let of_codeword = |modules: &Vec<Module>| {
            modules.iter().map(|it| self.modulation_of(*it)).fold(f64::INFINITY, f64::min)
        };
        let blocks = self.layout.blocks.iter();
        let of_blocks = blocks.map(|block| block.codewords.iter().map(of_codeword).collect());
        let of_blocks: Vec<Vec<f64>> = of_blocks.collect();
        let (grade, value) = self.best(|limit| {
            let blocks = self.layout.blocks.iter().zip(&of_blocks);
            let unused = blocks
                .map(|(block, of)| block.unused(of.iter().filter(|it| **it < limit).count()))
                .fold(1.0, f64::min);
            // The lowest modulation that error correction does not have to repair.
            let kept = of_blocks.iter().flatten().filter(|it| **it >= limit).copied();
            (at_least(unused, UNUSED), kept.fold(1.0, f64::min))
        });
        let advice = "Use a sharper picture, larger modules or an even light: some modules are nearly as dark as light \
                      ones, or the reverse.";
        let least = || of_blocks.iter().flatten().copied().fold(1.0, f64::min);
        Parameter::new("modulation", grade, if grade == 0 { least() } else { value }, advice)
    }

    fn unused_error_correction(&self) -> Parameter {
        let of_block = |block: &blocks::Block| {
            let wrong = block.wrong(self.layout.mask, |module| self.is_dark(module));
            wrong.map_or(0.0, |wrong| block.unused(wrong))
        };
        let value = self.layout.blocks.iter().map(of_block).fold(1.0, f64::min);
        let advice = format!(
            "Uncover or clean the modules, or use a higher level: repairs take {:.0} % of the error correction.",
            (1.0 - value) * 100.0
        );
        Parameter::new("unused_error_correction", at_least(value, UNUSED), value, advice)
    }

    fn fixed_pattern_damage(&self, found: &Found) -> Option<Parameter> {
        let fixed = FixedPatterns::new(found, &self.layout.function)?;
        let (grade, value) = self.best(|limit| {
            let is_damaged = |(module, is_dark): &(Module, bool)| {
                self.is_dark(*module) != *is_dark || self.modulation_of(*module) < limit
            };
            fixed.grade(is_damaged)
        });
        let advice = format!(
            "Keep the finder, timing and alignment patterns whole and free of logos and dirt: {:.1} % of their modules \
             are damaged.",
            value * 100.0
        );
        Some(Parameter::new("fixed_pattern_damage", grade, value, advice))
    }

    fn axial_nonuniformity(&self) -> Parameter {
        let (width, height) = self.grid.evenness().module;
        let value = (width - height).abs() / ((width + height) / 2.0);
        let (more, less) = if width > height { ("wider", "high") } else { ("higher", "wide") };
        let advice = format!(
            "Scale width and height alike: modules are {:.0} % {more} than {less}.",
            (width.max(height) / width.min(height) - 1.0) * 100.0
        );
        Parameter::new("axial_nonuniformity", at_most(value, AXIAL), value, advice)
    }

    fn grid_nonuniformity(&self) -> Parameter {
        let value = self.grid.evenness().distance;
        let advice = "Keep the symbol flat and take the picture from straight ahead; a printer must feed evenly.";
        Parameter::new("grid_nonuniformity", at_most(value, GRID), value, advice)
    }

    /// Counts the rings of light modules around the symbol. What is beyond the picture's edge is not light.
    fn quiet_zone(&self, required: u32) -> Parameter {
        let (width, height) = (self.width as i32, self.height as i32);
        let is_light = |module: (i32, i32)| {
            let light = |grey: f64| if self.grid.is_inverted { 255.0 - grey } else { grey };
            self.grid.module(module).is_some_and(|grey| light(grey) >= self.threshold)
        };
        let is_quiet = |ring: &u32| {
            let ring = *ring as i32;
            let mut rows = (-ring..width + ring).flat_map(|x| [(x, -ring), (x, height + ring - 1)]);
            let mut columns =
                (-ring..height + ring).flat_map(|y| [(-ring, y), (width + ring - 1, y)]);
            rows.all(is_light) && columns.all(is_light)
        };
        let quiet = (1..=required).take_while(is_quiet).count() as u32;
        let advice = format!(
            "Leave {required} modules free on each side of the symbol: it has {quiet}. With the option margin=\
             {required} the picture has them."
        );
        Parameter::new("quiet_zone", (4 * quiet / required) as u8, quiet.into(), advice)
    }
}

/// The modules of fixed patterns, with whether they are to be dark.
struct FixedPatterns {
    finders: [Vec<(Module, bool)>; 3],
    timing: Vec<(Module, bool)>,
    alignment: Vec<(Module, bool)>,
}

impl FixedPatterns {
    /// Takes the patterns from another symbol of the same size, which differs in format and version information. These
    /// are not graded.
    fn new(found: &Found, function: &BitMatrix) -> Option<Self> {
        let symbol = encode(&same_size(found)?).ok()?.symbol;
        let (width, height) = (function.width(), function.height());
        let mut fixed = FixedPatterns {
            finders: Default::default(),
            timing: Vec::new(),
            alignment: Vec::new(),
        };
        for (x, y) in (0..width * height).map(|at| (at % width, at / width)) {
            let (is_right, is_below) = (x + 8 >= width, y + 8 >= height);
            let segment = match found.kind {
                _ if !function.get(x, y) => continue,
                _ if x < 8 && y < 8 => &mut fixed.finders[0],
                Kind::Qr if y < 8 && is_right => &mut fixed.finders[1],
                Kind::Qr if x < 8 && is_below => &mut fixed.finders[2],
                Kind::Qr if x == 6 || y == 6 => &mut fixed.timing,
                Kind::Qr if x == 8 && (y < 9 || is_below) || y == 8 && (x < 9 || is_right) => {
                    continue;
                }
                Kind::Qr if y < 6 && x + 11 >= width || x < 6 && y + 11 >= height => continue,
                Kind::Micro if x > 0 && y > 0 => continue,
                Kind::Rmqr if (8..12).contains(&x) && (1..6).contains(&y) => continue,
                Kind::Rmqr if is_right && x + 5 < width && y + 6 >= height && y + 1 < height => {
                    continue;
                }
                Kind::Rmqr if is_right && x + 2 < width && y + 6 == height => continue,
                Kind::Qr => &mut fixed.alignment,
                Kind::Micro | Kind::Rmqr => &mut fixed.timing,
            };
            segment.push(((x, y), symbol.modules().is_dark(x as usize, y as usize)));
        }
        Some(fixed)
    }

    /// The grade, and the share of damaged modules.
    fn grade(&self, is_damaged: impl Fn(&(Module, bool)) -> bool) -> (u8, f64) {
        let (mut grades, mut damaged, mut all) = (Vec::new(), 0.0, 0.0);
        let timing = [(&self.timing, TIMING), (&self.alignment, ALIGNMENT)];
        for (segment, limits) in self.finders.iter().map(|it| (it, FINDER)).chain(timing) {
            let (count, total) =
                (segment.iter().filter(|it| is_damaged(it)).count() as f64, segment.len() as f64);
            if total > 0.0 {
                let value = if limits == FINDER { count } else { count / total };
                grades.push(at_most(value, limits));
                (damaged, all) = (damaged + count, all + total);
            }
        }
        let mean = grades.iter().copied().map(f64::from).sum::<f64>() / grades.len() as f64;
        let lowest = grades.into_iter().min().unwrap_or(0);
        (lowest.min(at_least(mean, SEGMENTS)), damaged / f64::max(all, 1.0))
    }
}

/// The plan of any symbol with the size of this one.
fn same_size(found: &Found) -> Option<Plan> {
    let mut options =
        Options { text: Some("1".to_owned()), kind: Some(found.kind), ..Options::default() };
    if found.kind == Kind::Rmqr {
        (options.rmqr_height, options.rmqr_width) =
            (found.modules.height().try_into().ok(), found.modules.width().try_into().ok());
    } else {
        let version = found.number.try_into().ok();
        (options.version_min, options.version_max) = (version, version);
    }
    Plan::new(options, Format::Json).ok()
}
