//! What is known of the service's picture by version, before there is a text.
//!
//! At a given scale and offset, each byte of a line shows few modules, so all texts have nearly the same
//! statistics. A Huffman code made from many texts takes a few bytes more than the picture's own code, but saves
//! counting its symbols and making the code. The test in `tests.rs` writes the tables in `lengths.rs`.
//!
//! Eight modules fill whole bytes, so with the module before them they determine the bytes, their codes and their
//! checksum. [`Group`] has all of these, and nothing is drawn.

use super::SERVICE_START;
use super::deflate::{Limits, first_piece};
use super::huffman::{Codes, DISTANCES, END_OF_BLOCK, Header, LITERALS, Lengths};
use crate::raster::{Layout, Raster};
use crate::version::size_of;

#[rustfmt::skip]
mod lengths;
use lengths::LENGTHS;

/// The most bytes of the stream after its start; `Prepared::new` checks it.
pub(super) const ROOM: usize = 2032;

/// How many groups have codes that fit into a word with 7 bits before them; `Prepared::new` checks it.
pub(super) const fn groups_per_store(scale: usize) -> usize {
    match scale {
        2 => 4,
        3 => 2,
        4 => 2,
        _ => 1,
    }
}

/// Versions with prepared codes: enough for a text of 512 bytes at level L.
const VERSIONS: usize = 15;
/// The picture of [`Raster::SERVICE`], for versions from 1 on.
pub(super) static PREPARED: [Prepared; VERSIONS] = {
    let mut all = [const { Prepared::new(1) }; VERSIONS];
    let mut v = 1;
    while v < VERSIONS {
        all[v] = Prepared::new(v as u8 + 1);
        v += 1;
    }
    all
};

/// The picture of a version.
pub(super) struct Prepared {
    pub(super) layout: Layout,
    /// The codes and the bits of the stream up to the symbol's first byte, and the CRC-32 of the chunk up to the last
    /// whole byte of that.
    pub(super) start: Header,
    pub(super) crc: u32,
    /// By nine modules, the first in the lowest bit.
    pub(super) groups: [Group; 512],
    /// Light modules to the left of the symbol that the first group has, and the byte of a line where it begins.
    pub(super) before: u32,
    pub(super) base: usize,
    pub(super) edges: Edges,
    /// By bits of a row that has one module before its groups: the bytes before the first bit, and up to the end of the
    /// last, which is given by the number of bits.
    pub(super) first_bytes: [u8; 129],
    pub(super) end_bytes: [u8; 129],
    /// By length: a match at the distance of a line, with its number of bits from bit 24 on. Without a length, nothing.
    pub(super) matches: [u32; 256],
    /// The stream after the match that follows the symbol, and its number of bits.
    pub(super) end: (u128, u32),
    /// The two sums of Adler-32 of a light picture, not reduced.
    pub(super) light: [u64; 2],
}

/// The bytes that eight modules fill, and that the module before them begins.
pub(super) struct Group {
    /// The codes of all bytes, one after the other.
    pub(super) codes: u64,
    /// The number of bits of the codes before each byte, and of all.
    pub(super) ends: [u8; 8],
    /// How much less than light the bytes are: the sum, and from bit 32 on the sum with each byte times its index.
    pub(super) sums: u64,
}

/// The numbers of `LineCoder::differing`, with bytes counted from the first group on.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    /// The least and the most bytes of a line that a match may include.
    pub(super) left: i32,
    pub(super) longest: i32,
    /// Where the bytes to write end at least.
    pub(super) least_end: i32,
    /// The most bytes of a match more than those of a period, the lines of a row.
    pub(super) more: i32,
    pub(super) period: i32,
}

/// The most groups in a row at this scale.
pub(super) const fn most_groups(scale: usize) -> usize {
    match scale {
        2 => 11,
        3 => 8,
        4 => 6,
        _ => 4,
    }
}

impl Prepared {
    const fn new(version: u8) -> Self {
        let modules = size_of(version);
        let size_px = Raster::SERVICE.size_px as usize;
        let scale = size_px / (modules + 2 * Raster::SERVICE.margin_modules as usize);
        let layout = Layout::centred(size_px, scale, modules);
        let codes = Codes::new(&lengths_of_version(version));
        // Only one module must have pixels in the first byte, besides those of the group.
        let mut before = 0;
        while (layout.offset_px - before * scale) % 8 > scale {
            before += 1;
        }
        let first_px = layout.offset_px - before * scale;
        let (base, phase) = (1 + first_px / 8, first_px % 8);
        let limits = limits(&layout);
        let start = start(&codes, &layout, &limits);
        let groups = groups(&codes, scale, phase);
        assert!(phase + before * scale + layout.symbol_px <= 8 * scale * most_groups(scale));
        assert!(modules * (most_groups(scale) * longest(&groups, scale) + 24) / 8 + 40 < ROOM);
        let (mut first_bytes, mut end_bytes, mut bits) = ([0; 129], [0; 129], 1);
        while bits <= 128 {
            first_bytes[bits] = (((bits - 1) * scale + phase) / 8) as u8;
            end_bytes[bits] = ((bits * scale + phase + 7 - scale) / 8) as u8;
            bits += 1;
        }
        Prepared {
            crc: crc32(crc32(0, SERVICE_START.split_at(37).1), start.parts().0),
            before: before as u32,
            edges: edges(&layout, &limits, base as i32),
            matches: matches(&codes, &layout, &limits),
            end: end(&codes, &layout, &limits),
            light: light(&layout),
            layout,
            start,
            groups,
            base,
            first_bytes,
            end_bytes,
        }
    }
}

const fn edges(layout: &Layout, limits: &Limits, base: i32) -> Edges {
    let (line_len, period) = (layout.line_len(), layout.scale_px * layout.line_len());
    let [left, right] = limits.edges;
    let tail = limits.most.saturating_sub(period - line_len + left);
    Edges {
        left: left as i32 - base,
        longest: (line_len - right) as i32 - base,
        least_end: line_len as i32 - if tail > right { tail } else { right } as i32 - base,
        more: limits.most as i32 - period as i32,
        period: period as i32,
    }
}

/// The limits of matches for prepared codes.
pub(super) const fn limits(layout: &Layout) -> Limits {
    let light_px = layout.size_px - layout.offset_px - layout.symbol_px;
    let edges = [1 + layout.offset_px / 8, light_px / 8];
    Limits::prepared(layout.line_len(), layout.scale_px, edges)
}

/// The stream up to the symbol's first byte: its header, and the light lines as `LineCoder` describes them.
const fn start(codes: &Codes, layout: &Layout, limits: &Limits) -> Header {
    let (mut start, line_len) = (codes.header, layout.line_len());
    start.put_code(codes.literals[0]);
    start.put_code(codes.literals[0xff]);
    start.put_bits(codes.repetition(line_len - 2, 1));
    let mut len = (layout.offset_px - 1) * line_len + limits.edges[0];
    while len > 0 {
        let piece = first_piece(len);
        start.put_bits(codes.repetition(piece, line_len));
        len -= piece;
    }
    start
}

/// The stream from the symbol's last byte on: light lines, and the end of the block.
const fn end(codes: &Codes, layout: &Layout, limits: &Limits) -> (u128, u32) {
    let (line_len, [left, right]) = (layout.line_len(), limits.edges);
    let (mut bits, mut count) = (codes.literals[0xff] as u128 & 0xffff, codes.literals[0xff] >> 16);
    let (more, len) = codes.repetition(line_len - left - right - 1, 1);
    bits |= (more as u128) << count;
    count += len;
    let below = layout.size_px - layout.offset_px - layout.symbol_px;
    let mut rest = (below - 1) * line_len + right;
    while rest > 0 {
        let piece = first_piece(rest);
        let (more, len) = codes.repetition(piece, line_len);
        bits |= (more as u128) << count;
        count += len;
        rest -= piece;
    }
    let code = codes.literals[END_OF_BLOCK];
    bits |= (code as u128 & 0xffff) << count;
    (bits, count + (code >> 16))
}

/// The sums of Adler-32 (RFC 1950 section 9) of a light picture, not reduced.
const fn light(layout: &Layout) -> [u64; 2] {
    let (line_len, lines) = (layout.line_len() as u64, layout.size_px as u64);
    let bytes = line_len * lines;
    // The filter types are zeros: those of the places line_len, 2 line_len and so on, counted from the end.
    let places = bytes * (bytes + 1) / 2 - line_len * (lines * (lines + 1) / 2);
    [1 + 0xff * (bytes - lines), bytes + 0xff * places]
}

const fn matches(codes: &Codes, layout: &Layout, limits: &Limits) -> [u32; 256] {
    let mut matches = [0; 256];
    let mut len = (layout.scale_px - 1) * layout.line_len() + limits.edges[0] + limits.edges[1];
    while len <= limits.most {
        let (bits, count) = codes.repetition(len, layout.line_len());
        assert!(count <= 20);
        matches[len] = bits as u32 | count << 24;
        len += 1;
    }
    matches
}

const fn groups(codes: &Codes, scale: usize, phase: usize) -> [Group; 512] {
    let mut groups = [const { Group { codes: 0, ends: [0; 8], sums: 0 } }; 512];
    let mut i = 0;
    while i < 512 * scale {
        let (group, at) = (&mut groups[i / scale], i % scale);
        let byte = byte_of(i / scale, 8 * at, scale, phase);
        let code = codes.literals[byte as usize];
        assert!(code != 0);
        group.codes |= (code as u64 & 0xffff) << group.ends[at];
        group.ends[at + 1] = group.ends[at] + (code >> 16) as u8;
        group.sums += (0xff - byte as u64) * (1 | (at as u64) << 32);
        i += 1;
    }
    groups
}

/// Bits of the longest codes of a group. Those between two stores must fit into a word.
const fn longest(groups: &[Group; 512], scale: usize) -> usize {
    let (mut longest, mut i) = (0, 0);
    while i < 512 {
        if groups[i].ends[scale] as usize > longest {
            longest = groups[i].ends[scale] as usize;
        }
        i += 1;
    }
    assert!(7 + groups_per_store(scale) * longest <= 63 && 7 + 20 + longest <= 63);
    longest
}

/// The byte that begins `at` pixels after the first of a group.
const fn byte_of(modules: usize, at: usize, scale: usize, phase: usize) -> u8 {
    let (mut byte, mut k) = (0, 0);
    while k < 8 {
        // The second module begins at the phase.
        let module = (at + k + scale - phase) / scale;
        if modules >> module & 1 == 0 {
            byte |= 0x80 >> k;
        }
        k += 1;
    }
    byte
}

/// The CRC-32 of more bytes (RFC 2083 appendix 15).
const fn crc32(before: u32, bytes: &[u8]) -> u32 {
    let (mut crc, mut i) = (!before, 0);
    while i < 8 * bytes.len() {
        crc ^= (bytes[i / 8] >> (i % 8) & 1) as u32;
        crc = (crc >> 1) ^ ((crc & 1) * 0xedb8_8320);
        i += 1;
    }
    !crc
}

/// The code lengths of a version: from pairs of a symbol and its length; distances are numbered after the literals.
pub(super) const fn lengths_of_version(version: u8) -> Lengths {
    let pairs = LENGTHS[version as usize - 1];
    let mut lengths = Lengths { literals: [0; LITERALS], distances: [0; DISTANCES] };
    let mut i = 0;
    while i < pairs.len() {
        let (symbol, length) = (pairs[i].0 as usize, pairs[i].1);
        if symbol < LITERALS {
            lengths.literals[symbol] = length;
        } else {
            lengths.distances[symbol - LITERALS] = length;
        }
        i += 1;
    }
    lengths
}

#[cfg(test)]
mod tests;
