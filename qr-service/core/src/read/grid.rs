//! Where the modules of a symbol lie in a picture.

use super::SymbolKind;
use super::finders::Finder;
use crate::matrix::Row;
use crate::{micro, rmqr};

/// A place in pixels, from the upper left corner of the picture.
pub(super) type Point = (f32, f32);

/// Grey pixels, row by row.
pub(super) struct Picture<'a> {
    pub(super) grey: &'a [u8],
    pub(super) width: usize,
    pub(super) height: usize,
}

impl<'a> Picture<'a> {
    pub(super) fn row(&self, y: usize) -> &'a [u8] {
        &self.grey[y * self.width..(y + 1) * self.width]
    }

    /// The grey at a point; `None` outside the picture.
    fn at(&self, (x, y): Point) -> Option<u8> {
        if x < 0.0 || y < 0.0 || x as usize >= self.width {
            return None;
        }
        self.grey.get(y as usize * self.width + x as usize).copied()
    }
}

/// A grid of modules in the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// The symbol's upper left corner, and one module to the right and down from there. The symbol may be turned.
    pub(super) corner: Point,
    pub(super) right: Point,
    pub(super) down: Point,
    /// Modules in a row, and rows.
    pub(super) width: usize,
    pub(super) height: usize,
    /// Greys from here on are paper, or ink if the symbol is light on dark.
    threshold: u8,
    /// The least difference of a clear grey from the threshold.
    clearance: u8,
    pub(super) is_inverted: bool,
}

impl Grid {
    /// A grid without a size, whose first finder pattern has its middle in `finder`. `right` and `down` are one module.
    pub(super) fn new(finder: &Finder, right: Point, down: Point, others: &[&Finder]) -> Self {
        // The faintest ink of all finder patterns.
        let ink = others.iter().map(|it| it.ink).fold(finder.ink, |ink, it| {
            if finder.is_inverted() { ink.min(it) } else { ink.max(it) }
        });
        let threshold = (u16::from(ink) + u16::from(finder.paper)).div_ceil(2) as u8;
        let clearance = (u16::from(ink.abs_diff(finder.paper)) * 3 / 8) as u8;
        let mut grid = Grid {
            corner: finder.middle,
            right,
            down,
            width: 0,
            height: 0,
            threshold,
            clearance,
            is_inverted: finder.is_inverted(),
        };
        grid.corner = grid.place(-3.5, -3.5);
        grid
    }

    /// The place of a point in modules.
    pub(super) fn place(&self, x: f32, y: f32) -> Point {
        (
            self.corner.0 + x * self.right.0 + y * self.down.0,
            self.corner.1 + x * self.right.1 + y * self.down.1,
        )
    }

    /// The corners, clockwise from the symbol's upper left one.
    pub(super) fn corners(&self) -> [Point; 4] {
        let (width, height) = (self.width as f32, self.height as f32);
        [
            self.place(0.0, 0.0),
            self.place(width, 0.0),
            self.place(width, height),
            self.place(0.0, height),
        ]
    }

    /// Whether a point lies in the symbol.
    pub(super) fn has_inside(&self, point: Point) -> bool {
        let from = (point.0 - self.corner.0, point.1 - self.corner.1);
        let share =
            |axis: Point, modules: usize| dot(from, axis) / dot(axis, axis) / modules as f32;
        [share(self.right, self.width), share(self.down, self.height)]
            .iter()
            .all(|it| (0.0..1.0).contains(it))
    }

    /// The grey in the middle of a module. Outside the picture it is that of the threshold.
    fn grey(&self, picture: &Picture<'_>, x: usize, y: usize) -> u8 {
        picture.at(self.place(x as f32 + 0.5, y as f32 + 0.5)).unwrap_or(self.threshold)
    }

    fn is_dark(&self, picture: &Picture<'_>, x: usize, y: usize) -> bool {
        (self.grey(picture, x, y) < self.threshold) != self.is_inverted
    }

    /// All modules. `None` unless nearly all of them are clearly dark or light, as in no photo: there, other symbols may
    /// be so unclear that their finder patterns are not noticed.
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

/// The grids of QR symbols that three finder patterns may belong to, the best first: for `first` as the one at the
/// symbol's upper left. Empty unless the others lie at right angles and equally far.
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
    let along = u.0.abs().max(u.1.abs());
    let size = [first, right, below].iter().map(|it| it.size.0 + it.size.1).sum::<f32>() / 6.0;
    let modules = 7.0 * length / (size * along);
    let version = (modules - 10.0) / 4.0;
    let reach = 0.75 + 0.06 * version;
    let grid_of = |version: usize| {
        let size = 4 * version + 17;
        let step = |it: Point| (it.0 / (size - 7) as f32, it.1 / (size - 7) as f32);
        let grid = Grid {
            width: size,
            height: size,
            ..Grid::new(first, step(u), step(w), &[right, below])
        };
        // The timing patterns (section 6.3.5).
        let mut wrong = 0;
        for at in 8..size - 8 {
            let is_dark = [grid.is_dark(picture, at, 6), grid.is_dark(picture, 6, at)];
            wrong += is_dark.iter().filter(|it| **it != at.is_multiple_of(2)).count();
            if wrong * 5 >= size - 16 {
                return None;
            }
        }
        Some((wrong, grid))
    };
    let versions =
        (version - reach).ceil().max(1.0) as usize..=(version + reach).min(40.0) as usize;
    versions.filter_map(grid_of).min_by_key(|(wrong, _)| *wrong).map(|(_, grid)| grid)
}

/// The grids of symbols of Micro QR and rMQR that a finder pattern may belong to, with their kind and version.
pub(super) fn single_grids(picture: &Picture<'_>, finder: &Finder) -> Vec<(SymbolKind, u8, Grid)> {
    let (x, y) = (finder.size.0 / 7.0, finder.size.1 / 7.0);
    let turns = [
        ((x, 0.0), (0.0, y)),
        ((0.0, y), (-x, 0.0)),
        ((-x, 0.0), (0.0, -y)),
        ((0.0, -y), (x, 0.0)),
    ];
    let mirrored = turns.map(|(right, down)| (down, right));
    let mut grids = Vec::new();
    for (right, down) in turns.into_iter().chain(mirrored) {
        let grid = Grid::new(finder, right, down, &[]);
        let (width, height) = (grid.extent(picture), grid.mirrored().extent(picture));
        let is_near =
            |modules: usize, seen: f32| (modules as f32 - seen).abs() < 0.3 + 0.06 * modules as f32;
        for (kind, version, columns, rows) in sizes() {
            if is_near(columns, width) && is_near(rows, height) {
                let scaled = |it: Point, by: f32| (it.0 * by, it.1 * by);
                let (right, down) =
                    (scaled(right, width / columns as f32), scaled(down, height / rows as f32));
                grids.push((
                    kind,
                    version,
                    Grid { right, down, width: columns, height: rows, ..grid },
                ));
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
    /// The modules from the corner to the end of the uppermost row, which is a timing pattern beside the finder pattern:
    /// dark up to the quiet zone, but for single modules.
    fn extent(&self, picture: &Picture<'_>) -> f32 {
        let module = dot(self.right, self.right).sqrt();
        let mut end = 7.0;
        // In steps of a pixel, or of a quarter of a large module.
        for pixel in ((6.5 * module) as usize..).step_by((module / 4.0).max(1.0) as usize) {
            let at = (pixel as f32 + 0.5) / module;
            let grey = picture.at(self.place(at, 0.5));
            if grey.is_some_and(|grey| (grey < self.threshold) != self.is_inverted) {
                end = (pixel as f32 + 1.0) / module;
            } else if grey.is_none() || at > end + 1.7 || at > 140.0 {
                break;
            }
        }
        end
    }
}
