//! Finds finder patterns: runs of dark and light in the ratio 1:1:3:1:1 along a row and a column through their middle
//! (ISO/IEC 18004 sections 6.3.3 and 12).

/// A place in pixels, from the upper left corner of the picture.
pub(super) type Point = (f32, f32);

/// Grey pixels, row by row.
pub(super) struct Picture<'a> {
    pub(super) grey: &'a [u8],
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Greys that differ by less are one run: the darkest of a light run, or the lightest of a dark one.
const MIN_CONTRAST: u8 = 24;
/// Rows from one that is searched to the next. The core of a finder pattern is three modules high.
const ROW_STEP: usize = 3;
/// The most finder patterns in a picture that is read.
const MAX_FINDERS: usize = 80;
/// The most steps of all that is compared with rows of the right ratio. It bounds the time for hostile pictures.
const MAX_STEPS: usize = 1 << 19;

/// A finder pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finder {
    pub(super) middle: Point,
    /// Width and height in pixels, measured through the middle.
    pub(super) size: Point,
    /// The greys of what is dark in a symbol that is dark on light, and of what is light there.
    pub(super) ink: u8,
    pub(super) paper: u8,
}

impl Finder {
    /// Whether the symbol is light on dark.
    pub(super) fn is_inverted(&self) -> bool {
        self.ink > self.paper
    }

    pub(super) fn contrast(&self) -> u8 {
        self.ink.abs_diff(self.paper)
    }

    /// The middle between ink and paper, rounded up.
    pub(super) fn threshold(&self) -> u8 {
        self.ink.min(self.paper) + self.contrast().div_ceil(2)
    }

    /// Whether a point lies in the core.
    fn has_inside(&self, (x, y): Point) -> bool {
        let (across, down) = ((x - self.middle.0).abs(), (y - self.middle.1).abs());
        across * 4.0 < self.size.0 && down * 4.0 < self.size.1
    }
}

/// All finder patterns of the picture, dark on light or the reverse; `None` if they are too many.
pub(super) fn find(picture: &Picture<'_>) -> Option<Vec<Finder>> {
    let mut search = Search { picture, found: Vec::new(), steps: 0 };
    let mut before: &[u8] = &[];
    let rows = picture.grey.chunks_exact(picture.width).enumerate();
    for (y, row) in rows.skip(1).step_by(ROW_STEP) {
        // Most rows of a large picture show the same as the one before.
        if row != before {
            search.row(row, y);
        }
        if search.found.len() > MAX_FINDERS || search.steps > MAX_STEPS {
            return None;
        }
        before = row;
    }
    Some(search.found)
}

/// Whether five runs have the ratio 1:1:3:1:1, with a tolerance of about half a module.
fn is_finder(runs: [usize; 5]) -> bool {
    let total: usize = runs.iter().sum();
    let is_near = |run: usize, modules: usize, tolerance: usize| {
        (7 * run).abs_diff(modules * total) * 10 <= tolerance * total + 30
    };
    is_near(runs[2], 3, 9) && [0, 1, 3, 4].iter().all(|&side| is_near(runs[side], 1, 6))
}

struct Search<'a> {
    picture: &'a Picture<'a>,
    found: Vec<Finder>,
    steps: usize,
}

impl Search<'_> {
    /// Searches a row. A run ends where the grey differs enough from the run's darkest or lightest, so faint and strong
    /// symbols are found in the same picture.
    fn row(&mut self, row: &[u8], y: usize) {
        let mut extreme = row[0];
        let next = row.iter().find(|grey| grey.abs_diff(extreme) >= MIN_CONTRAST);
        let mut is_dark = next.is_some_and(|next| *next > extreme);
        // Where the last five runs began, and the one that goes on.
        let mut edges = [0; 6];
        for (start, pixels) in (0..).step_by(16).zip(row.chunks(16)) {
            if *pixels == [extreme; 16][..pixels.len()] {
                continue;
            }
            for (at, &grey) in (start..).zip(pixels) {
                let (darker, lighter) = (extreme.min(grey), extreme.max(grey));
                if (grey > extreme) == is_dark && lighter - darker >= MIN_CONTRAST {
                    (is_dark, extreme) = (!is_dark, grey);
                    edges = [edges[1], edges[2], edges[3], edges[4], edges[5], at];
                    self.check(row, edges, y);
                } else {
                    extreme = if is_dark { darker } else { lighter };
                }
            }
        }
        let [_, rest @ ..] = edges;
        self.check(row, [rest[0], rest[1], rest[2], rest[3], rest[4], row.len()], y);
    }

    /// Adds the finder pattern that five runs of a row cross, if its column has the same ratio.
    fn check(&mut self, row: &[u8], edges: [usize; 6], y: usize) {
        if !is_finder(std::array::from_fn(|run| edges[run + 1] - edges[run])) {
            return;
        }
        let middle = |run: usize| row[(edges[run] + edges[run + 1]) / 2];
        let (ink, rings) = (middle(2), [middle(1), middle(3)]);
        // A blurred ring has not all of the paper's grey.
        let paper = if rings[0] > ink { rings[0].max(rings[1]) } else { rings[0].min(rings[1]) };
        let x = (edges[2] + edges[3]) / 2;
        let at = (x as f32 + 0.5, y as f32 + 0.5);
        self.steps += self.found.len();
        if !self.found.iter().any(|it| it.is_inverted() == (ink > paper) && it.has_inside(at)) {
            let size = ((edges[5] - edges[0]) as f32, 0.0);
            let finder = self.measured(Finder { middle: at, size, ink, paper }, (x, y));
            self.found.extend(finder);
        }
    }

    /// Measures a finder pattern up and down from a point of its core, then to the left and right.
    fn measured(&mut self, mut finder: Finder, (x, y): (usize, usize)) -> Option<Finder> {
        let Picture { grey, width, height } = *self.picture;
        let most = finder.size.0 as usize * 2;
        let threshold = finder.threshold();
        let is_ink = |x: usize, y: usize| (grey[y * width + x] < threshold) != finder.is_inverted();
        let (top, bottom) = self.line(|y| is_ink(x, y), y, height, most)?;
        let y = (top + bottom) / 2;
        let (left, right) = self.line(|x| is_ink(x, y), x, width, most)?;
        finder.middle = ((left + right) as f32 / 2.0, (top + bottom) as f32 / 2.0);
        finder.size = ((right - left) as f32, (bottom - top) as f32);
        let is_even = finder.size.0 < 2.0 * finder.size.1 && finder.size.1 < 2.0 * finder.size.0;
        is_even.then_some(finder)
    }

    /// The first pixel of a finder pattern on a line of `len` pixels, whose pixel `at` is in the core, and the one
    /// after its last; `None` if the runs have another ratio.
    fn line(
        &mut self,
        is_ink: impl Fn(usize) -> bool,
        at: usize,
        len: usize,
        most: usize,
    ) -> Option<(usize, usize)> {
        // Where the core, the ring around it and the outer ring end, in pixels from `at`.
        let ends = |room: usize, is_ink: &dyn Fn(usize) -> bool| {
            let (mut ends, mut from) = ([0; 3], 0);
            for (end, ink) in ends.iter_mut().zip([true, false, true]) {
                let most = room.min(from + most);
                *end = (from..most).find(|&k| is_ink(k) != ink).unwrap_or(most);
                from = *end;
            }
            ends
        };
        let [a, b, c] = ends(at + 1, &|k| is_ink(at - k));
        let [d, e, f] = ends(len - at, &|k| is_ink(at + k));
        self.steps += c + f + 8;
        let runs = [c - b, b - a, (a + d).saturating_sub(1), e - d, f - e];
        is_finder(runs).then_some((at + 1 - c, at + f))
    }
}
