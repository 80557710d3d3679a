//! The options of a symbol and its picture: the one definition that the query, JSON, OpenAPI and all bindings
//! share. `plan.rs` interprets them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use qr_core::{Color, Error};
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::definition::{Definition, any_text, boolean, integer, number, one_of, text};
use crate::{names, parameters};

/// The most pixels a side, or 16.8 million in a square picture.
pub const MAX_SIZE_PX: u32 = 4096;
/// The widest page of a PDF or EPS, in millimetres.
pub const MAX_MM: f64 = 1000.0;

/// The pattern of a colour. It also matches decimals above 255, which [`Color`] refuses.
const COLOUR: &str =
    "^(#?([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})|[0-9]+-[0-9]+-[0-9]+|transparent)$";

/// Formats of pictures, formats in pixels, those of label printers, and the kind of symbol that has most options.
const PICTURES: &[&str] = &["png", "svg", "pdf", "eps"];
const PIXELS: &[&str] = &["png", "svg"];
const LABELS: &[&str] = &["zpl", "epl"];
const QR: &[&str] = &["qr"];
/// Formats that have gradients.
const SHADED: &[&str] = &["png", "svg", "pdf"];
/// The colour, and the shape, of finder patterns.
const FINDER_COLOR: Definition =
    any_text().example("#036").pattern(COLOUR).formats(PICTURES).kinds(QR);
const ONE_SHAPE: Definition = one_of(FinderShape::NAMED).formats(PICTURES).kinds(QR);

parameters! {
    /// What to encode, and how to draw it. `text` or `data` is required; all other options have a default.
    #[derive(Clone, Debug, Default, serde::Deserialize)]
    pub Options {
        /// The text to encode, as UTF-8.
        text: Option<String> = text(1, 113_424).example("https://example.com/"),
        /// Bytes to encode instead of a text: Base64 by RFC 4648, either alphabet, padded or not.
        data: Option<Bytes> = text(2, 151_296).format("byte").pattern("^[A-Za-z0-9+/_-]+={0,2}$"),

        /// The kind of symbol.
        kind: Option<Kind> = one_of(Kind::NAMED).default("qr"),
        /// Error correction level. The default is M. Micro QR has L, M and Q, and uses any of them by default; rMQR has
        /// M and H.
        level: Option<LevelName> = one_of(LevelName::NAMED),
        /// Raises the level as far as the version has room for it. Only for `qr`.
        boost: Option<bool> = boolean().kinds(QR),
        /// The smallest version allowed: 1 to 40, for Micro QR 1 to 4.
        version_min: Option<u8> = integer(1, 40).kinds(&["qr", "micro"]),
        /// The largest version allowed.
        version_max: Option<u8> = integer(1, 40).kinds(&["qr", "micro"]),
        /// Height of an rMQR symbol in modules: 7, 9, 11, 13, 15 or 17. The default is the size with the smallest area.
        rmqr_height: Option<u8> = integer(7, 17).kinds(&["rmqr"]),
        /// Width of an rMQR symbol in modules: 27, 43, 59, 77, 99 or 139.
        rmqr_width: Option<u8> = integer(27, 139).kinds(&["rmqr"]),
        /// Mask pattern: 0 to 7, for Micro QR 0 to 3. The default is the one with the best score.
        mask: Option<u8> = integer(0, 7).kinds(&["qr", "micro"]),
        /// Mode of the data. `auto` mixes modes to take the fewest bits; `auto-kanji` uses Kanji mode as well.
        mode: Option<Mode> = one_of(Mode::NAMED).default("auto"),
        /// ECI assignment number that declares the encoding of the data: 26 is UTF-8, 20 is Shift JIS, which Kanji mode
        /// uses. Old readers print this header as text.
        eci: Option<u32> = integer(0, 999_999).kinds(&["qr", "rmqr"]),
        /// Declares the data as GS1 element strings, with the character 0x1D as separator. Only for `qr`.
        gs1: Option<bool> = boolean().kinds(QR),
        /// Splits data that is too long for one symbol of `version_max` into up to 16 symbols (structured append),
        /// and draws the symbol with this number, counted from 1. Only for `qr`.
        part: Option<u8> = integer(1, 16).kinds(QR),

        /// The format. In the service, the path's extension or `Accept` can choose it too. The default is `png`.
        format: Option<Format> = one_of(Format::NAMED),
        /// Quiet zone in modules. The default is the standard's: 4, for Micro QR and rMQR 2.
        margin: Option<u32> = integer(0, 100)
            .formats(&["png", "svg", "pdf", "eps", "txt", "zpl", "epl"]),
        /// Width in pixels, for `png` and `svg`. In a PNG all modules have the same whole number of pixels, and the
        /// symbol is centred.
        size: Option<u32> = integer(1, 4096).formats(PIXELS),
        /// Pixels per module instead of `size`, for `png` and `svg`. The default is 8 for `png`. An `svg` has no
        /// size by default: it fills the space that the page gives it. For `zpl` and `epl` dots per module instead of
        /// `width_mm`.
        scale: Option<u32> = integer(1, 195).formats(&["png", "svg", "zpl", "epl"]),
        /// Compression of a `png`. `smallest` uses Zopfli up to a width of about 570 pixels, which takes up to 0.3 s;
        /// it excludes shapes, a logo and a caption.
        compression: Option<Compression> = one_of(Compression::NAMED).default("fast")
            .formats(&["png"]),
        /// Width in millimetres with the quiet zone, for `pdf` and `eps`. For `zpl` and `epl` the most, because modules
        /// have whole dots.
        width_mm: Option<f64> = number(1.0, 1000.0).default("40").formats(&["pdf", "eps", "zpl", "epl"]),
        /// Dots per inch of a label printer, for `zpl` and `epl`: 203, 300 or 600; for `epl` 203 or 300.
        dpi: Option<u32> = integer(203, 600).default("203").formats(LABELS),
        /// Colour of the dark modules, for `png`, `svg`, `pdf` and `eps`: 3, 4, 6 or 8 hexadecimal digits, with or
        /// without `#`; with 4 or 8 digits the last ones are the opacity. For `pdf` and `eps` also inks in per cent,
        /// such as `cmyk(100,70,0,30)`; there the default is black ink alone.
        dark: Option<Ink> = any_text().default("000").example("#036").pattern(COLOUR)
            .formats(PICTURES),
        /// Colour of the light modules and the quiet zone. `transparent` or `0000` draws no background, which is the
        /// default for `pdf` and `eps`.
        light: Option<Ink> = any_text().default("fff").example("ffffff00").pattern(COLOUR)
            .formats(PICTURES),
        /// Shape of the modules, for `png`, `svg`, `pdf` and `eps`. Only for `qr`.
        shape: Option<Shape> = one_of(Shape::NAMED).default("square").formats(PICTURES).kinds(QR),
        /// Shape of the three finder patterns, for `png`, `svg`, `pdf` and `eps`. Only for `qr`.
        finder_shape: Option<FinderShape> = one_of(FinderShape::NAMED).default("square")
            .formats(PICTURES).kinds(QR),
        /// Colour of the finder patterns, if it is not that of the dark modules.
        finder_color: Option<Ink> = FINDER_COLOR,
        /// Colour of the finder pattern at the top left, instead of `finder_color`.
        top_left_color: Option<Ink> = FINDER_COLOR,
        /// Shape of the finder pattern at the top left, instead of `finder_shape`.
        top_left_shape: Option<FinderShape> = ONE_SHAPE,
        /// Colour of the finder pattern at the top right.
        top_right_color: Option<Ink> = FINDER_COLOR,
        /// Shape of the finder pattern at the top right.
        top_right_shape: Option<FinderShape> = ONE_SHAPE,
        /// Colour of the finder pattern at the bottom left.
        bottom_left_color: Option<Ink> = FINDER_COLOR,
        /// Shape of the finder pattern at the bottom left.
        bottom_left_shape: Option<FinderShape> = ONE_SHAPE,
        /// Colour to which `dark` changes across the symbol, for `png`, `svg` and `pdf`. Only for `qr`.
        gradient_color: Option<Ink> = FINDER_COLOR.formats(SHADED),
        /// The way from `dark` to `gradient_color`.
        gradient: Option<Gradient> = one_of(Gradient::NAMED).default("linear").formats(SHADED).kinds(QR),
        /// Direction of a linear gradient in degrees: 0 is to the right, 90 is down.
        gradient_angle: Option<u32> = integer(0, 359).default("45").formats(SHADED).kinds(QR),
        /// A line around the quiet zone in the dark colour, which also holds the caption, in the light one. Only for `qr`.
        frame: Option<Frame> = one_of(Frame::NAMED).formats(PICTURES).kinds(QR),
        /// Colour of what is below the picture, by which transparent colours are judged. With it, `dark=transparent`
        /// leaves the dark modules out, so that a dark page shows through.
        background: Option<Ink> = any_text().default("fff").example("#123").pattern(COLOUR)
            .formats(PICTURES),
        /// Logo in the middle, for `png`, `svg`, `pdf` and `eps`: a PNG, JPEG or WebP of up to 256 kB and 4 million
        /// pixels, as a `data:` URI in Base64, or as a file in a form. URLs are not fetched. With a logo, the default
        /// level is H, and the version rises until each block of error correction can spare the codewords that the logo
        /// covers. Only for `qr`.
        logo: Option<Logo> = text(1, 350_000).pattern("^[Dd][Aa][Tt][Aa]:[^,]*;base64,[A-Za-z0-9+/_-]*={0,2}$")
            .formats(PICTURES).kinds(QR),
        /// Width of the logo's field as a share of the symbol's.
        logo_size: Option<f64> = number(0.05, 0.5).default("0.2").formats(PICTURES).kinds(QR),
        /// The characters of `txt`: half blocks, or ASCII.
        style: Option<Style> = one_of(Style::NAMED).default("blocks").formats(&["txt"]),
        /// The modules to draw as characters in `txt`: `light` for a dark terminal, `dark` for paper.
        ink: Option<InkedModules> = one_of(InkedModules::NAMED).default("light").formats(&["txt"]),
        /// Title for screen readers, for `svg`.
        title: Option<String> = text(1, 500).formats(&["svg"]),
        /// A line of text below the symbol, for `svg`, `pdf` and `eps`, and in the service also for `png`. A long line
        /// gets smaller letters. `pdf` and `eps` can show the characters of Windows-1252 (western Europe), a `png` also
        /// Greek and Cyrillic.
        caption: Option<String> = text(1, 200).formats(PICTURES),
        /// File name. With it, browsers download the picture instead of showing it.
        filename: Option<String> = text(1, 200).pattern(r#"^[^/\\"\u0000-\u001F\u007F-\u009F]+$"#),
    } + {
        /// Draws the Swiss cross of a QR-bill in the middle. No option sets this, only the payload of a bill.
        #[serde(skip)]
        pub has_swiss_cross: bool,
    }
}

/// A placeholder that the paths refer to; the service replaces it by that of `OPTIONS` in its document.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Options {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::Object::new().into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Options {}

names! {
    /// A kind of symbol.
    #[derive(Default)]
    pub Kind {
        /// QR.
        #[default]
        Qr = "qr",
        /// Micro QR.
        Micro = "micro",
        /// Rectangular Micro QR.
        Rmqr = "rmqr",
    }
}

impl Kind {
    /// The quiet zone that the standard requires, in modules.
    pub fn quiet_zone(self) -> u32 {
        if self == Kind::Qr { 4 } else { 2 }
    }
}

names! {
    /// An error correction level.
    pub LevelName {
        /// About 7 %.
        L = "L",
        /// About 15 %.
        M = "M",
        /// About 25 %.
        Q = "Q",
        /// About 30 %.
        H = "H",
    }
}

impl From<LevelName> for qr_core::Level {
    fn from(name: LevelName) -> Self {
        // Both have the same order.
        qr_core::Level::ALL[name as usize]
    }
}

names! {
    /// How characters are encoded as bits.
    #[derive(Default)]
    pub Mode {
        /// Numeric, alphanumeric and byte mode, mixed to take the fewest bits.
        #[default]
        Auto = "auto",
        /// Digits.
        Numeric = "numeric",
        /// Digits, upper-case letters and a few signs.
        Alphanumeric = "alphanumeric",
        /// Anything.
        Byte = "byte",
        /// Characters of JIS X 0208.
        Kanji = "kanji",
        /// Like `auto`, with Kanji mode as well.
        AutoKanji = "auto-kanji",
    }
}

impl From<Mode> for qr_core::Modes {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Numeric => qr_core::Modes::Numeric,
            Mode::Alphanumeric => qr_core::Modes::Alphanumeric,
            Mode::Byte => qr_core::Modes::Byte,
            Mode::Kanji => qr_core::Modes::Kanji,
            Mode::AutoKanji => qr_core::Modes::AutomaticWithKanji,
            Mode::Auto => qr_core::Modes::Automatic,
        }
    }
}

names! {
    /// A format of a picture.
    pub Format {
        /// PNG.
        Png = "png",
        /// SVG.
        Svg = "svg",
        /// PDF.
        Pdf = "pdf",
        /// Encapsulated PostScript.
        Eps = "eps",
        /// Characters.
        Txt = "txt",
        /// The symbol's modules, version, level and mask.
        Json = "json",
        /// A label in ZPL II, for printers of Zebra and many others.
        Zpl = "zpl",
        /// A label in EPL2, for older printers.
        Epl = "epl",
    }
}

impl Format {
    /// The format with this file extension, without the dot and in either case.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.as_str().eq_ignore_ascii_case(extension))
    }

    /// Its media type, for the header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Svg => "image/svg+xml",
            Format::Pdf => "application/pdf",
            Format::Eps => "application/postscript",
            Format::Txt => "text/plain; charset=utf-8",
            Format::Json => "application/json",
            Format::Zpl => "application/zpl",
            Format::Epl => "application/epl",
        }
    }
}

names! {
    /// How a PNG is compressed.
    #[derive(Default)]
    pub Compression {
        /// Takes microseconds.
        #[default]
        Fast = "fast",
        /// Uses Zopfli, for pictures where that takes only a fraction of a second.
        Smallest = "smallest",
    }
}

names! {
    /// A shape of modules.
    #[derive(Default)]
    pub Shape {
        /// Squares.
        #[default]
        Square = "square",
        /// Discs.
        Dots = "dots",
        /// Areas with round corners.
        Rounded = "rounded",
    }
}

names! {
    /// A shape of finder patterns.
    #[derive(Default)]
    pub FinderShape {
        /// Squares.
        #[default]
        Square = "square",
        /// Squares with round corners.
        Rounded = "rounded",
        /// A circle within a ring that is as round as decoders can still find.
        Circle = "circle",
    }
}

names! {
    /// A kind of gradient.
    #[derive(Default)]
    pub Gradient {
        /// Along a line.
        #[default]
        Linear = "linear",
        /// From the middle to the corners.
        Radial = "radial",
    }
}

names! {
    /// A shape of frames.
    pub Frame {
        /// With square corners.
        Square = "square",
        /// With round corners.
        Rounded = "rounded",
    }
}

names! {
    /// How `txt` is drawn.
    #[derive(Default)]
    pub Style {
        /// Half blocks, two modules per character.
        #[default]
        Blocks = "blocks",
        /// `##` or two spaces per module.
        Ascii = "ascii",
    }
}

names! {
    /// The modules that are drawn as characters.
    #[derive(Default)]
    pub InkedModules {
        /// The light modules.
        #[default]
        Light = "light",
        /// The dark modules.
        Dark = "dark",
    }
}

/// A colour as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ink(
    /// The colour; for inks, the colour that a screen shows.
    pub Color,
    /// Cyan, magenta, yellow and black, in per cent; `None` if the colour was not given as inks.
    pub Option<[u8; 4]>,
);

impl From<Color> for Ink {
    fn from(color: Color) -> Self {
        Ink(color, None)
    }
}

/// Reads a colour of a screen, not inks.
impl FromStr for Ink {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse::<Color>().map(Ink::from)
    }
}

impl<'de> Deserialize<'de> for Ink {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(inks) = text.strip_prefix("cmyk(").and_then(|rest| rest.strip_suffix(')')) else {
            return text.parse().map_err(D::Error::custom);
        };
        let percent = |ink: &str| ink.parse().ok().filter(|ink: &u8| *ink <= 100);
        let inks: Option<Vec<u8>> = inks.split(',').map(percent).collect();
        let inks = inks.and_then(|inks| <[u8; 4]>::try_from(inks).ok());
        let use_inks = "use four inks of 0 to 100, as cmyk(0,100,100,0)";
        let inks = inks.ok_or_else(|| D::Error::custom(use_inks))?;
        let rest = |ink: u8| 100 - u32::from(ink);
        let channel = |ink: u8| (255 * rest(ink) * rest(inks[3]) / 10_000) as u8;
        Ok(Ink(Color::rgb(channel(inks[0]), channel(inks[1]), channel(inks[2])), Some(inks)))
    }
}

/// Bytes that were given in Base64.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(
    /// The bytes.
    pub Vec<u8>,
);

/// Leaves out the content, so that it gets into no log.
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
    // The crate's own error would show a byte of the data.
    let bytes = GeneralPurpose::new(alphabet, LENIENT).decode(text);
    bytes.map_err(|_| E::custom("it is not Base64 by RFC 4648"))
}

/// The file of a picture, given as a `data:` URI (RFC 2397) in Base64. The URI's media type is ignored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Logo(
    /// The file, not decoded.
    pub Arc<[u8]>,
);

/// Leaves out the content, so that it gets into no log.
impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Logo {
    /// The `data:` URI of a file.
    pub fn uri_of(file: &[u8]) -> String {
        format!("data:;base64,{}", base64::engine::general_purpose::STANDARD.encode(file))
    }
}

impl<'de> Deserialize<'de> for Logo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const USE: &str =
            "use data:image/png;base64, followed by the file in Base64; URLs are not fetched";
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
