//! How large a picture can be at most.

use qr_core::Raster;

/// Modules a side of the largest symbol, version 40: no more lines of a picture differ.
const MAX_MODULES: usize = 177;

/// Signature, header, the frames of the data and of the end: 8 + 25 + 12 + 12 bytes; the frame of
/// zlib: 2 + 4 (RFC 2083, RFC 1950).
const FRAMES: usize = 57 + 6;

/// What tells a block's Huffman codes: 3 + 14 + 19 * 3 bits, and 316 lengths of at most 7 + 7 bits.
const BLOCK_HEADER: usize = (3 + 14 + 19 * 3 + 316 * 14_usize).div_ceil(8);

/// The longest code of a literal, in bits (RFC 1951 section 3.2.7).
const LITERAL_BITS: usize = 15;
/// The longest match: codes of its length and distance, and their extra bits.
const MATCH_BITS: usize = 15 + 5 + 15 + 13;
/// The shortest match but the last where a long one is written in pieces (`qr_core`'s deflate).
const PIECE: usize = 255;

/// Bytes that no picture of `size_px` pixels a side exceeds.
///
/// A line that is as the one before is part of a match. A line that is not costs at most a literal
/// for each of its bytes, and the match before it: one piece more than its length asks for, where
/// two literals instead of a short one are cheaper still. The light lines above and below are two
/// more of these, with a match of their own each; one match ends the picture.
pub(crate) fn max_png_bytes(size_px: u32) -> usize {
    if size_px == 0 || size_px > Raster::MAX_SIZE_PX {
        return 0;
    }
    let size_px = size_px as usize;
    let line_len = 1 + size_px.div_ceil(8);
    let differing = size_px.min(MAX_MODULES) + 2;
    let matches = size_px * line_len / PIECE + differing + 3;
    let literals = line_len * differing;
    // The end of the block is a literal too.
    let bits = (literals + 1) * LITERAL_BITS + matches * MATCH_BITS;
    FRAMES + BLOCK_HEADER + bits.div_ceil(8)
}
