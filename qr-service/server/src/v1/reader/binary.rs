//! Turns grey into black and white, by thresholds that follow the light across the picture.
//!
//! rxing's own local binarizer uses the mean of a block as its threshold, which is wrong if most of a block has one
//! colour, as in blurred and faint symbols. This one uses the middle between a block's darkest and lightest pixel, as
//! zxing-cpp does.

use rxing::common::{BitArray, BitMatrix, GlobalHistogramBinarizer, HybridBinarizer};
use rxing::{Binarizer, Luma8Source};

use super::GreyImage;

/// Pixels a side of the blocks, each of which has its own threshold.
const BLOCK: usize = 8;
/// A threshold is averaged with those of the blocks up to this far away.
const REACH: usize = 2;
/// A block whose greys differ by less counts as one colour, and has no threshold of its own.
const MIN_CONTRAST: u8 = 24;

/// The dark pixels by rxing's own thresholds. The shapes of modules were tested against these.
pub(super) fn by_means(picture: &GreyImage) -> Option<BitMatrix> {
    let source = Luma8Source::new_with_slice(&picture.grey, picture.width, picture.height);
    HybridBinarizer::new(source.ok()?).get_black_matrix().ok().cloned()
}

/// The dark pixels. `None` if the picture is too small or has only one colour.
pub(super) fn binarized(picture: &GreyImage) -> Option<BitMatrix> {
    let (width, height) = (picture.width as usize, picture.height as usize);
    let columns = width.div_ceil(BLOCK);
    let thresholds = smoothed(&block_thresholds(picture), columns);
    if width.min(height) < BLOCK * (2 * REACH + 1) || !thresholds.iter().any(|it| *it > 0) {
        let source = Luma8Source::new_with_slice(&picture.grey, picture.width, picture.height);
        return GlobalHistogramBinarizer::new(source.ok()?).get_black_matrix().ok().cloned();
    }
    let mut bits = BitMatrix::new(picture.width, picture.height).ok()?;
    let mut line = BitArray::with_size(width);
    for (y, row) in picture.grey.chunks_exact(width).enumerate() {
        let (blocks, rest) = row.as_chunks();
        let mut last = [255; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let blocks =
            blocks.iter().chain([&last]).zip(&thresholds[y / BLOCK * columns..][..columns]);
        let mut word = 0;
        for (at, (pixels, threshold)) in (0..).step_by(BLOCK).zip(blocks) {
            let bit = at % usize::BITS as usize;
            word =
                if bit == 0 { 0 } else { word } | usize::from(dark_of(*pixels, *threshold)) << bit;
            line.setBulk(at - bit, word);
        }
        bits.setRow(y as u32, &line);
    }
    Some(bits)
}

/// Which of eight pixels are as dark as the threshold or darker, the first in the lowest bit. Compares all at once, as
/// lanes of a word.
fn dark_of(pixels: [u8; BLOCK], threshold: u8) -> u8 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (pixels, limit) = (u64::from_le_bytes(pixels), u64::from_le_bytes([threshold; BLOCK]));
    // Compares the lower seven bits of each lane, then the highest bit.
    let lower = (limit | HIGH) - (pixels & !HIGH);
    let dark = (limit & !pixels | !(limit ^ pixels) & lower) & HIGH;
    ((dark >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// The middle between the darkest and the lightest pixel of each block, or 0 if they hardly differ.
fn block_thresholds(picture: &GreyImage) -> Vec<u8> {
    let width = picture.width as usize;
    let (mut least, mut most) = (vec![255; width], vec![0; width]);
    let mut thresholds = Vec::new();
    for rows in picture.grey.chunks(BLOCK * width) {
        least.fill(255);
        most.fill(0);
        for row in rows.chunks_exact(width) {
            least.iter_mut().zip(row).for_each(|(least, grey)| *least = (*least).min(*grey));
            most.iter_mut().zip(row).for_each(|(most, grey)| *most = (*most).max(*grey));
        }
        thresholds.extend(least.chunks(BLOCK).zip(most.chunks(BLOCK)).map(|(least, most)| {
            let least = least.iter().fold(255, |least, it| least.min(*it));
            let most = most.iter().fold(0, |most, it| most.max(*it));
            if most - least > MIN_CONTRAST { least + (most - least) / 2 } else { 0 }
        }));
    }
    thresholds
}

/// The mean of the thresholds around each block, with its own counted three times. If there are none around it, the
/// result for the block before.
fn smoothed(thresholds: &[u8], columns: usize) -> Vec<u8> {
    let rows = thresholds.len() / columns;
    let around = |at: usize, count: usize| {
        let first = at.saturating_sub(REACH).min(count.saturating_sub(2 * REACH + 1));
        first..(first + 2 * REACH + 1).min(count)
    };
    let mut smooth = Vec::with_capacity(thresholds.len());
    for y in 0..rows {
        for x in 0..columns {
            let own = thresholds[y * columns + x];
            let (mut sum, mut count) = (2 * u32::from(own), 2 * u32::from(own > 0));
            for row in around(y, rows) {
                for threshold in &thresholds[row * columns..][around(x, columns)] {
                    sum += u32::from(*threshold);
                    count += u32::from(*threshold > 0);
                }
            }
            smooth.push(sum.checked_div(count).unwrap_or(0) as u8);
        }
    }
    let mut last = smooth.iter().copied().find(|it| *it > 0).unwrap_or(0);
    for threshold in &mut smooth {
        last = if *threshold > 0 { *threshold } else { last };
        *threshold = last;
    }
    smooth
}
