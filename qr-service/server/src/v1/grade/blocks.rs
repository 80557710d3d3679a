//! Which modules hold which codeword of which block of error correction (ISO/IEC 18004 sections 7.5 to 7.8).

use rxing::common::BitMatrix;
use rxing::common::reedsolomon::{PredefinedGenericGF, ReedSolomonDecoder};
use rxing::qrcode::common::{ErrorCorrectionLevel, Version};
use rxing::qrcode::decoder::{DataBlock, DataMask};

use crate::v1::options::Kind;
use crate::v1::reader::Found;

/// Column and row of a module.
pub(super) type Module = (u32, u32);

/// A block of error correction.
pub(super) struct Block {
    /// The modules of each codeword.
    pub(super) codewords: Vec<Vec<Module>>,
    /// Codewords that only correct.
    correcting: usize,
    /// Wrong codewords that it can correct.
    correctable: usize,
}

impl Block {
    /// The share of its error correction that is left with so many wrong codewords.
    pub(super) fn unused(&self, wrong: usize) -> f64 {
        match self.correctable {
            0 => f64::from(u8::from(wrong == 0)),
            most => (1.0 - wrong as f64 / most as f64).max(0.0),
        }
    }

    /// The number of wrong codewords; `None` if they are too many to correct.
    pub(super) fn wrong(&self, mask: DataMask, is_dark: impl Fn(Module) -> bool) -> Option<usize> {
        let bit = |(x, y): Module| u8::from(is_dark((x, y)) != mask.isMasked(y, x));
        let byte = |modules: &Vec<Module>| modules.iter().fold(0, |byte, it| byte << 1 | bit(*it));
        let mut bytes: Vec<u8> = self.codewords.iter().map(byte).collect();
        let decoder = ReedSolomonDecoder::new(PredefinedGenericGF::QrCodeField256.into());
        decoder.decode(&mut bytes, self.correcting as i32).ok()
    }
}

/// The blocks of a symbol, its mask, and its function patterns with format and version information.
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    pub(super) mask: DataMask,
    pub(super) function: BitMatrix,
}

impl Layout {
    /// `None` for symbols of model 1.
    pub(super) fn of(found: &Found) -> Option<Self> {
        let version = match found.kind {
            Kind::Qr if found.symbology == "]Q0" => return None,
            Kind::Qr => Version::Model2(found.number),
            Kind::Micro => Version::Micro(found.number),
            Kind::Rmqr => Version::rMQR(found.number),
        };
        let version = version.ok()?;
        let function = version.buildFunctionPattern().ok()?;
        let level = found.level.parse().unwrap_or(ErrorCorrectionLevel::Invalid);
        let codewords = codewords(found, &function);
        // Of each codeword of the blocks, the lower and the upper byte of its index in the symbol.
        let divided = |shift: usize| {
            let bytes: Vec<u8> = (0..codewords.len()).map(|index| (index >> shift) as u8).collect();
            DataBlock::getDataBlocks(&bytes, version, level).ok()
        };
        let blocks = divided(0)?.into_iter().zip(divided(8)?).map(|(lower, upper)| {
            let indices = lower.getCodewords().iter().zip(upper.getCodewords());
            let index = |(lower, upper): (&u8, &u8)| usize::from(*upper) << 8 | usize::from(*lower);
            let of_block = indices.map(|it| codewords[index(it)].clone()).collect::<Vec<_>>();
            let correcting = of_block.len() - lower.getNumDataCodewords() as usize;
            let correctable = correcting / 2 - only_detecting(found, correcting);
            Block { codewords: of_block, correcting, correctable }
        });
        let blocks: Vec<Block> = blocks.collect();
        // The symbol was read, so only one mask gives codewords that are nearly right.
        let wrong = |mask: DataMask| {
            let is_dark = |(x, y): Module| found.modules.get(x, y);
            blocks.iter().map(|block| block.wrong(mask, is_dark)).sum::<Option<usize>>()
        };
        let masks = (0..8).filter_map(|mask| DataMask::try_from(mask).ok());
        let (_, mask) =
            masks.filter_map(|mask| Some((wrong(mask)?, mask))).min_by_key(|(wrong, _)| *wrong)?;
        Some(Layout { blocks, mask, function })
    }
}

/// Repairs that the smallest symbols leave out, to detect errors more surely (table 9, note b).
fn only_detecting(found: &Found, correcting: usize) -> usize {
    usize::from(match found.kind {
        Kind::Qr => matches!((found.number, correcting), (1, 7 | 10) | (2, 10)),
        Kind::Micro => correcting <= 8,
        Kind::Rmqr => false,
    })
}

/// The modules of each codeword, in the order in which they are placed: up and down through strips of two columns from
/// the right.
fn codewords(found: &Found, function: &BitMatrix) -> Vec<Vec<Module>> {
    let (width, height) = (function.width(), function.height());
    let last = if found.kind == Kind::Rmqr { width - 2 } else { width - 1 };
    let is_beyond_timing = |right: u32| found.kind == Kind::Qr && right <= 6;
    let strips = (1..=last).rev().step_by(2).map(|it| it - u32::from(is_beyond_timing(it)));
    let modules = strips.enumerate().flat_map(|(strip, right)| {
        (0..height).flat_map(move |k| {
            let y = if strip.is_multiple_of(2) { height - 1 - k } else { k };
            [(right, y), (right - 1, y)]
        })
    });
    let mut modules = modules.filter(|(x, y)| !function.get(*x, *y)).peekable();
    // M1 and M3 have one codeword of four modules.
    let short = match (found.kind, found.number, &*found.level) {
        (Kind::Micro, 1, _) => Some(2),
        (Kind::Micro, 3, "L") => Some(10),
        (Kind::Micro, 3, _) => Some(8),
        _ => None,
    };
    let mut codewords = Vec::new();
    while modules.peek().is_some() {
        let bits = if short == Some(codewords.len()) { 4 } else { 8 };
        codewords.push(modules.by_ref().take(bits).collect::<Vec<_>>());
    }
    // Bits that remain belong to no codeword.
    if codewords.last().is_some_and(|last| last.len() < 8) && short.is_none() {
        codewords.pop();
    }
    codewords
}
