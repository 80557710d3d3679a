//! The header of a message, before its segments (ISO/IEC 18004 section 7.4).

use super::Fnc1;
use crate::bits::BitString;

/// A symbol's place in structured append (section 8).
#[doc = example!(let part = Part { index: 0, total: 2, parity: 7 }; assert!(part.index < part.total))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub index: usize,
    /// Number of symbols.
    pub total: usize,
    /// XOR of all bytes of the message.
    pub parity: u8,
}

/// The parts of the header, in the order in which they are written. zxing's encoders use the same order,
/// and decoders accept FNC1 only before data.
pub(super) struct Header {
    pub(super) part: Option<Part>,
    pub(super) eci: Option<u32>,
    pub(super) fnc1: Option<Fnc1>,
}

impl Header {
    /// Length of the header in bits.
    pub(super) fn bits(&self) -> u64 {
        let part = if self.part.is_some() { 20 } else { 0 };
        let eci = match self.eci {
            None => 0,
            Some(0..=127) => 12,
            Some(128..=16383) => 20,
            Some(_) => 28,
        };
        let fnc1 = match self.fnc1 {
            None => 0,
            Some(Fnc1::Gs1) => 4,
            Some(Fnc1::Aim(_)) => 12,
        };
        part + eci + fnc1
    }

    /// Appends the header to `out`.
    pub(super) fn put(&self, out: &mut BitString) {
        if let Some(part) = self.part {
            out.put(3, 4);
            out.put(part.index as u32, 4);
            out.put(part.total as u32 - 1, 4);
            out.put(u32::from(part.parity), 8);
        }
        if let Some(assignment) = self.eci {
            out.put(7, 4);
            out.put_eci(assignment);
        }
        match self.fnc1 {
            None => {}
            Some(Fnc1::Gs1) => out.put(5, 4),
            Some(Fnc1::Aim(indicator)) => {
                out.put(9, 4);
                out.put(u32::from(indicator), 8);
            }
        }
    }
}
