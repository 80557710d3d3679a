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

/// The most lengths of sequences that places are known by.
pub(super) const KEYS: usize = 5;
/// The lengths, if fewer places than this are in the window that begin at the same pixel of a byte; and if there are
/// more. The more there are, the longer are the sequences that several of them have.
const FEW: usize = 100;
const FEW_KEYS: [u32; 4] = [3, 4, 6, 8];
const MANY_KEYS: [u32; KEYS] = [4, 6, 8, 10, 12];
/// Modules in an entry.
const MODULES: u32 = 24;
/// Columns that are entered together: a multiple of those between columns that begin at the same pixel of a byte.
const TOGETHER: usize = 8;

/// The last places by their next modules, of which there are some for each length of a sequence.
///
/// Two places of the picture that begin at the same pixel of a byte have the same bytes for as long as their modules
/// are equal. So there is an entry for each beginning and each sequence of some modules: the last place's modules
/// from bit 40, its byte in the picture from bit 8, and its column.
pub(super) struct Places {
    entries: Vec<u64>,
    keys: [Key; KEYS],
    /// How many of the keys there are.
    count: usize,
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

/// A length of sequences: how many modules, and where its entries begin.
#[derive(Clone, Copy, Default)]
struct Key {
    modules: u32,
    entries: usize,
}

impl Key {
    #[inline(always)]
    fn index(&self, phase: usize, modules: u64) -> usize {
        self.entries + (phase << self.modules) + (modules & ((1 << self.modules) - 1)) as usize
    }
}

impl Places {
    /// For a picture whose rows are `scale_px` lines each, `above` bytes after its beginning.
    pub(super) fn new(line: &Line, scale_px: usize, above: usize) -> Self {
        let row_len = scale_px * line.len;
        let phases = 8 >> scale_px.trailing_zeros().min(3);
        let rows = (WINDOW / row_len).min(line.columns.len());
        let in_window = rows * line.columns.len() / phases;
        let modules = if in_window < FEW { FEW_KEYS.as_slice() } else { &MANY_KEYS };
        let mut keys = [Key::default(); KEYS];
        let mut len = 0;
        for (key, modules) in keys.iter_mut().zip(modules) {
            *key = Key { modules: *modules, entries: len };
            len += phases << modules;
        }
        Places {
            entries: vec![0; len],
            keys,
            count: modules.len(),
            phase_mask: phases - 1,
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
        for column in columns {
            let place = ((last + line.offset_of(column)) << 8 | column) as u64;
            let entry = modules << (64 - MODULES) | place;
            for key in &self.keys[..self.count] {
                self.entries[key.index(column & self.phase_mask, modules)] = entry;
            }
            modules >>= 1;
        }
        self.known += count;
    }

    /// Whether sequences have so few places that it is quickly known which of them is the best.
    pub(super) fn are_few(&self) -> bool {
        self.count < KEYS
    }

    /// The last place with the same modules from a column on, of which 64 are given, for each length of a sequence,
    /// the shortest first. So each is at least as far away as the one before.
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
        self.keys.iter().take(self.count).map(
            #[inline(always)]
            move |key| {
                let entry = self.entries[key.index(phase, modules)];
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
            },
        )
    }
}
