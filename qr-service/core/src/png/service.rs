//! The service's picture, written from the tables in `prepared.rs`: the same bytes that `LineCoder` describes.

use super::checksum::MODULUS;
use super::prepared::{Edges, Group, Prepared, ROOM, groups_per_store, most_groups};
use super::{END, SERVICE_START};
use crate::symbol::Symbol;

/// The most groups of a row, and the most bytes of a line, rounded up.
const MOST_GROUPS: usize = 12;
const MOST_BYTES: usize = 32;
/// By the byte in which the part of a row to write ends: how many bytes of each group are before it.
const fn kept(scale: usize) -> [[u8; MOST_GROUPS]; MOST_BYTES] {
    let mut kept = [[0; MOST_GROUPS]; MOST_BYTES];
    let mut i = 0;
    while i < MOST_BYTES * scale * MOST_GROUPS {
        let (end, byte) = (i / (scale * MOST_GROUPS), i % (scale * MOST_GROUPS));
        kept[end][byte / scale] += (byte < end) as u8;
        i += 1;
    }
    kept
}

/// How dark the groups so far are, see [`Group::sums`].
#[derive(Default)]
struct Darkness {
    all: u64,
    /// `all` after each group, added up.
    by_group: u64,
    /// `all` before each row, added up.
    by_row: u64,
}

impl Darkness {
    #[inline(always)]
    fn add(&mut self, group: u64) {
        self.all += group;
        self.by_group += self.all;
    }
}

/// The stream in progress, after its start.
struct Stream {
    bytes: [u8; ROOM + 8],
    at: usize,
    /// Bits not written yet, the least significant first; fewer than 8 between calls.
    bits: u64,
    pending: u32,
}

impl Stream {
    /// Adds `count` bits to those pending, at most 63 in all.
    #[inline(always)]
    fn hold(&mut self, bits: u64, count: u32) {
        self.bits |= bits.wrapping_shl(self.pending);
        self.pending += count;
    }

    /// Writes all pending bits and keeps those that do not fill a byte.
    #[inline(always)]
    fn store(&mut self) {
        self.bytes[self.at.min(ROOM)..][..8].copy_from_slice(&self.bits.to_le_bytes());
        self.at += self.pending as usize / 8;
        self.bits >>= self.pending & 56;
        self.pending &= 7;
    }

    #[inline(always)]
    fn put_match(&mut self, prepared: &Prepared, len: i32) {
        let bits = prepared.matches[len as usize % 256];
        self.hold(u64::from(bits & 0xff_ffff), bits >> 24);
    }
}

impl Prepared {
    /// Appends the picture of a symbol of this version to `out`.
    pub(super) fn write(&self, symbol: &Symbol, out: &mut Vec<u8>) {
        let start = out.len();
        let (bytes, rest, pending) = self.start.parts();
        let mut stream = Stream { bytes: [0; ROOM + 8], at: 0, bits: rest.into(), pending };
        let dark = match self.layout.scale_px {
            2 => self.put_rows::<2, { most_groups(2) }>(symbol, &mut stream),
            3 => self.put_rows::<3, { most_groups(3) }>(symbol, &mut stream),
            4 => self.put_rows::<4, { most_groups(4) }>(symbol, &mut stream),
            5 => self.put_rows::<5, { most_groups(5) }>(symbol, &mut stream),
            _ => self.put_rows::<6, { most_groups(6) }>(symbol, &mut stream),
        };
        let (end, count) = self.end;
        for at in (0..count).step_by(48) {
            stream.hold((end >> at) as u64 & ((1 << 48) - 1), 48.min(count - at));
            stream.store();
        }
        out.reserve(SERVICE_START.len() + bytes.len() + stream.at + 21);
        out.extend_from_slice(&SERVICE_START);
        out.extend_from_slice(bytes);
        out.extend_from_slice(&stream.bytes[..stream.at + usize::from(stream.pending > 0)]);
        out.extend_from_slice(&self.adler32(&dark).to_be_bytes());
        // The chunk's length, without its type.
        let chunk = start + SERVICE_START.len() - 6;
        let len = (out.len() - chunk - 4) as u32;
        out[chunk - 4..chunk].copy_from_slice(&len.to_be_bytes());
        let mut crc = crc32fast::Hasher::new_with_initial(self.crc);
        crc.update(&out[chunk + 6 + bytes.len()..]);
        out.extend_from_slice(&crc.finalize().to_be_bytes());
        out.extend_from_slice(&END);
    }

    /// Writes the symbol's rows. See `LineCoder::differing` for the range of bytes to write of each; bytes count from
    /// the first group on.
    #[inline(never)]
    fn put_rows<const SCALE: usize, const GROUPS: usize>(
        &self,
        symbol: &Symbol,
        stream: &mut Stream,
    ) -> Darkness {
        let (modules, shift) = (symbol.modules(), self.before + 1);
        let Edges { left, longest, least_end, more, period } = self.edges;
        let mut dark = Darkness::default();
        // There is no match before the first row: it has no bits.
        let (mut row_before, mut end_before) = ([0; 2], period + left);
        for y in 0..modules.height() {
            dark.by_row += dark.all;
            let [low, high, _] = modules.words(y);
            // At larger scales all modules fit into the first word.
            let high = if SCALE == 2 { high << shift | low >> (64 - shift) } else { 0 };
            let row = [low << shift, high];
            let (first, after) = differing::<SCALE>(row, row_before);
            let first_byte = i32::from(self.first_bytes[first]);
            let end_byte = i32::from(self.end_bytes[after]);
            let same = left.max(end_before + more).min(longest).min(first_byte);
            let end = same.max(least_end).max(end_byte);
            stream.put_match(self, period + same - end_before);
            (row_before, end_before) = (row, end);
            let (same, end) = (same as usize, end as usize);
            // Nearly always the first group is written.
            if same < SCALE {
                self.put_groups::<SCALE, GROUPS>(row, (0, same), end, stream, &mut dark);
            } else {
                let first = (same / SCALE).min(GROUPS - 1);
                let from = (same - first * SCALE).min(SCALE);
                self.put_groups::<SCALE, GROUPS>(row, (first, from), end, stream, &mut dark);
            }
        }
        stream.put_match(self, period + left - end_before);
        stream.store();
        dark
    }

    /// Writes the codes of the bytes from byte `from` of a group to `end`.
    #[inline(always)]
    fn put_groups<const SCALE: usize, const GROUPS: usize>(
        &self,
        [mut low, mut high]: [u64; 2],
        (first, from): (usize, usize),
        end: usize,
        stream: &mut Stream,
        dark: &mut Darkness,
    ) {
        let per_store = const { groups_per_store(SCALE) };
        let kept = &const { kept(SCALE) }[end % MOST_BYTES];
        for group in 0..GROUPS {
            let Group { codes, ends, sums } = &self.groups[(low & 0x1ff) as usize];
            (low, high) = (low >> 8 | high << 56, high >> 8);
            dark.add(*sums);
            if group < first {
                continue;
            }
            let to = u32::from(ends[usize::from(kept[group]) % 8]);
            if group == first {
                let from = u32::from(ends[from]);
                stream.hold(codes >> from, to - from);
                stream.store();
            } else {
                stream.hold(*codes, to);
                if group % per_store == 0 || group == GROUPS - 1 {
                    stream.store();
                }
            }
        }
        // What is after the end.
        stream.bits &= (1 << stream.pending) - 1;
    }

    /// The Adler-32 (RFC 1950 section 9) of the picture: that of a light one, less what makes it dark. The sum `a`
    /// has each byte once, `b` as often as there are bytes from it on.
    fn adler32(&self, dark: &Darkness) -> u32 {
        let line_len = self.layout.line_len() as u64;
        let groups = most_groups(self.layout.scale_px) as u64;
        let (scale, size_px) = (self.layout.scale_px as u64, self.layout.size_px as u64);
        let rows = (self.layout.symbol_px / self.layout.scale_px) as u64;
        let [all, by_group, by_row] =
            [dark.all, dark.by_group, dark.by_row].map(|sum| sum & 0xffff_ffff);
        // The sum of each byte times its place in the line, of each row times its number.
        let places = self.base as u64 * all
            + (dark.all >> 32)
            + scale * (groups * all + groups * by_row - by_group);
        let rows_sum = (rows - 1) * all - by_row;
        let below = size_px - self.layout.offset_px as u64;
        let after = scale * line_len * below - line_len * (scale * (scale - 1) / 2);
        let b = self.light[1] + scale * places + scale * scale * line_len * rows_sum - after * all;
        let a = self.light[0] - scale * all;
        (((b % MODULUS) << 16) | (a % MODULUS)) as u32
    }
}

/// The first bit that differs, and the number of bits up to the last; behind all bits, and none, if all are equal.
#[inline(always)]
fn differing<const SCALE: usize>(a: [u64; 2], b: [u64; 2]) -> (usize, usize) {
    match [a[0] ^ b[0], a[1] ^ b[1]] {
        [0, 0] if SCALE == 2 => (128, 0),
        [low, 0] => (low.trailing_zeros() as usize, 64 - low.leading_zeros() as usize),
        [0, high] => (64 + high.trailing_zeros() as usize, 128 - high.leading_zeros() as usize),
        [low, high] => (low.trailing_zeros() as usize, 128 - high.leading_zeros() as usize),
    }
}
