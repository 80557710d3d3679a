//! Where the modules of a symbol lie in a picture.

use super::SymbolKind;
use super::finders::{Finder, Picture, Point};
use crate::matrix::Row;
use crate::{micro, rmqr};

/// A grid of modules in the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The symbol's upper left corner, and one module to the right and down from there. The symbol may be turned.
    corner: Point,
    right: Point,
    down: Point,
    /// Modules in a row, and rows.
    pub(super) width: usize,
    pub(super) height: usize,
    /// Between ink and paper, and the least difference of a clear grey from there.
    threshold: u8,
    clearance: u8,
    pub(super) is_inverted: bool,
}

impl Grid {
    /// A grid without a size. Its first finder pattern has its middle in `middle`; `faintest` has the least contrast.
    fn new(middle: Point, right: Point, down: Point, faintest: &Finder) -> Self {
        let (threshold, is_inverted) = (faintest.threshold(), faintest.is_inverted());
        let clearance = (usize::from(faintest.contrast()) * 3 / 8) as u8;
        let grid = Grid {
            corner: middle,
            right,
            down,
            width: 0,
            height: 0,
            threshold,
            clearance,
            is_inverted,
        };
        Grid { corner: grid.place(-3.5, -3.5), ..grid }
    }

    /// The place of a point in modules.
    fn place(&self, x: f32, y: f32) -> Point {
        let Grid { corner, right, down, .. } = self;
        (corner.0 + x * right.0 + y * down.0, corner.1 + x * right.1 + y * down.1)
    }

    /// The corners, clockwise from the symbol's upper left one.
    pub(super) fn corners(&self) -> [Point; 4] {
        let (width, height) = (self.width as f32, self.height as f32);
        [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)].map(|(x, y)| self.place(x, y))
    }

    /// Whether a point lies in the symbol.
    pub(super) fn has_inside(&self, (x, y): Point) -> bool {
        let from = (x - self.corner.0, y - self.corner.1);
        [(self.right, self.width), (self.down, self.height)].iter().all(|&(axis, modules)| {
            (0.0..modules as f32 * dot(axis, axis)).contains(&dot(from, axis))
        })
    }

    /// Whether the pixel at a point in modules is dark; `None` outside the picture.
    fn is_dark(&self, picture: &Picture<'_>, x: f32, y: f32) -> Option<bool> {
        let (x, y) = self.place(x, y);
        let is_inside = x >= 0.0 && y >= 0.0 && (x as usize) < picture.width;
        let grey =
            picture.grey.get(y as usize * picture.width + x as usize).filter(|_| is_inside)?;
        Some((*grey < self.threshold) != self.is_inverted)
    }

    /// All modules. `None` unless nearly all of them are clearly dark or light, as in no photo: there, other symbols
    /// may be so unclear that their finder patterns are not noticed.
    pub(super) fn sample(&self, picture: &Picture<'_>) -> Option<Vec<Row>> {
        let mut unclear = 0;
        let mut rows = vec![[0; 3]; self.height];
        // Places in pixels with 16 binary digits after the point, because conversions of floating point take long.
        let fixed = |(x, y): Point| [x, y].map(|it| (it * 65536.0) as i64);
        let ([left, top], [right_x, right_y]) = (fixed(self.place(0.5, 0.5)), fixed(self.right));
        let down = fixed(self.down);
        for (row, y) in rows.iter_mut().zip(0..) {
            let (left, top) = (left + y * down[0], top + y * down[1]);
            for x in 0..self.width {
                let at = [left + x as i64 * right_x, top + x as i64 * right_y]
                    .map(|it| (it >> 16) as usize);
                let index = if at[0] < picture.width {
                    at[1].wrapping_mul(picture.width).wrapping_add(at[0])
                } else {
                    usize::MAX
                };
                let grey = picture.grey.get(index).copied().unwrap_or(self.threshold);
                unclear += usize::from(grey.abs_diff(self.threshold) < self.clearance);
                row[x / 64] |= u64::from((grey < self.threshold) != self.is_inverted) << (x % 64);
            }
        }
        (unclear * 8 <= self.width * self.height).then_some(rows)
    }

    /// The same grid with rows and columns exchanged, as a symbol is seen from behind.
    pub(super) fn mirrored(&self) -> Self {
        Grid { right: self.down, down: self.right, width: self.height, height: self.width, ..*self }
    }
}

fn dot(a: Point, b: Point) -> f32 {
    a.0 * b.0 + a.1 * b.1
}

/// The grid of the QR symbol that three finder patterns may belong to, `first` at its upper left. `None` unless the
/// others lie at right angles and equally far, and its timing patterns are there.
pub(super) fn qr_grid(
    picture: &Picture<'_>,
    first: &Finder,
    right: &Finder,
    below: &Finder,
) -> Option<Grid> {
    let to = |it: &Finder| (it.middle.0 - first.middle.0, it.middle.1 - first.middle.1);
    let (u, w) = (to(right), to(below));
    // Where the third finder pattern should be, a quarter turn from the second, and how far it is from there.
    let (length, off) = (dot(u, u), (w.0 + u.1, w.1 - u.0));
    if dot(off, off) > 0.03 * length {
        return None;
    }
    let is_similar = |it: &Finder| {
        let ratios = [it.size.0 / first.size.0, it.size.1 / first.size.1];
        it.is_inverted() == first.is_inverted() && ratios.iter().all(|it| (0.75..1.34).contains(it))
    };
    if !is_similar(right) || !is_similar(below) {
        return None;
    }
    // The sizes are those of cuts along rows and columns, which are longer through a turned pattern.
    let all = [first, right, below];
    let size = all.iter().map(|it| it.size.0 + it.size.1).sum::<f32>() / 6.0;
    let version = (7.0 * length / (size * u.0.abs().max(u.1.abs())) - 10.0) / 4.0;
    let reach = 0.75 + 0.06 * version;
    let faintest = all.into_iter().min_by_key(|it| it.contrast())?;
    let grid_of = |version: usize| {
        let size = 4 * version + 17;
        let step = |it: Point| (it.0 / (size - 7) as f32, it.1 / (size - 7) as f32);
        let grid = Grid {
            width: size,
            height: size,
            ..Grid::new(first.middle, step(u), step(w), faintest)
        };
        // The timing patterns (section 6.3.5).
        let mut wrong = 0;
        for at in 8..size - 8 {
            let middle = at as f32 + 0.5;
            let seen = [(middle, 6.5), (6.5, middle)].map(|(x, y)| grid.is_dark(picture, x, y));
            wrong += seen.iter().filter(|it| **it != Some(at % 2 == 0)).count();
            if wrong * 5 >= size - 16 {
                return None;
            }
        }
        Some((wrong, grid))
    };
    let versions =
        (version - reach).max(1.0).ceil() as usize..=(version + reach).min(40.0) as usize;
    versions.filter_map(grid_of).min_by_key(|(wrong, _)| *wrong).map(|(_, grid)| grid)
}

/// The grids of symbols of Micro QR and rMQR that a finder pattern may belong to, with their kind and version.
pub(super) fn single_grids(picture: &Picture<'_>, finder: &Finder) -> Vec<(SymbolKind, u8, Grid)> {
    let (x, y) = (finder.size.0 / 7.0, finder.size.1 / 7.0);
    let (mut right, mut down) = ((0.0, -y), (x, 0.0));
    let mut grids = Vec::new();
    for turn in 0..8 {
        // Four quarter turns, and four of the mirrored symbol.
        let next = if turn == 4 { right } else { (-right.0, -right.1) };
        (right, down) = (down, next);
        let grid = Grid::new(finder.middle, right, down, finder);
        let (across, along) = (grid.extent(picture), grid.mirrored().extent(picture));
        let is_near =
            |modules: usize, seen: f32| (modules as f32 - seen).abs() < 0.3 + 0.06 * modules as f32;
        for (kind, version, width, height) in sizes() {
            if is_near(width, across) && is_near(height, along) {
                let (x, y) = (across / width as f32, along / height as f32);
                let (right, down) = ((right.0 * x, right.1 * x), (down.0 * y, down.1 * y));
                grids.push((kind, version, Grid { right, down, width, height, ..grid }));
            }
        }
    }
    grids
}

/// Kind, version, width and height of all symbols with one finder pattern.
fn sizes() -> impl Iterator<Item = (SymbolKind, u8, usize, usize)> {
    let micro = (1..=4).map(|version| {
        (SymbolKind::Micro, version, micro::size_of(version), micro::size_of(version))
    });
    let rmqr = (1..)
        .zip(&rmqr::KINDS)
        .map(|(version, kind)| (SymbolKind::Rmqr, version, kind.width.into(), kind.height.into()));
    micro.chain(rmqr)
}

impl Grid {
    /// The modules from the corner to the end of the uppermost row, which is a timing pattern beside the finder
    /// pattern: dark up to the quiet zone, but for single modules.
    fn extent(&self, picture: &Picture<'_>) -> f32 {
        let module = dot(self.right, self.right).sqrt();
        let mut end = 7.0;
        // In steps of a pixel, or of a quarter of a large module.
        for pixel in ((6.5 * module) as usize..).step_by((module / 4.0).max(1.0) as usize) {
            let at = (pixel as f32 + 0.5) / module;
            match self.is_dark(picture, at, 0.5) {
                Some(true) => end = (pixel as f32 + 1.0) / module,
                Some(false) if at < end + 1.7 && at < 140.0 => {}
                _ => break,
            }
        }
        end
    }
}
