//! Where the modules of a row stood before, in the same row or in those above.

use super::deflate::WINDOW;
use super::rows::{Line, Row};

/// A place: the column up to which its modules are the same, the distance to it in bytes, which may be beyond the
/// window, and the byte that a repetition of it cannot go beyond.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) column: usize,
    pub(super) distance: usize,
    pub(super) limit: usize,
}

/// Lengths of sequences that places are known by.
const KEYS: usize = 5;
/// Modules in an entry.
const MODULES: u32 = 24;
/// Columns that are entered together: a multiple of those between columns that begin at the same pixel of a byte.
const TOGETHER: usize = 8;

/// The last places by their next modules: `KEY` of them, and `STEP` less each time. There are as many places as 16
/// times the values of `KEY` bits.
///
/// Two places of the picture that begin at the same pixel of a byte have the same bytes for as long as their modules
/// are equal. So there is an entry for each beginning and each sequence of some modules: the last place's modules
/// from bit 40, its byte in the picture from bit 8, and its column.
pub(super) struct Places<const KEY: usize, const STEP: usize, const SIZE: usize> {
    entries: Vec<[u64; SIZE]>,
    /// Of a column: its beginning.
    phase_mask: usize,
    /// Where the first line of the row at hand begins. No picture begins before the end of an empty entry's window.
    top: usize,
    /// How far below the last of its lines is. Later rows repeat that one.
    copies: usize,
    row_len: usize,
    /// Columns before this one are known.
    known: usize,
}

/// The place of an entry.
#[inline(always)]
fn index(phase: usize, modules: u64, key: usize) -> usize {
    8 << key | phase << key | (modules & ((1 << key) - 1)) as usize
}

impl<const KEY: usize, const STEP: usize, const SIZE: usize> Places<KEY, STEP, SIZE> {
    /// For a picture whose rows are `scale_px` lines each, `above` bytes after its beginning.
    pub(super) fn new(line: &Line, scale_px: usize, above: usize) -> Self {
        const { assert!(SIZE == 16 << KEY) };
        let row_len = scale_px * line.len;
        Places {
            entries: vec![[0; SIZE]; 1],
            phase_mask: 7 >> scale_px.trailing_zeros().min(3),
            top: (2 * WINDOW + above).wrapping_sub(row_len),
            copies: row_len - line.len,
            row_len,
            known: 0,
        }
    }

    /// Goes on to the next row.
    pub(super) fn begin_row(&mut self, line: &Line) {
        self.top = self.top.wrapping_add(self.row_len);
        self.known = line.columns.start;
    }

    /// Goes on to a column of the row.
    #[inline(always)]
    pub(super) fn pass<const W: usize>(&mut self, line: &Line, row: &Row<W>, column: usize) {
        while self.known + TOGETHER <= column {
            self.know(line, row, TOGETHER);
        }
    }

    /// Goes on to the end of the row.
    pub(super) fn end_row<const W: usize>(&mut self, line: &Line, row: &Row<W>) {
        self.pass(line, row, line.columns.end);
        self.know(line, row, line.columns.end - self.known);
    }

    #[inline(always)]
    fn know<const W: usize>(&mut self, line: &Line, row: &Row<W>, count: usize) {
        let mut modules = row.from(self.known);
        let (columns, last) = (self.known..self.known + count, self.top + self.copies);
        let Some(entries) = self.entries.first_mut() else { return };
        for column in columns {
            let place = ((last + line.offset_of(column)) << 8 | column) as u64;
            let entry = modules << (64 - MODULES) | place;
            let phase = column & self.phase_mask;
            for i in 0..KEYS {
                entries[index(phase, modules, KEY - STEP * i) % SIZE] = entry;
            }
            modules >>= 1;
        }
        self.known += count;
    }

    /// The last place with the same modules from a column on, of which 64 are given, for each length of a sequence.
    #[inline(always)]
    pub(super) fn find(
        &self,
        line: &Line,
        column: usize,
        modules: u64,
    ) -> impl Iterator<Item = Place> {
        let phase = column & self.phase_mask;
        let offset = line.offset_of(column);
        let (here, copies, limit) = (self.top + offset, self.copies, line.len + offset);
        let entries = self.entries.first();
        (0..KEYS).map(move |i| {
            let entry =
                entries.map_or(0, |entries| entries[index(phase, modules, KEY - STEP * i) % SIZE]);
            let count =
                ((modules ^ entry >> (64 - MODULES)) | 1 << MODULES).trailing_zeros() as usize;
            let distance = here.wrapping_sub((entry >> 8) as u32 as usize);
            // In the row at hand the first line is repeated.
            let copies = if distance.cast_signed() < 0 { copies } else { 0 };
            Place {
                column: column + count,
                distance: distance.wrapping_add(copies),
                limit: limit - line.offset_of((entry & 0xff) as usize),
            }
        })
    }
}
