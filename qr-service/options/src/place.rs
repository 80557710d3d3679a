//! Room for a logo: a square in the middle whose codewords error correction can spare.
//!
//! A covered codeword may be wrong. A logo may use up half of the codewords that a block can correct; the other
//! half stays for dirt and shadows. The covered area alone tells nothing, because the codewords of one block may
//! lie together.

use qr_core::{BlockDamage, Symbol};

use crate::fault::{Code, Fault};

/// Rows and columns at the edge that hold finders, timing patterns and format information.
const EDGE: usize = 9;
/// The narrowest field of a logo, in modules: one for the logo and a light one on each side.
const LEAST: usize = 3;

/// A square in the middle of a symbol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogoField {
    /// Its first column and row.
    pub start: usize,
    /// Its side in modules.
    pub side: usize,
    /// The share of its error correction that the worst block has left if all codewords that the logo touches
    /// are wrong.
    pub unused: f64,
    /// Width of the logo's picture in the middle of the field, in modules.
    pub picture: f64,
}

impl LogoField {
    /// Whether the field covers this column (or row).
    pub fn has(&self, at: usize) -> bool {
        (self.start..self.start + self.side).contains(&at)
    }
}

/// Finds the field of a logo, about `share` of the symbol's width.
///
/// # Errors
/// If a block cannot spare the field's codewords. The fault names the block, and the largest share that fits this
/// symbol.
pub(crate) fn find_field(symbol: &Symbol, share: f64) -> Result<LogoField, Fault> {
    let size = symbol.size();
    // Symbols have an odd number of modules per side, so a centred field has too.
    let odd = |modules: usize| modules - usize::from(modules.is_multiple_of(2));
    let side = odd((share * size as f64) as usize).max(LEAST);
    let place = |side: usize| {
        let start = (size - side) / 2;
        let damage = symbol.damage(start..start + side, start..start + side);
        let worst = damage.into_iter().enumerate().max_by(|a, b| cost(&a.1).total_cmp(&cost(&b.1)));
        worst.map(|(index, block)| (start, index, block))
    };
    let fits = |block: &BlockDamage| 2 * block.touched <= block.correctable;
    let Some((start, index, block)) = place(side) else {
        return Err(Fault::new("logo_size", Code::Correction, "the symbol has no blocks"));
    };
    if start >= EDGE && fits(&block) {
        // Half a module of light on each side.
        let picture = side as f64 - 1.0;
        return Ok(LogoField { start, side, unused: 1.0 - cost(&block), picture });
    }
    let detail = if start < EDGE {
        format!(
            "a logo of {side} modules covers finders or format information of a symbol of {size}"
        )
    } else {
        format!(
            "a logo of {side} modules covers {} codewords of block {}, which repairs {} and can spare {}",
            block.touched,
            index + 1,
            block.correctable,
            block.correctable / 2
        )
    };
    let fault = Fault::new("logo_size", Code::Correction, detail);
    let smaller = (LEAST..side).rev().filter(|side| !side.is_multiple_of(2));
    let largest = smaller
        .into_iter()
        .find(|side| place(*side).is_some_and(|(start, _, block)| start >= EDGE && fits(&block)));
    // The largest share with three decimals that gives this number of modules, because the number is rounded down.
    let next = |side: usize| (side + 2) as f64 / size as f64 * 1000.0;
    let share = largest.map(|side| (next(side).ceil() - 1.0) / 1000.0);
    Err(Fault { maximum: share, ..fault })
}

/// The field of a QR-bill's cross. It takes 7 mm of a symbol of 46 mm, whatever it covers; 6 mm of it are black.
pub(crate) fn swiss_cross_field(symbol: &Symbol) -> LogoField {
    let size = symbol.size();
    let least = (size as f64 * 7.0 / 46.0).ceil() as usize;
    let side = least + usize::from(least.is_multiple_of(2));
    let start = (size - side) / 2;
    let damage = symbol.damage(start..start + side, start..start + side);
    let worst = damage.iter().map(cost).fold(0.0, f64::max);
    LogoField { start, side, unused: 1.0 - worst.min(1.0), picture: size as f64 * 6.0 / 46.0 }
}

/// The share of a block's error correction that is used up if all touched codewords are wrong.
fn cost(block: &BlockDamage) -> f64 {
    block.touched as f64 / block.correctable.max(1) as f64
}

/// A share of the symbol's width or a length in millimetres. Never NaN, so that it can be hashed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length(
    /// The share, from 0 to 1, or the millimetres.
    pub f64,
);

impl std::hash::Hash for Length {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
