//! An upper bound on the size of a picture, in bytes.

use qr_core::Raster;

/// Modules a side of the largest symbol, version 40. At most this many lines of a picture differ.
const MAX_MODULES: usize = 177;

/// Signature, header chunk, and the frames of the data and end chunks (RFC 2083): 8 + 25 + 12 + 12
/// bytes; zlib's frame (RFC 1950): 2 + 4.
const FRAMES: usize = 57 + 6;

/// The Huffman codes of a block: 3 + 14 + 19 * 3 bits, and 316 lengths of at most 7 + 7 bits.
const BLOCK_HEADER: usize = (3 + 14 + 19 * 3 + 316 * 14_usize).div_ceil(8);

/// The longest code of a literal, in bits (RFC 1951 section 3.2.7).
const LITERAL_BITS: usize = 15;
/// The longest match, in bits: the codes of its length and distance, and their extra bits.
const MATCH_BITS: usize = 15 + 5 + 15 + 13;
/// If `qr_core`'s deflate splits a match, every piece except the last is at least this long.
const PIECE: usize = 255;

/// Returns a number of bytes that no picture of `size_px` pixels a side exceeds, and 0 if there is
/// no picture of this size.
///
/// A line equal to the one before is part of a match. Any other line costs at most one literal for
/// each of its bytes, plus the match before it, whose last piece may be short. (`qr_core` writes a
/// match of one or two bytes as literals, which cost less.) The light lines above and below the
/// symbol count as two more lines that differ, and one match ends the picture.
pub(crate) fn max_png_bytes(size_px: u32) -> usize {
    if size_px == 0 || size_px > Raster::MAX_SIZE_PX {
        return 0;
    }
    let size_px = size_px as usize;
    let line_len = 1 + size_px.div_ceil(8);
    let differing = size_px.min(MAX_MODULES) + 2;
    let matches = size_px * line_len / PIECE + differing + 3;
    let literals = line_len * differing;
    // The end of the block counts as one more literal.
    let bits = (literals + 1) * LITERAL_BITS + matches * MATCH_BITS;
    FRAMES + BLOCK_HEADER + bits.div_ceil(8)
}
