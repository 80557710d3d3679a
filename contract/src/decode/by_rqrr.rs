//! rqrr: slow, with some help for modules of uneven widths.

use anyhow::{anyhow, bail};
use rqrr::{BitGrid, Grid, PreparedImage, SimpleGrid};

use super::{Decoded, Pixels};

/// Decodes the symbol in a picture by rqrr alone; the first of several that can be read.
pub fn decode_pixels_by_rqrr(pixels: &Pixels) -> anyhow::Result<Decoded> {
    // Enlarging helps the decoder if modules are uneven and only about two pixels wide. In a few large symbols it takes
    // data for an alignment pattern at any size; for those, it gets the modules themselves.
    let decode_enlarged = |factor: &usize| detect_and_decode(&enlarged(pixels, *factor)).ok();
    detect_and_decode(pixels).or_else(|error| {
        [2, 3, 5]
            .iter()
            .find_map(decode_enlarged)
            .or_else(|| decode_grid(&Grid::new(modules(pixels)?)).ok())
            .ok_or(error)
    })
}

fn detect_and_decode(pixels: &Pixels) -> anyhow::Result<Decoded> {
    let mut image = PreparedImage::prepare_from_greyscale(pixels.width, pixels.height, |x, y| {
        pixels.grey[y * pixels.width + x]
    });
    let mut last = anyhow!("shows no QR symbol");
    for grid in &image.detect_grids() {
        match decode_grid(grid) {
            Ok(decoded) => return Ok(decoded),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn decode_grid<G: BitGrid>(grid: &Grid<G>) -> anyhow::Result<Decoded> {
    let mut bytes = Vec::new();
    let meta = grid.decode_to(&mut bytes).map_err(|error| anyhow!("cannot be read: {error}"))?;
    let level = match meta.ecc_level {
        // The format information numbers the levels in this order.
        0 => 'M',
        1 => 'L',
        2 => 'H',
        3 => 'Q',
        other => bail!("level {other}"),
    };
    Ok(Decoded { bytes, version: u8::try_from(meta.version.0)?, level })
}

/// The picture with each pixel repeated `factor` times in both directions.
fn enlarged(pixels: &Pixels, factor: usize) -> Pixels {
    let row = |y: usize| {
        let row = &pixels.grey[y * pixels.width..(y + 1) * pixels.width];
        row.iter().flat_map(|&grey| std::iter::repeat_n(grey, factor)).collect::<Vec<u8>>()
    };
    let grey = (0..pixels.height).flat_map(|y| row(y).repeat(factor)).collect();
    Pixels { width: pixels.width * factor, height: pixels.height * factor, grey }
}

/// The modules of the symbol, if the picture shows one alone, whole and upright. Their number is
/// counted along the timing pattern (ISO/IEC 18004, 6.3.5).
fn modules(pixels: &Pixels) -> Option<SimpleGrid> {
    let dark = |x: usize, y: usize| pixels.grey[y * pixels.width + x] < 128;
    let rows = || (0..pixels.height).filter(|&y| (0..pixels.width).any(|x| dark(x, y)));
    let columns = || (0..pixels.width).filter(|&x| (0..pixels.height).any(|y| dark(x, y)));
    let (top, left) = (rows().next()?, columns().next()?);
    let (height, width) = (rows().next_back()? + 1 - top, columns().next_back()? + 1 - left);

    let finder = (0..width).take_while(|&x| dark(left + x, top)).count();
    let timing = top + finder * 13 / 14; // the middle of the last of a finder's seven rows
    if timing >= pixels.height {
        return None;
    }
    let changes =
        (1..width).filter(|x| dark(left + x, timing) != dark(left + x - 1, timing)).count();
    let size = changes + 13; // two finders of seven, and a change at each module between
    let middle = |module: usize, length: usize| (2 * module + 1) * length / (2 * size);
    ((21..=177).contains(&size) && size % 4 == 1).then(|| {
        SimpleGrid::from_func(size, |x, y| dark(left + middle(x, width), top + middle(y, height)))
    })
}
