//! The options of a symbol and its picture, as typed: the one definition that the query, JSON and
//! OpenAPI share. `plan.rs` has what they mean.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use qr_core::Color;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

/// The most pixels a side: 16.8 million in a square picture.
pub(crate) const MAX_SIZE_PX: u32 = 4096;
/// The widest page of a PDF or EPS, in millimetres.
pub(crate) const MAX_MM: f64 = 1000.0;

/// What to encode, and how to draw it. `text` or `data` is required, all else has a default.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(crate) struct Options {
    /// The text to encode, as UTF-8.
    #[schema(min_length = 1, max_length = 7089, example = "https://example.com/")]
    pub(crate) text: Option<String>,
    /// Bytes to encode instead of a text: Base64 by RFC 4648, either alphabet, padded or not.
    #[schema(value_type = Option<String>, min_length = 2, max_length = 9456, format = "byte")]
    pub(crate) data: Option<Bytes>,

    /// The kind of symbol.
    #[schema(inline, default = "qr")]
    pub(crate) kind: Option<Kind>,
    /// Error correction level. The default is M; Micro QR has L, M and Q and by default any, rMQR M and H.
    #[schema(inline)]
    pub(crate) level: Option<LevelName>,
    /// Raises the level as far as the version has room. Only for `qr`.
    #[schema(default = false)]
    pub(crate) boost: Option<bool>,
    /// The smallest version allowed: 1 to 40, for Micro QR 1 to 4.
    #[schema(minimum = 1, maximum = 40)]
    pub(crate) version_min: Option<u8>,
    /// The largest version allowed.
    #[schema(minimum = 1, maximum = 40)]
    pub(crate) version_max: Option<u8>,
    /// Height of an rMQR symbol in modules: 7, 9, 11, 13, 15 or 17. The default is what takes least area.
    #[schema(minimum = 7, maximum = 17)]
    pub(crate) rmqr_height: Option<u8>,
    /// Width of an rMQR symbol in modules: 27, 43, 59, 77, 99 or 139.
    #[schema(minimum = 27, maximum = 139)]
    pub(crate) rmqr_width: Option<u8>,
    /// Mask pattern: 0 to 7, for Micro QR 0 to 3. The default is the one with the best score.
    #[schema(minimum = 0, maximum = 7)]
    pub(crate) mask: Option<u8>,
    /// Mode of the data. `auto` takes the fewest bits; `auto-kanji` adds Kanji mode.
    #[schema(inline, default = "auto")]
    pub(crate) mode: Option<Mode>,
    /// Declares the encoding by an ECI assignment number; UTF-8 is 26. Old readers print the header.
    #[schema(minimum = 0, maximum = 999_999)]
    pub(crate) eci: Option<u32>,
    /// The data is GS1 element strings, with the character 0x1D as separator. Only for `qr`.
    #[schema(default = false)]
    pub(crate) gs1: Option<bool>,
    /// Splits data that are too long for one symbol of `version_max` over up to 16 (structured append),
    /// and draws this one of them, counted from 1. Only for `qr`.
    #[schema(minimum = 1, maximum = 16)]
    pub(crate) part: Option<u8>,

    /// The format. The path's extension or `Accept` chooses it too; the default is `png`.
    #[schema(inline)]
    pub(crate) format: Option<Format>,
    /// Quiet zone in modules. The default is the standard's: 4, for Micro QR and rMQR 2.
    #[schema(minimum = 0, maximum = 100)]
    pub(crate) margin: Option<u32>,
    /// Width in pixels, for `png` and `svg`. The modules of a PNG are whole pixels, and the symbol is centred.
    #[schema(minimum = 1, maximum = 4096)]
    pub(crate) size: Option<u32>,
    /// Pixels a module instead of `size`, for `png` and `svg`. The default is 8 for `png`; an `svg` has no
    /// size by default and fills the room it gets.
    #[schema(minimum = 1, maximum = 195)]
    pub(crate) scale: Option<u32>,
    /// Width in millimetres with the quiet zone, for `pdf` and `eps`.
    #[schema(minimum = 1, maximum = 1000, default = 40)]
    pub(crate) width_mm: Option<f64>,
    /// Colour of the dark modules, for `png` and `svg`: 3, 4, 6 or 8 hexadecimal digits, the last ones
    /// opacity, `#` before them or not.
    #[schema(value_type = Option<String>, default = "000", example = "#036")]
    pub(crate) dark: Option<Ink>,
    /// Colour of the light modules and the quiet zone; `0000` is transparent.
    #[schema(value_type = Option<String>, default = "fff", example = "ffffff00")]
    pub(crate) light: Option<Ink>,
    /// Shape of the modules, for `png` and `svg`. Only for `qr`.
    #[schema(inline, default = "square")]
    pub(crate) shape: Option<Shape>,
    /// Shape of the three finder patterns, for `png` and `svg`. Only for `qr`.
    #[schema(inline, default = "square")]
    pub(crate) finder_shape: Option<FinderShape>,
    /// Logo in the middle, for `png` and `svg`: a PNG, JPEG or WebP of up to 256 kB and a million pixels, as
    /// a `data:` URI in Base64, or as the file of a form. Nothing is fetched. With a logo, the level is H by
    /// default, and the version rises until each block of error correction can spare what the logo covers.
    /// Only for `qr`.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 350_000)]
    pub(crate) logo: Option<Logo>,
    /// Width of the logo's field as a share of the symbol's.
    #[schema(minimum = 0.05, maximum = 0.5, default = 0.2)]
    pub(crate) logo_size: Option<f64>,
    /// The characters of `txt`.
    #[schema(inline, default = "blocks")]
    pub(crate) style: Option<Style>,
    /// The modules that the characters of `txt` draw: `light` for a dark terminal, `dark` for paper.
    #[schema(inline, default = "light")]
    pub(crate) ink: Option<InkedModules>,
    /// Title for screen readers, for `svg`.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) title: Option<String>,
    /// File name, which makes a browser download the picture.
    #[schema(min_length = 1, max_length = 200)]
    pub(crate) filename: Option<String>,
}

/// A kind of symbol.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    Qr,
    Micro,
    Rmqr,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Qr => "qr",
            Kind::Micro => "micro",
            Kind::Rmqr => "rmqr",
        }
    }
}

/// An error correction level.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, ToSchema)]
pub(crate) enum LevelName {
    L,
    M,
    Q,
    H,
}

impl From<LevelName> for qr_core::Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::L => qr_core::Level::L,
            LevelName::M => qr_core::Level::M,
            LevelName::Q => qr_core::Level::Q,
            LevelName::H => qr_core::Level::H,
        }
    }
}

/// See [`qr_core::Modes`].
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    #[default]
    Auto,
    Numeric,
    Alphanumeric,
    Byte,
    Kanji,
    AutoKanji,
}

impl From<Mode> for qr_core::Modes {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => qr_core::Modes::Automatic,
            Mode::Numeric => qr_core::Modes::Numeric,
            Mode::Alphanumeric => qr_core::Modes::Alphanumeric,
            Mode::Byte => qr_core::Modes::Byte,
            Mode::Kanji => qr_core::Modes::Kanji,
            Mode::AutoKanji => qr_core::Modes::AutomaticWithKanji,
        }
    }
}

/// A format of an answer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Png,
    Svg,
    Pdf,
    Eps,
    Txt,
    Json,
}

impl Format {
    pub(crate) const ALL: [Format; 6] =
        [Format::Png, Format::Svg, Format::Pdf, Format::Eps, Format::Txt, Format::Json];

    /// The format whose files end so.
    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.as_str() == extension)
    }

    /// Its name, which is the extension of its files.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
            Format::Pdf => "pdf",
            Format::Eps => "eps",
            Format::Txt => "txt",
            Format::Json => "json",
        }
    }

    /// Its media type, as `Content-Type` has it.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Svg => "image/svg+xml",
            Format::Pdf => "application/pdf",
            Format::Eps => "application/postscript",
            Format::Txt => "text/plain; charset=utf-8",
            Format::Json => "application/json",
        }
    }
}

/// A shape of modules.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shape {
    #[default]
    Square,
    /// Discs.
    Dots,
    /// Areas with round corners.
    Rounded,
}

/// A shape of finder patterns.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FinderShape {
    #[default]
    Square,
    Rounded,
    Circle,
}

/// How `txt` is drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Style {
    /// Half blocks, two modules a character.
    #[default]
    Blocks,
    /// `##` and two spaces.
    Ascii,
}

/// See [`qr_core::Ink`].
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InkedModules {
    #[default]
    Light,
    Dark,
}

/// A colour as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink(pub(crate) Color);

impl<'de> Deserialize<'de> for Ink {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Ink).map_err(D::Error::custom)
    }
}

/// Bytes as typed, in Base64.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Without the content, which belongs in no log.
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        decode_base64(&String::deserialize(deserializer)?).map(Bytes)
    }
}

fn decode_base64<E: serde::de::Error>(text: &str) -> Result<Vec<u8>, E> {
    let alphabet =
        if text.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    // The crate's error shows a byte of the data.
    let bytes = GeneralPurpose::new(alphabet, LENIENT).decode(text);
    bytes.map_err(|_| E::custom("it is not Base64 by RFC 4648"))
}

/// The file of a picture as typed: a `data:` URI (RFC 2397) in Base64. Its media type does not matter.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Logo(pub(crate) Arc<[u8]>);

/// Without the content, which belongs in no log.
impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Logo {
    /// The URI that stands for the bytes of a file.
    pub(crate) fn uri_of(file: &[u8]) -> String {
        format!("data:;base64,{}", base64::engine::general_purpose::STANDARD.encode(file))
    }
}

impl<'de> Deserialize<'de> for Logo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const USE: &str =
            "use data:image/png;base64, and the file in Base64; no address is fetched";
        let text = String::deserialize(deserializer)?;
        let is_data = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
        match text.split_once(',') {
            Some((head, data)) if is_data && head.ends_with(";base64") => {
                decode_base64(data).map(|file: Vec<u8>| Logo(file.into()))
            }
            _ => Err(D::Error::custom(USE)),
        }
    }
}
