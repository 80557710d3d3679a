//! Encoding with options: [`Encoder`].

mod append;
mod header;
#[cfg(feature = "kanji")]
mod kanji;
#[cfg(feature = "micro")]
mod micro;
#[cfg(feature = "rmqr")]
mod rmqr;
mod segments;
mod units;

#[cfg(feature = "read")]
pub(crate) use append::shift_jis;
#[cfg(feature = "micro")]
pub use micro::MicroEncoder;
#[cfg(feature = "read")]
pub(crate) use micro::count_bits as micro_count_bits;
#[cfg(feature = "rmqr")]
pub use rmqr::RmqrEncoder;
#[cfg(feature = "read")]
pub(crate) use segments::range_of;

use std::ops::RangeInclusive;

use crate::encode::{DataCodewords, encode};
use crate::error::Error;
use crate::level::Level;
use crate::modes::Modes;
use crate::symbol::Symbol;
use crate::version::data_codewords;
use header::Header;
#[cfg_attr(
    not(feature = "read"),
    allow(unreachable_pub, reason = "only the reader's result has it")
)]
pub use header::Part;
use segments::Segments;
use units::{Unit, units};

/// What to encode: text, which is encoded as UTF-8, or bytes, which are encoded as they are.
#[doc = example!(
    let (text, bytes) = (Data::from("text"), Data::from(b"text"));
    let encoder = Encoder::new(Level::M);
    assert!(encoder.encode(text)? == encoder.encode(bytes)?);
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data<'a> {
    /// Text. The modes with Kanji encode Kanji characters in Shift JIS.
    Text(&'a str),
    /// Bytes in any encoding.
    Bytes(&'a [u8]),
}

impl Data<'_> {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Data::Text(text) => text.as_bytes(),
            Data::Bytes(bytes) => bytes,
        }
    }
}

impl<'a> From<&'a str> for Data<'a> {
    fn from(text: &'a str) -> Self {
        Data::Text(text)
    }
}

impl<'a> From<&'a String> for Data<'a> {
    fn from(text: &'a String) -> Self {
        Data::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Data<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Data::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Data<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Data::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Data<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Data::Bytes(bytes)
    }
}

/// The meaning of the data, as an FNC1 indicator declares it (section 7.4.8).
#[doc = example!(
    let gs1 = Encoder::new(Level::M).fnc1(Fnc1::Gs1);
    assert_eq!(gs1.encode("0109501101530003")?.version(), 1);
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fnc1 {
    /// First position: GS1 element strings. An element of variable length ends with the separator
    /// 0x1D, unless it is the last.
    Gs1,
    /// Second position: the format of an industry, given by its AIM application indicator: 0 to 99, or
    /// the ASCII value of a letter plus 100.
    Aim(u8),
}

/// Encodes text or bytes (ISO/IEC 18004) with options.
///
/// Without options it gives the same symbol as [`encode`](crate::encode).
#[doc = example!(
    let symbol = Encoder::new(Level::M).boost(true).eci(ECI_UTF_8).encode("grüße")?;
    assert_eq!((symbol.version(), symbol.level()), (1, Level::Q));
)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Encoder {
    level: Level,
    boost: bool,
    /// The lowest and the highest version allowed.
    versions: (u8, u8),
    mask: Option<u8>,
    modes: Modes,
    eci: Option<u32>,
    fnc1: Option<Fnc1>,
}

impl Encoder {
    /// An encoder for `level` without further options: the smallest version that holds the message,
    /// the mask with the lowest penalty, automatic modes, no ECI and no FNC1.
    #[doc = example!(
        assert!(Encoder::new(Level::Q).encode("text").ok() == encode("text", Level::Q).ok());
    )]
    pub fn new(level: Level) -> Self {
        Encoder {
            level,
            boost: false,
            versions: (1, 40),
            mask: None,
            modes: Modes::Automatic,
            eci: None,
            fnc1: None,
        }
    }

    /// Whether to raise the level as far as the version has room.
    #[doc = example!(
        let symbol = Encoder::new(Level::L).boost(true).encode("123")?;
        assert_eq!((symbol.version(), symbol.level()), (1, Level::H));
    )]
    pub fn boost(mut self, boost: bool) -> Self {
        self.boost = boost;
        self
    }

    /// The versions allowed, within 1 to 40; `n..=n` forces version `n`.
    ///
    /// ```
    /// use qr_core::{Encoder, Error, Level};
    ///
    /// let encoder = Encoder::new(Level::M).versions(1..=2);
    /// let Err(Error::TooLong { needed_bits, available_bits, smallest_version }) =
    ///     encoder.encode("https://example.com/some/path")
    /// else {
    ///     panic!("version 2 has no room for it");
    /// };
    /// assert_eq!((needed_bits, available_bits, smallest_version), (244, 224, Some(3)));
    /// # Ok::<(), qr_core::Error>(())
    /// ```
    pub fn versions(mut self, versions: RangeInclusive<u8>) -> Self {
        self.versions = (*versions.start(), *versions.end());
        self
    }

    /// The mask pattern reference, 0 to 7; `None` chooses the mask with the lowest penalty.
    #[doc = example!(assert_eq!(Encoder::new(Level::M).mask(5).encode("text")?.mask(), 5))]
    pub fn mask(mut self, mask: impl Into<Option<u8>>) -> Self {
        self.mask = mask.into();
        self
    }

    /// The modes to encode in.
    #[doc = example!(
        let encoder = Encoder::new(Level::M).modes(Modes::Numeric);
        assert!(encoder.encode("0123").is_ok());
        assert!(matches!(encoder.encode("012A"), Err(Error::NotInMode { at_byte: 3, .. })));
    )]
    pub fn modes(mut self, modes: Modes) -> Self {
        self.modes = modes;
        self
    }

    /// The ECI assignment number that declares the encoding of the data, 0 to 999999, or `None` for no ECI header. For
    /// text use [`ECI_UTF_8`](crate::ECI_UTF_8), or 20 (Shift JIS) in the modes with Kanji. The default is `None`,
    /// because old readers print the header as text.
    ///
    /// ```
    /// use qr_core::{Encoder, Error, Level};
    ///
    /// // 3 declares ISO/IEC 8859-1, but a `str` is encoded as UTF-8.
    /// let latin = Encoder::new(Level::M).eci(3);
    /// assert!(latin.encode(b"gr\xfc\xdfe").is_ok());
    /// assert_eq!(latin.encode("grüße"), Err(Error::Eci { assignment: 3 }));
    /// ```
    pub fn eci(mut self, assignment: impl Into<Option<u32>>) -> Self {
        self.eci = assignment.into();
        self
    }

    /// The FNC1 indicator, or `None`. In the data, 0x1D is the separator.
    #[doc = example!(
        let batch_and_serial = "010950110153000310AB%1\u{1d}21X";
        let symbol = Encoder::new(Level::M).fnc1(Fnc1::Gs1).encode(batch_and_serial)?;
        assert_eq!(symbol.version(), 2);
    )]
    pub fn fnc1(mut self, fnc1: impl Into<Option<Fnc1>>) -> Self {
        self.fnc1 = fnc1.into();
        self
    }

    /// Encodes `data` in one symbol. Empty data gives a symbol without segments.
    #[doc = example!(
        let symbol = Encoder::new(Level::Q).encode(&[0, 255, 13, 10])?;
        assert_eq!((symbol.version(), symbol.level()), (1, Level::Q));
    )]
    ///
    /// # Errors
    /// [`Error::Versions`], [`Error::Mask`], [`Error::Eci`] or [`Error::ApplicationIndicator`] if an option is
    /// out of range, [`Error::NotInMode`] if the modes cannot encode the data, [`Error::TooLong`] if no
    /// allowed version holds it.
    pub fn encode<'a>(&self, data: impl Into<Data<'a>>) -> Result<Symbol, Error> {
        let data = data.into();
        if let (Data::Text(text), true) = (data, *self == Encoder::new(self.level)) {
            // `encode` allocates nothing and takes half the time.
            if let Ok(symbol) = encode(text, self.level) {
                return Ok(symbol);
            }
        }
        self.check(data)?;
        let units = units(data, self)?;
        let header = Header { part: None, eci: self.eci, fnc1: self.fnc1 };
        self.encode_units(data, &units, &header)
    }

    /// Checks the options, because the setters accept any value.
    fn check(&self, data: Data<'_>) -> Result<(), Error> {
        let (low, high) = self.versions;
        if low < 1 || low > high || high > 40 {
            return Err(Error::Versions { low, high, most: 40 });
        }
        if let Some(mask) = self.mask.filter(|mask| *mask > 7) {
            return Err(Error::Mask { mask, most: 7 });
        }
        if let Some(assignment) = self.eci {
            let mislabelled = self.modes.eci().is_some_and(|eci| eci != assignment)
                && matches!(data, Data::Text(text) if !text.is_ascii());
            if assignment > 999_999 || mislabelled {
                return Err(Error::Eci { assignment });
            }
        }
        if let Some(Fnc1::Aim(indicator)) = self.fnc1 {
            let letter = indicator.checked_sub(100).is_some_and(|it| it.is_ascii_alphabetic());
            if indicator > 99 && !letter {
                return Err(Error::ApplicationIndicator { indicator });
            }
        }
        Ok(())
    }

    /// Encodes units of `data` in the smallest allowed version that holds them.
    fn encode_units(
        &self,
        data: Data<'_>,
        units: &[Unit],
        header: &Header,
    ) -> Result<Symbol, Error> {
        let (low, high) = self.versions;
        let Some((version, segments)) = Segments::smallest(units, self, header, low..=high) else {
            let needed_bits = Segments::least_bits(units, self, header, high);
            // Cheap for any length: `smallest` skips the versions that cannot hold so many units.
            let smallest = Segments::smallest(units, self, header, high..=40);
            return Err(Error::TooLong {
                needed_bits,
                available_bits: 8 * data_codewords(high, self.level) as u64,
                smallest_version: smallest.map(|(version, _)| version),
            });
        };
        let fits = |level: &Level| segments.bits <= 8 * data_codewords(version, *level) as u64;
        let mut above = Level::ALL.into_iter().rev().take_while(|level| *level != self.level);
        let boosted = if self.boost { above.find(fits) } else { None };
        let level = boosted.unwrap_or(self.level);
        let capacity = data_codewords(version, level);
        let data = segments.codewords(data.as_bytes(), header, capacity);
        Ok(DataCodewords { version, level, mask: self.mask, data: &data }.to_symbol())
    }
}
