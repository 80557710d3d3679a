//! Structured append: one message in up to 16 symbols (ISO/IEC 18004 section 8).

use super::header::{Header, Part};
use super::segments::Segments;
use super::units::{Unit, units};
use super::{Data, Encoder};
use crate::error::Error;
use crate::symbol::Symbol;
use crate::version::MAX_SYMBOLS;

impl Encoder {
    /// Encodes `data` in as few symbols as hold it, all of the same version: the smallest allowed version
    /// that needs no more symbols. If one symbol holds the data, it has no structured append header. No
    /// character of a text is divided between two symbols.
    #[doc = example!(
        let symbols = Encoder::new(Level::M).versions(1..=5).encode_append(&"word ".repeat(50))?;
        assert_eq!(symbols.len(), 4);
    )]
    ///
    /// # Errors
    /// [`Error::TooManySymbols`] if [`MAX_SYMBOLS`] of the highest version allowed do not hold
    /// the data; otherwise the errors of [`Encoder::encode`].
    pub fn encode_append<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<Symbol>, Error> {
        let data = data.into();
        match self.encode(data) {
            Ok(symbol) => return Ok(vec![symbol]),
            Err(Error::TooLong { .. }) => {}
            Err(error) => return Err(error),
        }
        let units = units(data, self)?;
        let mut parts = self.divide(&units, self.versions.1)?;
        let mut version = self.versions.1;
        // A lower version never needs fewer symbols, so the search ends at the first that needs more.
        while version > self.versions.0 {
            match self.divide(&units, version - 1) {
                Ok(smaller) if smaller.len() == parts.len() => parts = smaller,
                _ => break,
            }
            version -= 1;
        }
        let forced = self.clone().versions(version..=version);
        let parity = parity(data, &units);
        let total = parts.len();
        let part = |(index, units)| {
            let header = self.header_of(Part { index, total, parity });
            forced.encode_units(data, units, &header)
        };
        parts.into_iter().enumerate().map(part).collect()
    }

    fn header_of(&self, part: Part) -> Header {
        Header { part: Some(part), eci: self.eci, fnc1: self.fnc1 }
    }

    /// Divides the units into parts, each as long as one symbol of `version` can hold.
    fn divide<'u>(&self, units: &'u [Unit], version: u8) -> Result<Vec<&'u [Unit]>, Error> {
        let header = self.header_of(Part { index: 0, total: MAX_SYMBOLS, parity: 0 });
        let mut parts = Vec::new();
        let mut rest = units;
        while let Some(next) = rest.first() {
            let (part, after) = rest.split_at(Segments::most_units(rest, self, &header, version));
            if part.is_empty() || parts.len() == MAX_SYMBOLS {
                return Err(Error::TooManySymbols { held_bytes: next.at });
            }
            parts.push(part);
            rest = after;
        }
        Ok(parts)
    }
}

/// XOR of the message's bytes as encoded: Kanji as Shift JIS, the rest as it is.
fn parity(data: Data<'_>, units: &[Unit]) -> u8 {
    let bytes = data.as_bytes();
    units.iter().fold(0, |parity, unit| {
        let of_unit = match unit.kanji {
            Some(value) => shift_jis(value).to_be_bytes().iter().fold(0, |a, b| a ^ b),
            None => bytes[unit.at..][..usize::from(unit.len)].iter().fold(0, |a, b| a ^ b),
        };
        parity ^ of_unit
    })
}

/// The Shift JIS code of a value of Kanji mode (section 7.4.6).
pub(crate) fn shift_jis(value: u16) -> u16 {
    let offset = ((value / 0xc0) << 8) | (value % 0xc0);
    offset + if offset < 0x1f00 { 0x8140 } else { 0xc140 }
}
