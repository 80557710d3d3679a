//! Reads symbols from pictures that programs draw: modules of even size, sharp or scaled, in any two colours. Photos
//! are for other readers, so this one reads a picture as a whole or not at all, and never guesses.

mod correct;
mod decode;
mod finders;
mod grid;
mod message;

use crate::level::Level;
use crate::matrix::Row;
use crate::modules::{Modules, Rows};
use finders::{Finder, Picture};
use grid::Grid;
pub use message::Content;

/// A kind of symbol.
#[doc = example!(read: assert_eq!(symbols[0].kind, SymbolKind::Qr))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// QR.
    Qr,
    /// Micro QR.
    Micro,
    /// Rectangular Micro QR.
    Rmqr,
}

/// A symbol that [`read`] has found.
#[doc = example!(read: assert_eq!(symbols[0].corners[0], (16.0, 16.0)))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadSymbol {
    /// The kind of symbol.
    pub kind: SymbolKind,
    /// The version, as the symbols of this crate count it: 1 to 40, 1 to 4 for Micro QR, 1 to 32 for rMQR.
    pub version: u8,
    /// Error correction level; `None` for Micro QR M1.
    pub level: Option<Level>,
    /// Mask pattern reference; 0 for rMQR.
    pub mask: u8,
    /// The message.
    pub content: Content,
    /// Whether the symbol is light on dark.
    pub is_inverted: bool,
    /// The corners in pixels, x and y: the symbol's own top left, top right, bottom right and bottom left.
    pub corners: [(f32, f32); 4],
    rows: Vec<Row>,
    width: usize,
}

impl ReadSymbol {
    /// The modules upright, as they were before errors were corrected.
    #[doc = example!(read: assert!(symbols[0].modules().rows().flatten().eq(symbol.rows().flatten())))]
    pub fn modules(&self) -> Modules<'_> {
        Modules::new(Rows::ThreeWords(&self.rows), self.width)
    }
}

/// Reads all symbols of a picture: its grey pixels from 0, black, to 255, row by row. Symbols may be turned by any
/// angle, mirrored and light on dark.
///
/// The algorithm is the reference one of ISO/IEC 18004, section 12, for symbols that are not distorted. Damaged modules
/// are corrected within the limits of the standard's table 9, which leave room to notice what cannot be corrected.
///
/// `None` unless every finder pattern in the picture, and what looks like one, belongs to a symbol that was read, so
/// that another reader may find more. Takes milliseconds at most for a picture of four million pixels.
#[doc = example!(read: assert_eq!((symbols.len(), &*symbols[0].content.bytes), (1, &b"text"[..])))]
pub fn read(grey: &[u8], width: usize) -> Option<Vec<ReadSymbol>> {
    let picture = Picture { grey, width, height: grey.len().checked_div(width)? };
    if width * picture.height != grey.len() {
        return None;
    }
    let finders = finders::find(&picture)?;
    let mut search =
        Search { picture, is_explained: vec![false; finders.len()], finders, found: Vec::new() };
    search.read_qr();
    search.read_single();
    let is_whole = !search.found.is_empty() && !search.is_explained.contains(&false);
    is_whole.then_some(search.found)
}

struct Search<'a> {
    picture: Picture<'a>,
    finders: Vec<Finder>,
    /// Whether each finder pattern is part of a symbol that was read, or of its message.
    is_explained: Vec<bool>,
    found: Vec<ReadSymbol>,
}

impl Search<'_> {
    /// Reads the QR symbols of all sets of three finder patterns.
    fn read_qr(&mut self) {
        let count = self.finders.len();
        for index in 0..count.pow(3) {
            let [a, b, c] = [index / count / count, index / count % count, index % count];
            if a == b || [a, b, c].iter().any(|&it| self.is_explained[it]) {
                continue;
            }
            let [a, b, c] = [a, b, c].map(|it| &self.finders[it]);
            let Some(grid) = grid::qr_grid(&self.picture, a, b, c) else { continue };
            let version = ((grid.width - 17) / 4) as u8;
            self.try_grids([grid, grid.mirrored()].map(|grid| (SymbolKind::Qr, version, grid)));
        }
    }

    /// Reads the symbols of Micro QR and rMQR, which have one finder pattern.
    fn read_single(&mut self) {
        for index in 0..self.finders.len() {
            if !self.is_explained[index] {
                self.try_grids(grid::single_grids(&self.picture, &self.finders[index]));
            }
        }
    }

    /// Reads the first of these grids that is a symbol.
    fn try_grids(&mut self, grids: impl IntoIterator<Item = (SymbolKind, u8, Grid)>) {
        let symbols = grids.into_iter().filter_map(|(kind, version, grid)| {
            let rows = grid.sample(&self.picture)?;
            let (level, mask, content) = decode::decode(kind, version, &rows, grid.width)?;
            let (is_inverted, corners, width) = (grid.is_inverted, grid.corners(), grid.width);
            let symbol = ReadSymbol {
                kind,
                version,
                level,
                mask,
                content,
                is_inverted,
                corners,
                rows,
                width,
            };
            Some((grid, symbol))
        });
        if let Some((grid, symbol)) = { symbols }.next() {
            self.found.push(symbol);
            for (finder, is_explained) in self.finders.iter().zip(&mut self.is_explained) {
                *is_explained |= grid.has_inside(finder.middle);
            }
        }
    }
}
