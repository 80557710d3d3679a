//! The encoder of Micro QR. `crate::micro` draws the symbols.

use std::ops::RangeInclusive;

use super::segments::{NEVER, Path, Segment, split};
use super::units::{Unit, units};
use super::{Data, Encoder};
use crate::bits::BitString;
use crate::error::Error;
use crate::level::Level;
use crate::micro::{self, MicroSymbol};
use crate::modes::Modes;
use crate::segment::Mode;

/// Encodes text or bytes as Micro QR (ISO/IEC 18004), which has room for up to 35 digits, 21
/// alphanumeric characters or 15 bytes. It has neither ECI nor FNC1 nor structured append, and its
/// quiet zone is 2 modules wide.
#[doc = example!(
    let symbol = MicroEncoder::new(Some(Level::L)).encode("12345")?;
    assert_eq!((symbol.version(), symbol.modules().width()), (2, 13));
    assert_eq!(MicroEncoder::new(None).encode("12345")?.version(), 1);
)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct MicroEncoder {
    level: Option<Level>,
    /// The lowest and the highest version allowed.
    versions: (u8, u8),
    mask: Option<u8>,
    modes: Modes,
}

impl MicroEncoder {
    /// An encoder for a level. M2 and M3 have levels L and M, M4 has L, M and Q; there is no H. `None` also
    /// allows version M1, which only detects errors and has no level.
    #[doc = example!(
        let any = MicroEncoder::new(None).encode("123")?;
        assert_eq!((any.version(), any.level()), (1, None));
    )]
    pub fn new(level: Option<Level>) -> Self {
        MicroEncoder { level, versions: (1, 4), mask: None, modes: Modes::Automatic }
    }

    /// The versions allowed, within 1 for M1 to 4 for M4.
    #[doc = example!(
        let symbol = MicroEncoder::new(None).versions(4..=4).encode("123")?;
        assert_eq!(symbol.version(), 4);
    )]
    pub fn versions(mut self, versions: RangeInclusive<u8>) -> Self {
        self.versions = (*versions.start(), *versions.end());
        self
    }

    /// The mask pattern reference, 0 to 3; `None` chooses the mask with the best score.
    #[doc = example!(assert_eq!(MicroEncoder::new(None).mask(3).encode("123")?.mask(), 3))]
    pub fn mask(mut self, mask: impl Into<Option<u8>>) -> Self {
        self.mask = mask.into();
        self
    }

    /// The modes to encode in. M1 has numeric mode only; alphanumeric mode begins at M2, byte and
    /// Kanji mode at M3.
    #[doc = example!(
        let symbol = MicroEncoder::new(None).modes(Modes::Byte).encode("123")?;
        assert_eq!(symbol.version(), 3);
    )]
    pub fn modes(mut self, modes: Modes) -> Self {
        self.modes = modes;
        self
    }

    /// Encodes `data` in the smallest allowed version that holds it.
    #[doc = example!(
        let symbol = MicroEncoder::new(Some(Level::M)).encode("MICRO QR")?;
        assert_eq!((symbol.version(), symbol.level()), (3, Some(Level::M)));
    )]
    ///
    /// # Errors
    /// Those of [`Encoder::encode`], and [`Error::NoSuchSymbol`] if no allowed version has the level.
    pub fn encode<'a>(&self, data: impl Into<Data<'a>>) -> Result<MicroSymbol, Error> {
        let data = data.into();
        let (low, high) = self.versions;
        if low < 1 || low > high || high > 4 {
            return Err(Error::Versions { low, high, most: 4 });
        }
        if let Some(mask) = self.mask.filter(|mask| *mask > 3) {
            return Err(Error::Mask { mask, most: 3 });
        }
        // The highest version has every level that a lower one has.
        let Some(capacity) = micro::capacity(high, self.level) else {
            return Err(Error::NoSuchSymbol { level: self.level });
        };
        let units = units(data, &Encoder::new(Level::L).modes(self.modes))?;
        let Some((version, segments)) = self.smallest(&units, low..=high) else {
            // M4 has all modes; a lower version may lack one.
            let bits = |version| split(&units, self.modes, path(version)).0;
            let needed_bits = if bits(high) < NEVER / 6 { bits(high) } else { bits(4) };
            let available_bits = capacity as u64;
            let smallest_version = self.smallest(&units, high..=4).map(|(version, _)| version);
            return Err(Error::TooLong { needed_bits, available_bits, smallest_version });
        };
        let mut bits = BitString::with_capacity(16);
        for segment in &segments {
            put_segment(&mut bits, data.as_bytes(), segment, version);
        }
        Ok(MicroSymbol::draw(version, self.level, self.mask, bits))
    }

    fn smallest<'u>(
        &self,
        units: &'u [Unit],
        mut versions: RangeInclusive<u8>,
    ) -> Option<(u8, Vec<Segment<'u>>)> {
        versions.find_map(|version| {
            let capacity = micro::capacity(version, self.level)?;
            let (bits, segments) = split(units, self.modes, path(version));
            (bits <= capacity as u64).then_some((version, segments))
        })
    }
}

/// Width of the character count indicator, in bits (table 3); `None` if the version lacks the mode.
pub(crate) fn count_bits(mode: Mode, version: u8) -> Option<u32> {
    let (first, bits) = match mode {
        Mode::Numeric => (1, 3),
        Mode::Alphanumeric => (2, 3),
        Mode::Byte => (3, 4),
        Mode::Kanji => (3, 3),
    };
    version.checked_sub(first).map(|more| bits + u32::from(more))
}

fn path(version: u8) -> Path {
    // The mode indicator has 0 bits in M1 and one more in each further version.
    Path::with_headers(|mode| Some(count_bits(mode, version)? + u32::from(version) - 1))
}

fn put_segment(out: &mut BitString, data: &[u8], segment: &Segment<'_>, version: u8) {
    let Some(count_bits) = count_bits(segment.mode, version) else { return };
    out.put(segment.mode as u32, u32::from(version) - 1);
    segment.put(out, data, count_bits, false);
}
