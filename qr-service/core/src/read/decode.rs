//! From modules to a message: function patterns, format information, mask, codewords, blocks.

use super::SymbolKind;
use super::correct::correct;
use super::grid::Row;
use super::message::{self, Message};
use crate::level::Level;
use crate::matrix::{self, is_set, zigzag};
use crate::reed_solomon::{Divisor, remainder, remainders};
use crate::version::{Blocks, blocks, total_codewords};
use crate::{micro, rmqr};

/// What a symbol says.
pub(super) struct Decoded {
    pub(super) level: Option<Level>,
    pub(super) mask: u8,
    pub(super) message: Message,
}

/// Decodes the modules of a symbol. `None` if function patterns are damaged much, or the message cannot be restored for
/// certain.
pub(super) fn decode(kind: SymbolKind, version: u8, width: usize, rows: &[Row]) -> Option<Decoded> {
    let patterns = match kind {
        SymbolKind::Qr => matrix::function_patterns(version),
        SymbolKind::Micro => micro::function_patterns(version),
        SymbolKind::Rmqr => rmqr::function_patterns(version),
    };
    let (mut wrong, mut all) = (0, 0);
    for (row, pattern) in rows.iter().zip(&patterns) {
        for w in 0..3 {
            wrong += ((row[w] ^ pattern.dark[w]) & pattern.fixed[w]).count_ones();
            all += pattern.fixed[w].count_ones();
        }
    }
    // Version M1 detects few errors, so all of it has to be right.
    let is_weak = kind == SymbolKind::Micro && version == 1;
    if wrong * 6 > all || is_weak && wrong > 0 {
        return None;
    }
    let format = match kind {
        SymbolKind::Qr => matrix::format_of(rows),
        SymbolKind::Micro => micro::format_of(version, rows),
        SymbolKind::Rmqr => rmqr::format_of(version, rows),
    };
    let (level, mask, off) = format?;
    if off > 3 || is_weak && off > 0 {
        return None;
    }
    let (shape, bits) = shape(kind, version, level)?;
    // The masks of Micro QR and rMQR are among those of QR.
    let of_qr = [mask, micro::MASKS[usize::from(mask % 4)], rmqr::MASK][kind as usize];
    let masks = matrix::mask_rows(of_qr);
    // One codeword of M1 and M3 has four bits.
    let data_len = bits.div_ceil(8);
    let short = (bits % 8 > 0).then(|| data_len - 1);
    let mut codewords = Vec::with_capacity(data_len + shape.count * shape.ec_len);
    let (mut byte, mut count) = (0_u8, 0);
    let last = if kind == SymbolKind::Rmqr { width - 2 } else { width - 1 };
    zigzag(last, rows.len(), kind == SymbolKind::Qr).for_each(|(x, y)| {
        if is_set(&patterns[y].free, x) {
            byte = byte << 1 | u8::from(is_set(&rows[y], x) != is_set(&masks[y % 12], x));
            count += 1;
            if count == 8 || count == 4 && short == Some(codewords.len()) {
                codewords.push(byte << (8 - count));
                (byte, count) = (0, 0);
            }
        }
    });
    let data = corrected(&codewords, shape, kind == SymbolKind::Qr)?;
    let message = message::read(kind, version, &data, bits)?;
    let level = Some(level).filter(|_| !is_weak);
    Some(Decoded { level, mask, message })
}

/// The blocks of a symbol, and the bits of its data; `None` if the version lacks the level.
fn shape(kind: SymbolKind, version: u8, level: Level) -> Option<(Blocks, usize)> {
    match kind {
        SymbolKind::Qr => {
            let of = blocks(version, level);
            Some((of, 8 * (total_codewords(version) - of.count * of.ec_len)))
        }
        SymbolKind::Micro => {
            let (bits, ec_len) = micro::shape(version, Some(level).filter(|_| version > 1))?;
            Some((Blocks::new(1, ec_len, bits.div_ceil(8)), bits))
        }
        SymbolKind::Rmqr => {
            let (ec_len, count, data) = rmqr::KINDS[usize::from(version) - 1].blocks_at(level)?;
            Some((Blocks::new(count, ec_len, data), 8 * data))
        }
    }
}

/// The data of interleaved codewords, block by block, with errors corrected (section 7.6 in reverse).
fn corrected(codewords: &[u8], shape: Blocks, is_qr: bool) -> Option<Vec<u8>> {
    let Blocks { count, ec_len, short_len, long_count } = shape;
    let mut blocks = vec![Vec::with_capacity(short_len + 1 + ec_len); count];
    let total = count * (short_len + ec_len) + long_count;
    for (index, codeword) in codewords.get(..total)?.iter().enumerate() {
        blocks[shape.block_of(index)].push(*codeword);
    }
    let mut all = Vec::with_capacity(count * short_len + long_count);
    for block in &mut blocks {
        let (data, ec) = block.split_at(block.len() - ec_len);
        let mut rest = [0; 32];
        if is_qr {
            [rest] = remainders(Divisor::new(ec_len), [data]);
        } else {
            rest[..ec_len].copy_from_slice(&remainder(data, ec_len));
        }
        rest.iter_mut().zip(ec).for_each(|(rest, ec)| *rest ^= ec);
        if rest != [0; 32] {
            correct(block, ec_len, &rest[..ec_len], shape.correctable())?;
        }
        all.extend_from_slice(&block[..block.len() - ec_len]);
    }
    Some(all)
}
