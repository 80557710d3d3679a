//! Where the modules of a symbol lie on a picture. The corners that a reader finds are too coarse to measure by, so the
//! grid is fitted to the edges between dark and light modules.

use rxing::common::{BitMatrix, PerspectiveTransform, Quadrilateral};
use rxing::{Point, point};

use crate::v1::reader::{Found, GreyImage};

/// Modules a side of the cells, in each of which the mean shift of the edges is measured.
const CELL: usize = 4;
/// Points in which an edge is looked for, from its expected place to either side, and their distance in modules.
const STEPS: i32 = 8;
const STEP: f64 = 0.125;
/// The smallest difference of the greys around an edge.
const MIN_DIFFERENCE: f64 = 8.0;

/// Positions in modules from the symbol's upper left corner, or in pixels.
type Place = (f64, f64);

pub(super) struct Grid<'a> {
    picture: &'a GreyImage,
    corners: PerspectiveTransform,
    /// Modules in a row and in a column.
    size: (usize, usize),
    /// Cells in a row and in a column, and how far the modules of each are shifted, in modules.
    cells: (usize, usize),
    shifts: Vec<[f64; 2]>,
    /// Whether the symbol is light on dark.
    pub(super) is_inverted: bool,
}

/// How even a grid is.
pub(super) struct Evenness {
    /// Width and height of a module in pixels.
    pub(super) module: (f64, f64),
    /// The largest distance from an even grid, in modules.
    pub(super) distance: f64,
}

impl<'a> Grid<'a> {
    /// `None` if the corners span no area.
    pub(super) fn new(picture: &'a GreyImage, found: &Found) -> Option<Self> {
        let modules = &found.modules;
        let size = (modules.width() as usize, modules.height() as usize);
        let (right, bottom) = (size.0 as f32, size.1 as f32);
        let from = [(0.0, 0.0), (right, 0.0), (right, bottom), (0.0, bottom)];
        let from = Quadrilateral::from(from.map(|(x, y)| point(x, y)));
        let to = Quadrilateral::from(found.corners.map(|(x, y)| point(x as f32, y as f32)));
        let corners = PerspectiveTransform::quadrilateralToQuadrilateral(from, to).ok()?;
        let cells = ((size.0 / CELL).max(2), (size.1 / CELL).max(2));
        let shifts = vec![[0.0; 2]; cells.0 * cells.1];
        let mut grid = Grid { picture, corners, size, cells, shifts, is_inverted: false };
        grid.is_inverted = grid.mean(modules, true) > grid.mean(modules, false);
        // The first measurement is wrong where edges are more than half a module from the place that the corners tell.
        for _ in 0..2 {
            grid.shifts = grid.measured(modules);
        }
        Some(grid)
    }

    /// The shifts with the mean that is still missing in each cell, along both axes.
    fn measured(&self, modules: &BitMatrix) -> Vec<[f64; 2]> {
        let mut shifts = self.shifts.clone();
        for axis in 0..2 {
            let edges = self.edges(modules, axis);
            // Ink that spreads moves the edges on both sides of a dark module, which is no shift.
            let mean = |ends: bool| {
                let of_side = edges.iter().filter(|edge| edge.ends_dark == ends);
                let (sum, count) =
                    of_side.fold((0.0, 0.0), |(sum, n), it| (sum + it.shift, n + 1.0));
                sum / f64::max(count, 1.0)
            };
            let growth = (mean(true) - mean(false)) / 2.0;
            let mut sums = vec![(0.0, 0.0); shifts.len()];
            for edge in &edges {
                let column = (edge.at.0 / self.size.0 as f64 * self.cells.0 as f64) as usize;
                let row = (edge.at.1 / self.size.1 as f64 * self.cells.1 as f64) as usize;
                let cell = &mut sums[row * self.cells.0 + column];
                cell.0 += edge.shift - if edge.ends_dark { growth } else { -growth };
                cell.1 += 1.0;
            }
            for (shift, (sum, count)) in shifts.iter_mut().zip(sums) {
                shift[axis] += sum / f64::max(count, 1.0);
            }
        }
        shifts
    }

    /// The edges between dark and light modules along an axis.
    fn edges(&self, modules: &BitMatrix, axis: usize) -> Vec<Edge> {
        let turned =
            |(along, across): Place| if axis == 0 { (along, across) } else { (across, along) };
        let (along, across) = if axis == 0 { self.size } else { (self.size.1, self.size.0) };
        let is_dark = |along: usize, across: usize| match axis {
            0 => modules.get(along as u32, across as u32),
            _ => modules.get(across as u32, along as u32),
        };
        let mut edges = Vec::new();
        for row in 0..across {
            for edge in 1..along {
                let ends_dark = is_dark(edge - 1, row);
                if ends_dark == is_dark(edge, row) {
                    continue;
                }
                let at = |shift: f64| turned((edge as f64 + shift, row as f64 + 0.5));
                let grey = |shift: f64| self.grey(self.place(at(shift)));
                let found = crossing(grey, ends_dark != self.is_inverted);
                edges.extend(found.map(|shift| Edge { at: at(0.0), shift, ends_dark }));
            }
        }
        edges
    }

    /// The mean grey of all modules that were read as dark, or as light.
    fn mean(&self, modules: &BitMatrix, is_dark: bool) -> f64 {
        let all = (0..modules.width()).flat_map(|x| (0..modules.height()).map(move |y| (x, y)));
        let of_modules = all.filter(|(x, y)| modules.get(*x, *y) == is_dark);
        let greys = of_modules
            .map(|(x, y)| self.grey(self.place((f64::from(x) + 0.5, f64::from(y) + 0.5))));
        let (sum, count) = greys.fold((0.0, 0.0), |(sum, count), grey| (sum + grey, count + 1.0));
        sum / f64::max(count, 1.0)
    }

    /// The place of a point in pixels.
    fn place(&self, (x, y): Place) -> Place {
        let cell = |at: f64, size: usize, cells: usize| {
            // Beyond the symbol's edge its last shift holds.
            let at = (at / size as f64).clamp(0.0, 1.0) * cells as f64 - 0.5;
            let first = (at.floor().max(0.0) as usize).min(cells - 2);
            (first, at - first as f64)
        };
        let (column, right) = cell(x, self.size.0, self.cells.0);
        let (row, down) = cell(y, self.size.1, self.cells.1);
        let between = |axis: usize| {
            let shift =
                |x: usize, y: usize| self.shifts[(row + y) * self.cells.0 + column + x][axis];
            let of_row = |y: usize| shift(0, y) * (1.0 - right) + shift(1, y) * right;
            of_row(0) * (1.0 - down) + of_row(1) * down
        };
        let moved = point((x + between(0)) as f32, (y + between(1)) as f32);
        let Point { x, y } = self.corners.transform_point(moved);
        (f64::from(x), f64::from(y))
    }

    /// The mean grey of a module's inner 80 %, which is the aperture that ISO/IEC 15415 uses. `None` if its middle is
    /// outside the picture.
    pub(super) fn module(&self, (x, y): (i32, i32)) -> Option<f64> {
        let (x, y) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
        let middle = self.place((x, y));
        let (width, height) = (f64::from(self.picture.width), f64::from(self.picture.height));
        if !(0.0..width).contains(&middle.0) || !(0.0..height).contains(&middle.1) {
            return None;
        }
        let step = |to: Place| ((to.0 - middle.0) * 0.4, (to.1 - middle.1) * 0.4);
        let (right, down) = (step(self.place((x + 0.5, y))), step(self.place((x, y + 0.5))));
        let mut sum = 0.0;
        for (i, j) in (0..25).map(|at| (f64::from(at % 5 - 2), f64::from(at / 5 - 2))) {
            let at = (middle.0 + i * right.0 + j * down.0, middle.1 + i * right.1 + j * down.1);
            sum += self.pixel(at.0.floor(), at.1.floor());
        }
        Some(sum / 25.0)
    }

    /// The grey of a pixel, or of the nearest one in the picture.
    fn pixel(&self, x: f64, y: f64) -> f64 {
        let GreyImage { width, height, grey } = self.picture;
        let (x, y) = ((x.max(0.0) as u32).min(width - 1), (y.max(0.0) as u32).min(height - 1));
        grey[y as usize * *width as usize + x as usize].into()
    }

    /// The grey at a point between the middles of four pixels.
    fn grey(&self, (x, y): Place) -> f64 {
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (right, down) = (x - left, y - top);
        let of_row =
            |y: f64| self.pixel(left, y) * (1.0 - right) + self.pixel(left + 1.0, y) * right;
        of_row(top) * (1.0 - down) + of_row(top + 1.0) * down
    }

    /// Compares the corners of the cells with those of the even grid that fits best.
    pub(super) fn evenness(&self) -> Evenness {
        let (columns, rows) = self.cells;
        let node = |at: usize| {
            let (column, row) = (at % (columns + 1), at / (columns + 1));
            let of = |index: usize, size: usize, cells: usize| {
                index as f64 * size as f64 / cells as f64 - size as f64 / 2.0
            };
            (of(column, self.size.0, columns), of(row, self.size.1, rows))
        };
        let middle = (self.size.0 as f64 / 2.0, self.size.1 as f64 / 2.0);
        let count = (columns + 1) * (rows + 1);
        let nodes: Vec<(Place, Place)> = (0..count)
            .map(node)
            .map(|(x, y)| ((x, y), self.place((x + middle.0, y + middle.1))))
            .collect();
        // The nodes lie evenly around the middle, so that each coefficient of the fit is independent of the others.
        let fit = |weight: fn(Place) -> f64| {
            let squares: f64 = nodes.iter().map(|(from, _)| weight(*from).powi(2)).sum();
            let sum = |of: fn(Place) -> f64| {
                nodes.iter().map(|(from, to)| weight(*from) * of(*to)).sum::<f64>() / squares
            };
            (sum(|to| to.0), sum(|to| to.1))
        };
        let (origin, right, down) = (fit(|_| 1.0), fit(|from| from.0), fit(|from| from.1));
        let module = (right.0.hypot(right.1), down.0.hypot(down.1));
        let distance = |((x, y), to): &(Place, Place)| {
            let even = (origin.0 + right.0 * x + down.0 * y, origin.1 + right.1 * x + down.1 * y);
            (even.0 - to.0).hypot(even.1 - to.1)
        };
        let furthest = nodes.iter().map(distance).fold(0.0, f64::max);
        Evenness { module, distance: furthest / ((module.0 + module.1) / 2.0) }
    }
}

/// An edge between two modules.
struct Edge {
    /// Where it should be, in modules.
    at: Place,
    /// How far it is from there, in modules.
    shift: f64,
    /// Whether a dark module ends here, in the direction of the axis.
    ends_dark: bool,
}

/// Where the greys around an edge cross the middle between the darkest and the lightest, in modules from the expected
/// place: upwards if they `rise`, so that the edges beside this one do not count.
fn crossing(grey: impl Fn(f64) -> f64, rise: bool) -> Option<f64> {
    let points = (-STEPS..=STEPS).map(|step| f64::from(step) * STEP);
    let points: Vec<(f64, f64)> = points.map(|at| (at, grey(at))).collect();
    let greys = points.iter().map(|(_, grey)| *grey);
    let (least, most) = (greys.clone().fold(255.0, f64::min), greys.fold(0.0, f64::max));
    let middle = (least + most) / 2.0;
    if most - least < MIN_DIFFERENCE {
        return None;
    }
    let crossings = points.windows(2).filter_map(|pair| {
        let [(at, from), (_, to)] = [pair[0], pair[1]];
        let crosses =
            if rise { from < middle && to >= middle } else { from >= middle && to < middle };
        crosses.then(|| at + STEP * (middle - from) / (to - from))
    });
    crossings.min_by(|one, two| one.abs().total_cmp(&two.abs()))
}
