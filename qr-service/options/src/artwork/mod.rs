//! Pictures with shapes other than squares, or with a logo.
//!
//! `crate::place` finds room for a logo, `pixels` draws rows of pixels for PNG and for the check, `vector` draws the same
//! shapes as SVG, and `print` for PDF and EPS. `gradient` has the colour of a point, `frame` the line around it. Lengths
//! are in modules; the origin is the symbol's top left corner.

mod file;
mod frame;
mod gradient;
#[cfg(feature = "image")]
mod image;
mod pixels;
mod print;
mod swiss_cross;
mod vector;

use qr_core::{Color, Modules};

use crate::options::{FinderShape, Shape};
use crate::plan::{Colors, Look, PicturePlan, Plan};
use crate::symbol::Encoded;

pub use crate::place::LogoField;
pub(crate) use file::write_png;
use gradient::Gradient;
pub use pixels::{Pixels, STEPS, between};
pub(crate) use print::with_overlays;
use swiss_cross::SwissCross;
pub(crate) use vector::write_svg;

/// Diameter of a dot. Dots must touch, or decoders lose the thin rings of alignment patterns.
const DOT: f64 = 1.0;
/// Modules a side of a finder pattern.
const FINDER: usize = 7;

/// The pixels of a logo, which the caller has decoded.
pub trait LogoPixels {
    /// Width and height.
    fn size(&self) -> (u32, u32);
    /// The same picture with fewer pixels.
    fn reduced(&self, width: u32, height: u32) -> Box<dyn LogoPixels>;
    /// The colour at a point from (0, 0) to (1, 1), interpolated between pixels.
    fn color_at(&self, u: f32, v: f32) -> Option<Color>;
    /// The picture as a PNG.
    fn png(&self) -> Vec<u8>;
    /// For a logo drawn from areas instead of pixels: these areas, in black and white on a square of side 1.
    fn areas(&self) -> Option<&'static [Area]> {
        None
    }
}

/// The most pixels a side of a logo in SVG, PDF and EPS; at 20 mm in print about 600 dpi.
const MAX_LOGO_PX: u32 = 512;

/// Width and height with the longer one reduced to [`MAX_LOGO_PX`]; `None` if neither is above it.
fn reduced_size((width, height): (u32, u32)) -> Option<(u32, u32)> {
    let longer = u64::from(width.max(height));
    let most = u64::from(MAX_LOGO_PX);
    let fit = |length: u32| (u64::from(length) * most / longer).max(1) as u32;
    (longer > most).then(|| (fit(width), fit(height)))
}

/// An area of a logo: whether it is black or white, and its corners.
pub type Area = (bool, &'static [(f64, f64)]);

/// A symbol of kind `qr` with shapes and maybe a logo.
pub struct Artwork<'a> {
    modules: Modules<'a>,
    look: &'a Look,
    gradient: Option<Gradient>,
    /// Whether a caption follows.
    has_caption: bool,
    logo: Option<(LogoField, &'a dyn LogoPixels)>,
    colors: Colors,
}

impl<'a> Artwork<'a> {
    /// The artwork of a plan and its symbol; `None` if the picture is plain or its format has no shapes.
    pub fn of(
        plan: &'a Plan,
        encoded: &'a Encoded,
        logo: Option<&'a dyn LogoPixels>,
    ) -> Option<Self> {
        if matches!(plan.picture, PicturePlan::Txt { .. } | PicturePlan::Json) {
            return None;
        }
        let (modules, colors, look) = (encoded.symbol.modules(), plan.picture.colors(), &plan.look);
        let gradient = |plan| Gradient::new(plan, colors.dark, modules.width());
        let art = Artwork {
            modules,
            look,
            gradient: look.gradient.map(gradient),
            has_caption: plan.caption.is_some(),
            logo: encoded.place.zip(if look.has_swiss_cross { Some(&SwissCross) } else { logo }),
            colors,
        };
        (!look.is_plain()).then_some(art)
    }

    /// The colour of the light modules.
    pub fn light(&self) -> Color {
        self.colors.light
    }

    fn size(&self) -> usize {
        self.modules.width()
    }

    /// Whether the module is dark and belongs neither to a finder nor to the logo.
    fn is_dark(&self, x: usize, y: usize) -> bool {
        self.modules.is_dark(x, y) && !self.is_finder(x, y) && !self.is_logo(x, y)
    }

    fn is_finder(&self, x: usize, y: usize) -> bool {
        let far = self.size() - FINDER;
        (x < FINDER && (y < FINDER || y >= far)) || (x >= far && y < FINDER)
    }

    /// Whether a finder pattern has a colour of its own.
    fn has_own_color(&self) -> bool {
        self.look.finders.iter().any(|finder| finder.color.is_some())
    }

    /// The colour of a caption on the frame: the light one, without its opacity.
    fn caption_on_frame(&self) -> Color {
        over(self.colors.light, Color::WHITE)
    }

    /// Whether the modules' own outline is not what is filled.
    fn has_outline(&self) -> bool {
        self.look.has_shapes() || self.look.is_cut_out || self.has_own_color()
    }

    /// Calls `each` with the rectangles of the dark modules outside finders and logo: position, size, and the radii of
    /// the corners: top left, top right, bottom right, bottom left.
    fn each_module(&self, mut each: impl FnMut((f64, f64), (f64, f64), [f64; 4])) {
        for y in 0..self.size() {
            let mut x = 0;
            while x < self.size() {
                let start = x;
                // Each dot is drawn separately; modules of other shapes that touch in a row form one rectangle.
                while self.is_dark(x, y) && (self.look.shape != Shape::Dots || x == start) {
                    x += 1;
                }
                if x == start {
                    x += 1;
                    continue;
                }
                let (at, size) = ((start as f64, y as f64), ((x - start) as f64, 1.0));
                match self.look.shape {
                    Shape::Dots => {
                        let inset = (1.0 - DOT) / 2.0;
                        each((at.0 + inset, at.1 + inset), (DOT, DOT), [DOT / 2.0; 4]);
                    }
                    Shape::Square => each(at, size, [0.0; 4]),
                    Shape::Rounded => {
                        let (first, last) =
                            (self.round_corners(start, y), self.round_corners(x - 1, y));
                        let round = [first[0], last[1], last[2], first[3]];
                        each(at, size, round.map(|round| if round { 0.5 } else { 0.0 }));
                    }
                }
            }
        }
    }

    /// Calls `each` likewise with the rectangles of a finder pattern: the outer edge, the hole in it, and the core, to be
    /// filled even-odd.
    fn each_ring(&self, index: usize, mut each: impl FnMut((f64, f64), (f64, f64), [f64; 4])) {
        let [outer, ring, core] = self.finder_radii(index);
        let (x, y) = self.finder_corners()[index];
        for (inset, radius) in [(0.0, outer), (1.0, ring), (2.0, core)] {
            let side = FINDER as f64 - 2.0 * inset;
            each((x as f64 + inset, y as f64 + inset), (side, side), [radius; 4]);
        }
    }

    fn is_logo(&self, x: usize, y: usize) -> bool {
        self.logo.as_ref().is_some_and(|(place, _)| place.has(x) && place.has(y))
    }

    /// The corners of a dark module that are round: top left, top right, bottom right, bottom left. A
    /// corner is round if both modules beside it are light.
    fn round_corners(&self, x: usize, y: usize) -> [bool; 4] {
        // Before the first row or column, the index wraps to one outside the symbol.
        let is_light = |x: usize, y: usize| !self.is_dark(x, y);
        let (left, right) = (is_light(x.wrapping_sub(1), y), is_light(x + 1, y));
        let (above, below) = (is_light(x, y.wrapping_sub(1)), is_light(x, y + 1));
        [above && left, above && right, below && right, below && left]
    }

    /// Radii of the finder pattern's outer edge, of its light ring's outer edge, and of its core.
    ///
    /// Decoders fit lines to both edges of the dark ring and follow them across the symbol. On a full circle the
    /// direction of these lines changes with every pixel of size, so `rxing` lost the symbol at some scales. If
    /// 2.5 modules of each edge are straight, `rxing` reads all scales; the core may be a full circle.
    fn finder_radii(&self, index: usize) -> [f64; 3] {
        let shape = self.look.finders[index].shape;
        let (outer, ring) = match shape {
            FinderShape::Square => (0.0, 0.0),
            FinderShape::Rounded => (2.0, 1.0),
            FinderShape::Circle => (2.25, 1.25),
        };
        let core = match self.look.finder_cores.unwrap_or(shape) {
            FinderShape::Square => 0.0,
            FinderShape::Rounded => 0.8,
            FinderShape::Circle => 1.5,
        };
        [outer, ring, core]
    }

    /// The finder patterns, those without a colour of their own first.
    fn by_color(&self) -> [usize; 3] {
        let mut all = [0, 1, 2];
        all.sort_by_key(|index| self.look.finders[*index].color.is_some());
        all
    }

    /// The first finder pattern with the shape of this one.
    fn same_shape(&self, index: usize) -> usize {
        let shape = self.look.finders[index].shape;
        self.look.finders.iter().position(|finder| finder.shape == shape).unwrap_or(index)
    }

    /// The top left corners of the finder patterns.
    fn finder_corners(&self) -> [(usize, usize); 3] {
        let far = self.size() - FINDER;
        [(0, 0), (far, 0), (0, far)]
    }
}

/// The colour that results from drawing `color` over `below`, by the opacity of `color`.
pub fn over(color: Color, below: Color) -> Color {
    let alpha = u32::from(color.alpha);
    let rest = u32::from(below.alpha) * (255 - alpha) / 255;
    let sum = alpha + rest;
    if sum == 0 {
        return below;
    }
    let mix = |top: u8, bottom: u8| {
        ((u32::from(top) * alpha + u32::from(bottom) * rest + sum / 2) / sum) as u8
    };
    Color {
        red: mix(color.red, below.red),
        green: mix(color.green, below.green),
        blue: mix(color.blue, below.blue),
        alpha: sum as u8,
    }
}
