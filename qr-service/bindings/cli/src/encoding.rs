//! The flags that choose the symbol.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use qr_core::{Encoder, Error, Fnc1, MAX_SYMBOLS, MicroEncoder, RmqrEncoder};
use qr_options::options::{Kind, LevelName, Mode, Options};
use qr_options::plan::Content;
use qr_options::symbol::AnySymbol;

#[derive(Args, Debug)]
pub(crate) struct Encoding {
    /// Error correction level: the share of the symbol that may be damaged [default: L; with --rmqr M]
    #[arg(short, long, value_name = "LEVEL", ignore_case = true, value_parser = level_parser())]
    level: Option<LevelName>,

    /// Raise the level as far as the symbol has room for it
    #[arg(long)]
    boost: bool,

    /// Make a Micro QR symbol: up to 35 digits or 15 bytes, with a quiet zone of 2 modules
    #[arg(long, conflicts_with_all = ["boost", "eci", "gs1"])]
    micro: bool,

    /// Make a rectangular Micro QR symbol of level M or H: up to 361 digits or 150 bytes, for narrow
    /// spaces, with a quiet zone of 2 modules
    #[arg(long, conflicts_with_all = ["boost", "gs1", "micro", "symbol_version", "mask"])]
    rmqr: bool,

    /// Version of the symbol, 1 to 40 (Micro QR: 1 to 4), or a range such as 5-10
    #[arg(long, value_name = "VERSIONS")]
    symbol_version: Option<Versions>,

    /// Mask pattern, 0 to 7 (Micro QR: 0 to 3) [default: the one with the lowest penalty]
    #[arg(long, value_name = "MASK", value_parser = clap::value_parser!(u8).range(0..=7))]
    mask: Option<u8>,

    /// Mode of the symbol
    #[arg(long, value_name = "MODE", default_value = "auto", ignore_case = true,
        value_parser = mode_parser())]
    mode: Mode,

    /// Declare the encoding of the text by an ECI header; UTF-8 is 26. Old readers print the header as text
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=999_999))]
    eci: Option<u32>,

    /// Split a text that is too long for one symbol into as few as hold it, at most 16, which scanners put together
    /// (structured append). --symbol-version limits their version. Writes FILE-01.png, FILE-02.png and so on
    #[arg(short = 'S', long, requires = "output", conflicts_with_all = ["micro", "rmqr"])]
    structured: bool,

    /// The text is GS1 element strings; the separator is the character 0x1D
    #[arg(long)]
    gs1: bool,
}

fn level_parser() -> impl TypedValueParser<Value = LevelName> {
    let values =
        [("L", "About 7 %"), ("M", "About 15 %"), ("Q", "About 25 %"), ("H", "About 30 %")];
    names(values).try_map(|name| LevelName::named(&name.to_uppercase()).ok_or("use one of these"))
}

fn mode_parser() -> impl TypedValueParser<Value = Mode> {
    let values = [
        ("auto", "Numeric, alphanumeric and byte mode, in the fewest bits"),
        ("numeric", "Digits"),
        ("alphanumeric", "Digits, upper-case letters, space and $%*+-./:"),
        ("byte", "Any text"),
        ("kanji", "Only Kanji of Shift JIS"),
        ("auto-kanji", "Like auto, with Kanji mode for Kanji; all other characters must be ASCII"),
    ];
    names(values).try_map(|name| Mode::named(&name.to_lowercase()).ok_or("use one of these"))
}

/// A parser for these names, each with its help.
fn names<const N: usize>(values: [(&'static str, &'static str); N]) -> PossibleValuesParser {
    PossibleValuesParser::new(values.map(|(name, help)| PossibleValue::new(name).help(help)))
}

/// The lowest and the highest version allowed.
#[derive(Clone, Debug)]
struct Versions(RangeInclusive<u8>);

impl FromStr for Versions {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let version = |text: &str| text.parse().ok().filter(|v| (1..=40).contains(v));
        match (version(low), version(high)) {
            (Some(low), Some(high)) if low <= high => Ok(Versions(low..=high)),
            _ => Err("use a version from 1 to 40, or a range such as 5-10"),
        }
    }
}

impl Encoding {
    /// Encodes the data in one symbol, or with `--structured` in several. Fails if the data does not fit, or a flag
    /// excludes it; the message names the flag.
    pub(crate) fn encode(&self, content: &Content) -> anyhow::Result<Vec<AnySymbol>> {
        let data = content.data();
        let qr = |symbol| AnySymbol::Qr(Box::new(symbol));
        let symbols = if self.micro {
            self.micro_encoder().encode(data).map(|symbol| vec![AnySymbol::Micro(Box::new(symbol))])
        } else if self.rmqr {
            self.rmqr_encoder().encode(data).map(|symbol| vec![AnySymbol::Rmqr(Box::new(symbol))])
        } else if self.structured {
            self.encoder().encode_append(data).map(|symbols| symbols.into_iter().map(qr).collect())
        } else {
            self.encoder().encode(data).map(|symbol| vec![qr(symbol)])
        };
        symbols.map_err(|error| self.describe(error, content.as_bytes().len()))
    }

    /// The most symbols that a text may take.
    pub(crate) fn most_symbols(&self) -> usize {
        if self.structured { MAX_SYMBOLS } else { 1 }
    }

    /// Quiet zone that the standard requires, in modules.
    pub(crate) fn quiet_zone(&self) -> u32 {
        if self.micro || self.rmqr { 2 } else { 4 }
    }

    /// Adds these flags to `options`. With a logo and without `--level`, the definition's default level leaves room for
    /// the logo.
    pub(crate) fn add_to(&self, options: &mut Options) {
        options.kind = Some(match (self.micro, self.rmqr) {
            (true, _) => Kind::Micro,
            (_, true) => Kind::Rmqr,
            _ => Kind::Qr,
        });
        options.level = (self.level.is_some() || options.logo.is_none()).then_some(self.level());
        options.boost = Some(self.boost);
        if let Some(Versions(versions)) = &self.symbol_version {
            options.version_min = Some(*versions.start());
            options.version_max = Some(*versions.end());
        }
        options.mask = self.mask;
        options.mode = Some(self.mode);
        options.eci = self.eci;
        options.gs1 = Some(self.gs1);
        options.part = self.structured.then_some(1);
    }

    fn level(&self) -> LevelName {
        self.level.unwrap_or(if self.rmqr { LevelName::M } else { LevelName::L })
    }

    fn describe(&self, error: Error, bytes: usize) -> anyhow::Error {
        let context = match error {
            Error::NoSuchSymbol { .. } if self.rmqr => {
                return anyhow::anyhow!(
                    "--level {}: --rmqr has the levels M and H",
                    self.level().as_str()
                );
            }
            Error::TooLong { .. } | Error::TooManySymbols { .. } => {
                format!("the text's {bytes} bytes are too many for level {}", self.level().as_str())
            }
            Error::NotInMode { .. } => format!("--mode {}", self.mode.as_str()),
            Error::Eci { assignment } => {
                let encoding = match self.mode {
                    Mode::Kanji | Mode::AutoKanji => "Kanji are Shift JIS, which is 20",
                    _ => "the text is UTF-8, which is 26",
                };
                return anyhow::anyhow!("--eci {assignment}: {encoding}");
            }
            Error::Versions { .. } => "--symbol-version".to_owned(),
            Error::Mask { .. } => "--mask".to_owned(),
            error => return error.into(),
        };
        anyhow::Error::from(error).context(context)
    }

    fn micro_encoder(&self) -> MicroEncoder {
        let versions = self.symbol_version.clone().map_or(1..=4, |Versions(versions)| versions);
        // M1 has no level.
        let level = (*versions.end() > 1).then_some(self.level().into());
        MicroEncoder::new(level).modes(self.mode.into()).versions(versions).mask(self.mask)
    }

    fn rmqr_encoder(&self) -> RmqrEncoder {
        RmqrEncoder::new(self.level().into()).modes(self.mode.into()).eci(self.eci)
    }

    fn encoder(&self) -> Encoder {
        let versions = self.symbol_version.clone().map_or(1..=40, |Versions(versions)| versions);
        Encoder::new(self.level().into())
            .boost(self.boost)
            .modes(self.mode.into())
            .versions(versions)
            .mask(self.mask)
            .eci(self.eci)
            .fnc1(self.gs1.then_some(Fnc1::Gs1))
    }
}
