//! From modules to a message: format information, function patterns, mask, codewords, blocks.

use super::SymbolKind;
use super::correct::correct;
use super::message::{Content, read};
use crate::level::Level;
use crate::matrix::{self, Row, is_set, zigzag};
use crate::reed_solomon::{Divisor, remainder, remainders};
use crate::version::{Blocks, blocks, data_codewords, format_bits};
use crate::{micro, rmqr};

/// Decodes the modules of a symbol to its level, mask and content. `None` if function patterns are damaged much, or the
/// message cannot be restored for certain.
pub(super) fn decode(
    kind: SymbolKind,
    version: u8,
    rows: &[Row],
    width: usize,
) -> Option<(Option<Level>, u8, Content)> {
    // Version M1 has no level, and detects so few errors that all of it has to be right.
    let is_weak = kind == SymbolKind::Micro && version == 1;
    let (level, mask, off) = format_of(kind, version, rows, width)?;
    let empty = match (kind, level) {
        (SymbolKind::Qr, Some(level)) => matrix::empty_rows(version, level, mask),
        (SymbolKind::Rmqr, Some(level)) => rmqr::empty_rows(version, level),
        _ => micro::empty_rows(version, level, mask),
    };
    let (mut wrong, mut all) = (0, 0);
    for (row, [dark, free]) in rows.iter().zip(&empty) {
        for w in 0..3 {
            let within = !(!0_u64).checked_shl(width.saturating_sub(64 * w) as u32).unwrap_or(0);
            wrong += ((row[w] ^ dark[w]) & within & !free[w]).count_ones();
            all += (within & !free[w]).count_ones();
        }
    }
    if off > 3 || wrong * 6 > all || is_weak && wrong > 0 {
        return None;
    }
    let (shape, bits) = shape(kind, version, level)?;
    let masks = matrix::mask_rows(match kind {
        SymbolKind::Qr => mask,
        SymbolKind::Micro => micro::MASKS[usize::from(mask)],
        SymbolKind::Rmqr => rmqr::MASK,
    });
    // One codeword of M1 and M3 has four bits.
    let short = (bits % 8 > 0).then_some(bits / 8);
    let (mut codewords, mut byte, mut count) = (Vec::new(), 0, 0);
    let last = if kind == SymbolKind::Rmqr { width - 2 } else { width - 1 };
    zigzag(last, rows.len(), kind == SymbolKind::Qr).for_each(|(x, y)| {
        if is_set(&empty[y][1], x) {
            byte = byte << 1 | u8::from(is_set(&rows[y], x) != is_set(&masks[y % masks.len()], x));
            count += 1;
            if count == 8 || count == 4 && short == Some(codewords.len()) {
                codewords.push(byte << (8 - count));
                (byte, count) = (0, 0);
            }
        }
    });
    let data = corrected(&codewords, shape, kind == SymbolKind::Qr)?;
    Some((level, mask, read(kind, version, &data, bits)?))
}

/// The level and the mask whose format information is nearest, and the number of bits that differ in the better of its
/// copies.
fn format_of(
    kind: SymbolKind,
    version: u8,
    rows: &[Row],
    width: usize,
) -> Option<(Option<Level>, u8, u32)> {
    let mut seen = [0; 2];
    for bit in 0..if kind == SymbolKind::Rmqr { 18 } else { 15 } {
        let places = match kind {
            SymbolKind::Qr => {
                // The timing patterns are left out.
                let at = |place: usize| place + place / 6;
                if bit < 8 {
                    [(8, at(bit)), (width - 1 - bit, 8)]
                } else {
                    [(at(14 - bit), 8), (8, width - 15 + bit)]
                }
            }
            SymbolKind::Micro => [micro::format_place(bit); 2],
            SymbolKind::Rmqr => rmqr::format_places(width, rows.len(), bit),
        };
        for (seen, (x, y)) in seen.iter_mut().zip(places) {
            *seen |= u32::from(is_set(&rows[y], x)) << bit;
        }
    }
    let bits = |level: Option<Level>, mask: u8| match (kind, level) {
        (SymbolKind::Qr, Some(level)) => Some([format_bits(level, mask).into(); 2]),
        (SymbolKind::Micro, _) if mask < 4 => Some([micro::format_bits(version, level, mask)?; 2]),
        (SymbolKind::Rmqr, Some(level @ (Level::M | Level::H))) if mask == 0 => {
            Some(rmqr::format_bits(usize::from(version) - 1, level))
        }
        _ => None,
    };
    let no_level = (kind == SymbolKind::Micro && version == 1).then_some(None);
    let levels = no_level.into_iter().chain(Level::ALL.map(Some));
    let all = levels.flat_map(|level| (0..8).map(move |mask| (level, mask)));
    let differing = |(level, mask)| {
        let [first, second] = bits(level, mask)?;
        Some((level, mask, (first ^ seen[0]).count_ones().min((second ^ seen[1]).count_ones())))
    };
    all.filter_map(differing).min_by_key(|(_, _, off)| *off)
}

/// The blocks of a symbol, and the bits of its data; `None` if the version lacks the level.
fn shape(kind: SymbolKind, version: u8, level: Option<Level>) -> Option<(Blocks, usize)> {
    Some(match kind {
        SymbolKind::Qr => (blocks(version, level?), 8 * data_codewords(version, level?)),
        SymbolKind::Micro => {
            let (bits, ec_len) = micro::shape(version, level)?;
            (Blocks::new(1, ec_len, bits.div_ceil(8)), bits)
        }
        SymbolKind::Rmqr => {
            let (ec_len, count, data) = rmqr::KINDS[usize::from(version) - 1].blocks_at(level?)?;
            (Blocks::new(count, ec_len, data), 8 * data)
        }
    })
}

/// The data of interleaved codewords, block by block, with errors corrected (section 7.6 in reverse).
fn corrected(codewords: &[u8], shape: Blocks, is_qr: bool) -> Option<Vec<u8>> {
    let Blocks { count, ec_len, short_len, long_count } = shape;
    let mut blocks = vec![Vec::with_capacity(short_len + 1 + ec_len); count];
    let total = count * (short_len + ec_len) + long_count;
    for (index, codeword) in codewords.get(..total)?.iter().enumerate() {
        blocks[shape.block_of(index)].push(*codeword);
    }
    let mut all = Vec::with_capacity(total);
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
