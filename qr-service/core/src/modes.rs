//! The modes that a message may be encoded in, and the encodings that go with them.

/// The assignment number of UTF-8 for [`Encoder::eci`](crate::Encoder::eci).
#[doc = example!(
    let symbol = Encoder::new(Level::M).eci(ECI_UTF_8).encode("grüße")?;
    assert_eq!(symbol.version(), 1);
)]
pub const ECI_UTF_8: u32 = 26;

/// The modes that an [`Encoder`](crate::Encoder) may use (ISO/IEC 18004 section 7.4).
///
/// ```
/// use qr_core::{Encoder, Level, Modes};
///
/// let version = |modes| Encoder::new(Level::M).modes(modes).encode("0123456789012345678901234567890");
/// assert_eq!(version(Modes::Automatic)?.version(), 1);
/// assert_eq!(version(Modes::Byte)?.version(), 3);
/// # Ok::<(), qr_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Modes {
    /// Numeric, alphanumeric and byte mode, split so that the message takes the fewest bits.
    #[default]
    Automatic,
    /// Numeric mode alone: digits.
    Numeric,
    /// Alphanumeric mode alone: digits, upper-case letters, space and `$%*+-./:`.
    Alphanumeric,
    /// Byte mode alone: anything.
    Byte,
    /// Kanji mode alone: the characters of JIS X 0208 that every Shift JIS table reads alike.
    #[cfg(feature = "kanji")]
    Kanji,
    /// As [`Modes::Automatic`], with Kanji mode for Kanji. All other characters must be ASCII: a
    /// decoder cannot tell UTF-8 from Shift JIS in the same symbol.
    #[cfg(feature = "kanji")]
    AutomaticWithKanji,
}

/// The assignment number of Shift JIS.
#[cfg(feature = "kanji")]
const ECI_SHIFT_JIS: u32 = 20;

impl Modes {
    /// The ECI that declares the encoding of a text that is not ASCII; `None` if these modes encode only ASCII.
    ///
    /// Decoders read Kanji segments in the encoding that the ECI declares, not always in Shift JIS.
    pub(crate) fn eci(self) -> Option<u32> {
        match self {
            Modes::Numeric | Modes::Alphanumeric => None,
            Modes::Automatic | Modes::Byte => Some(ECI_UTF_8),
            #[cfg(feature = "kanji")]
            Modes::Kanji | Modes::AutomaticWithKanji => Some(ECI_SHIFT_JIS),
        }
    }
}
