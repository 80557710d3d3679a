//! The outline of the dark modules as closed paths of horizontal and vertical lines.
//!
//! A path has the dark modules on its right, so it goes clockwise around dark areas and counter-clockwise
//! around light ones within them. So both fill rules, nonzero and even-odd, fill the dark modules.

use crate::modules::Modules;

/// Receives the paths, in modules, x to the right and y down.
pub(super) trait Path {
    /// Begins a path, relative to the beginning of the one before; the first is relative to the
    /// symbol's top left corner.
    fn begin(&mut self, dx: i32, dy: i32);
    /// Draws a line to the right, or to the left if `dx` is negative.
    fn horizontal(&mut self, dx: i32);
    /// Draws a line down, or up if `dy` is negative.
    fn vertical(&mut self, dy: i32);
    /// Ends a path with a line to its beginning.
    fn close(&mut self);
}

/// Describes the outline to `path`.
pub(super) fn trace(modules: Modules<'_>, path: &mut impl Path) {
    let mut last = (0, 0);
    // The modules with a light row above and a light column to the left, so that no coordinate is negative.
    let mut rows = [[0; 3]; 179];
    // Upper edges of dark modules that no path has used yet. Each path has at least one.
    let mut edges = [[0; 3]; 177];
    let mut above = [0; 3];
    for (y, edges) in edges.iter_mut().enumerate().take(modules.height()) {
        let row = modules.words(y);
        let carried = |w: usize| if w > 0 { row[w - 1] >> 63 } else { 0 };
        rows[y + 1] = std::array::from_fn(|w| row[w] << 1 | carried(w));
        *edges = std::array::from_fn(|w| row[w] & !above[w]);
        above = row;
    }
    for y in 0..modules.height() {
        for w in 0..edges[y].len() {
            while edges[y][w] != 0 {
                let x = w * 64 + edges[y][w].trailing_zeros() as usize;
                path.begin(x as i32 - last.0, y as i32 - last.1);
                last = (x as i32, y as i32);
                trace_path(&rows, &mut edges, last, path);
            }
        }
    }
}

/// Traces the path that begins to the right at the upper left corner of the dark module at `start`.
fn trace_path(
    rows: &[[u64; 3]; 179],
    edges: &mut [[u64; 3]; 177],
    start: (i32, i32),
    path: &mut impl Path,
) {
    let is_dark = |x: i32, y: i32| {
        let (x, y) = ((x + 1) as usize, (y + 1) as usize);
        rows[y][x / 64] >> (x % 64) & 1 == 1
    };
    let ((mut x, mut y), (mut dx, mut dy)) = (start, (1, 0));
    let mut length = 0;
    loop {
        if dx == 1 {
            edges[y as usize][x as usize / 64] &= !(1 << (x as usize % 64));
        }
        (x, y, length) = (x + dx, y + dy, length + 1);
        // The modules ahead, to the left and to the right.
        let (left, right) = match (dx, dy) {
            (1, _) => (is_dark(x, y - 1), is_dark(x, y)),
            (-1, _) => (is_dark(x - 1, y), is_dark(x - 1, y - 1)),
            (_, 1) => (is_dark(x, y), is_dark(x - 1, y)),
            _ => (is_dark(x - 1, y - 1), is_dark(x, y - 1)),
        };
        if right && !left {
            continue;
        }
        // Dark modules that touch at a corner become one area: that takes fewer paths.
        let (next_dx, next_dy) = if left { (dy, -dx) } else { (-dy, dx) };
        if (x, y) == start && next_dx == 1 {
            // The last line is the one that closes the path.
            return path.close();
        }
        match dx {
            0 => path.vertical(dy * length),
            _ => path.horizontal(dx * length),
        }
        (dx, dy, length) = (next_dx, next_dy, 0);
    }
}
