//! Divides the data into units: characters or bytes, which a split never divides.

use super::{Data, Encoder};
use crate::error::Error;
use crate::modes::Modes;
use crate::segment::class_of;

/// The separator of elements under FNC1.
pub(super) const SEPARATOR: u8 = 0x1d;

/// A character of a text, or a byte.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    /// Offset of its first byte in the data.
    pub(super) at: usize,
    /// Number of its bytes.
    pub(super) len: u8,
    /// Its first byte.
    pub(super) first: u8,
    /// Number of values that encode it in alphanumeric mode; 0 if none do.
    pub(super) alphanumeric: u8,
    /// Its 13-bit value in Kanji mode, if the modes include Kanji mode and it has one.
    pub(super) kanji: Option<u16>,
}

/// Divides the data into units and checks that the encoder's modes can encode each of them.
pub(super) fn units(data: Data<'_>, encoder: &Encoder) -> Result<Vec<Unit>, Error> {
    let Encoder { modes, fnc1, .. } = *encoder;
    let bytes = data.as_bytes();
    let unit = |at: usize, len: usize, kanji| {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let alphanumeric = alphanumeric_values(bytes[at], before, fnc1.is_some(), modes);
        Unit { at, len: len as u8, first: bytes[at], alphanumeric, kanji }
    };
    let units: Vec<Unit> = match data {
        Data::Text(text) => text
            .char_indices()
            .map(|(at, char)| unit(at, char.len_utf8(), kanji_value(char, modes)))
            .collect(),
        Data::Bytes(bytes) => (0..bytes.len()).map(|at| unit(at, 1, None)).collect(),
    };
    let fits = |unit: &Unit| match modes {
        Modes::Automatic | Modes::Byte => true,
        Modes::Numeric => unit.first.is_ascii_digit(),
        Modes::Alphanumeric => unit.alphanumeric > 0,
        #[cfg(feature = "kanji")]
        Modes::Kanji => unit.kanji.is_some(),
        #[cfg(feature = "kanji")]
        Modes::AutomaticWithKanji => unit.kanji.is_some() || unit.first.is_ascii(),
    };
    match units.iter().find(|unit| !fits(unit)) {
        Some(unit) => Err(Error::NotInMode { modes, at_byte: unit.at }),
        None => Ok(units),
    }
}

/// How many values encode a byte in alphanumeric mode. Under FNC1 the separator is `%`, and a literal
/// `%` is doubled (section 7.4.8.2). So neither may follow a separator: a decoder would take the first
/// two of `%%%` for a literal.
///
/// Some decoders misread the doubled sign (rxing 0.9), so a literal `%` is encoded as a byte unless alphanumeric mode
/// is forced.
fn alphanumeric_values(byte: u8, before: Option<u8>, under_fnc1: bool, modes: Modes) -> u8 {
    match byte {
        b'%' | SEPARATOR if under_fnc1 && before == Some(SEPARATOR) => 0,
        b'%' if under_fnc1 && modes != Modes::Alphanumeric => 0,
        b'%' if under_fnc1 => 2,
        SEPARATOR if under_fnc1 => 1,
        byte => u8::from(class_of(byte) < 2),
    }
}

#[cfg(feature = "kanji")]
fn kanji_value(char: char, modes: Modes) -> Option<u16> {
    matches!(modes, Modes::Kanji | Modes::AutomaticWithKanji)
        .then(|| super::kanji::value(char))
        .flatten()
}

#[cfg(not(feature = "kanji"))]
fn kanji_value(_: char, _: Modes) -> Option<u16> {
    None
}
