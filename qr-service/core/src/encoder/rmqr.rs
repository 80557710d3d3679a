//! The encoder of rectangular Micro QR. `crate::rmqr` draws the symbols.

use std::ops::RangeInclusive;

use super::segments::{Path, Segment, split};
use super::units::{Unit, units};
use super::{Data, Encoder};
use crate::bits::BitString;
use crate::error::Error;
use crate::level::Level;
use crate::modes::Modes;
use crate::rmqr::{KINDS, RmqrSymbol};

/// Encodes text or bytes as rectangular Micro QR (rMQR, ISO/IEC 23941), for narrow spaces: up to 361
/// digits, 219 alphanumeric characters or 150 bytes. Its quiet zone is 2 modules wide.
#[doc = example!(
    let symbol = RmqrEncoder::new(Level::M).heights(7..=9).encode("https://example.com")?;
    assert_eq!((symbol.modules().width(), symbol.modules().height()), (59, 9));
)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct RmqrEncoder {
    level: Level,
    heights: RangeInclusive<u8>,
    widths: RangeInclusive<u8>,
    modes: Modes,
    eci: Option<u32>,
}

impl RmqrEncoder {
    /// An encoder for level M or H; rMQR has no others.
    #[doc = example!(assert_eq!(RmqrEncoder::new(Level::H).encode("123")?.level(), Level::H))]
    pub fn new(level: Level) -> Self {
        let (heights, widths) = (7..=17, 27..=139);
        RmqrEncoder { level, heights, widths, modes: Modes::Automatic, eci: None }
    }

    /// The heights allowed, in modules. There are 7, 9, 11, 13, 15 and 17.
    #[doc = example!(
        let symbol = RmqrEncoder::new(Level::M).heights(7..=7).encode("123")?;
        assert_eq!(symbol.modules().height(), 7);
    )]
    pub fn heights(mut self, heights: RangeInclusive<u8>) -> Self {
        self.heights = heights;
        self
    }

    /// The widths allowed, in modules. There are 43, 59, 77, 99 and 139, and 27 at heights 11 and 13.
    #[doc = example!(
        let symbol = RmqrEncoder::new(Level::M).widths(77..=99).encode("123")?;
        assert_eq!(symbol.modules().width(), 77);
    )]
    pub fn widths(mut self, widths: RangeInclusive<u8>) -> Self {
        self.widths = widths;
        self
    }

    /// The modes to encode in.
    #[doc = example!(
        let digits = RmqrEncoder::new(Level::M).modes(Modes::Numeric);
        assert!(digits.encode("123").is_ok() && digits.encode("12a").is_err());
    )]
    pub fn modes(mut self, modes: Modes) -> Self {
        self.modes = modes;
        self
    }

    /// The ECI assignment number, as for [`Encoder::eci`].
    #[doc = example!(assert!(RmqrEncoder::new(Level::M).eci(ECI_UTF_8).encode("grüße").is_ok()))]
    pub fn eci(mut self, assignment: impl Into<Option<u32>>) -> Self {
        self.eci = assignment.into();
        self
    }

    /// Encodes `data` in the allowed size with the smallest area that holds it.
    #[doc = example!(
        let symbol = RmqrEncoder::new(Level::M).encode("123")?;
        let modules = symbol.modules();
        assert_eq!((modules.width(), modules.height()), (27, 11));
    )]
    ///
    /// # Errors
    /// Those of [`Encoder::encode`], and [`Error::NoSuchSymbol`] if there is no such level or no allowed
    /// size. [`Error::TooLong`] counts the bits of the largest allowed size.
    pub fn encode<'a>(&self, data: impl Into<Data<'a>>) -> Result<RmqrSymbol, Error> {
        let data = data.into();
        let mut options = Encoder::new(Level::M).modes(self.modes);
        options.eci = self.eci;
        options.check(data)?;
        let Some(largest) = self.sizes().next_back() else {
            let level = Some(self.level).filter(|level| !matches!(level, Level::M | Level::H));
            return Err(Error::NoSuchSymbol { level });
        };
        let units = units(data, &options)?;
        let everywhere = RmqrEncoder { heights: 7..=17, widths: 27..=139, ..self.clone() };
        let Some((index, segments)) = self.smallest(&units) else {
            return Err(Error::TooLong {
                needed_bits: self.header_bits() + split(&units, self.modes, path(largest)).0,
                available_bits: capacity(largest, self.level),
                smallest_version: everywhere.smallest(&units).map(|(index, _)| index as u8 + 1),
            });
        };
        let codewords = capacity(index, self.level) as usize / 8;
        let mut bits = BitString::with_capacity(codewords);
        self.put_header(&mut bits);
        segments.iter().for_each(|segment| put_segment(&mut bits, data.as_bytes(), segment, index));
        bits.put(0, (8 * codewords - bits.len()).min(3) as u32);
        Ok(RmqrSymbol::draw(index, self.level, &bits.into_padded(codewords)))
    }

    /// The allowed sizes that have the level, by area.
    fn sizes(&self) -> impl DoubleEndedIterator<Item = usize> {
        let allowed = |index: &usize| {
            let kind = &KINDS[*index];
            self.heights.contains(&kind.height)
                && self.widths.contains(&kind.width)
                && kind.data_codewords(self.level).is_some()
        };
        let mut sizes: Vec<usize> = (0..KINDS.len()).filter(allowed).collect();
        sizes.sort_by_key(|&index| u32::from(KINDS[index].height) * u32::from(KINDS[index].width));
        sizes.into_iter()
    }

    fn smallest<'u>(&self, units: &'u [Unit]) -> Option<(usize, Vec<Segment<'u>>)> {
        self.sizes().find_map(|index| {
            let (bits, segments) = split(units, self.modes, path(index));
            (self.header_bits() + bits <= capacity(index, self.level)).then_some((index, segments))
        })
    }

    fn header_bits(&self) -> u64 {
        match self.eci {
            None => 0,
            Some(0..=127) => 11,
            Some(128..=16383) => 19,
            Some(_) => 27,
        }
    }

    fn put_header(&self, out: &mut BitString) {
        if let Some(assignment) = self.eci {
            out.put(7, 3);
            out.put_eci(assignment);
        }
    }
}

/// Data bits of a size; 0 if it does not have the level.
fn capacity(index: usize, level: Level) -> u64 {
    8 * KINDS[index].data_codewords(level).unwrap_or(0) as u64
}

fn path(index: usize) -> Path {
    Path::with_headers(|mode| Some(3 + u32::from(KINDS[index].count_bits[mode as usize])))
}

fn put_segment(out: &mut BitString, data: &[u8], segment: &Segment<'_>, index: usize) {
    let mode = segment.mode as usize;
    // The mode indicator of numeric mode is 1.
    out.put(mode as u32 + 1, 3);
    segment.put(out, data, u32::from(KINDS[index].count_bits[mode]), false);
}
