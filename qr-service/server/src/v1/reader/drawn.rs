//! Reads pictures that programs draw, with `qr-core`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use qr_core::{Fnc1, ReadSymbol, SymbolKind};
use rxing::common::BitMatrix;
use rxing::qrcode::cpp_port::decoder::Decode;

use super::{Found, GreyImage, Seen, found, version_of};
use crate::v1::options::Kind;

/// All symbols of a picture. `None` unless `qr-core` reads all that looks like a symbol, and all are of these kinds.
pub(super) fn read(picture: &GreyImage, kinds: &[Kind]) -> Option<Vec<Found>> {
    let symbols = qr_core::read(&picture.grey, picture.width as usize)?;
    symbols.iter().map(|symbol| decoded(symbol).filter(|it| kinds.contains(&it.kind))).collect()
}

/// rxing decodes the modules again, because it knows the text as well as its bytes.
fn decoded(symbol: &ReadSymbol) -> Option<Found> {
    let modules = symbol.modules();
    let mut bits = BitMatrix::new(modules.width() as u32, modules.height() as u32).ok()?;
    for (y, row) in (0..).zip(modules.rows()) {
        (0..).zip(row).for_each(|(x, is_dark)| bits.set_bool(x, y, is_dark));
    }
    let decoded = catch_unwind(AssertUnwindSafe(|| Decode(&bits).ok())).ok()??;
    let is_same = decoded.isValid() && !decoded.isMirrored();
    let corners = symbol.corners.map(|(x, y)| (x.into(), y.into()));
    is_same.then(|| found(kind_of(symbol), bits, corners, &decoded))
}

fn kind_of(symbol: &ReadSymbol) -> Kind {
    match symbol.kind {
        SymbolKind::Qr => Kind::Qr,
        SymbolKind::Micro => Kind::Micro,
        SymbolKind::Rmqr => Kind::Rmqr,
    }
}

/// What the only symbol of a picture says, if it is dark on light and `qr-core` reads it.
pub(crate) fn read_only(picture: &GreyImage) -> Option<Seen> {
    let [symbol] =
        <[_; 1]>::try_from(qr_core::read(&picture.grey, picture.width as usize)?).ok()?;
    // Readers put the application indicator before the bytes.
    if symbol.is_inverted || matches!(symbol.content.fnc1, Some(Fnc1::Aim(_))) {
        return None;
    }
    let (width, height) = (symbol.modules().width(), symbol.modules().height());
    Some(Seen {
        version: version_of(kind_of(&symbol), width as u32, height as u32),
        part: symbol.content.part.map(|part| (part.index as i32, part.total as i32)),
        parity: symbol.content.part.map(|part| part.parity),
        bytes: symbol.content.bytes,
    })
}
