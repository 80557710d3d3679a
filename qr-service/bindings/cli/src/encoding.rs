//! The flags that choose the symbol.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use qr_core::{Encoder, EncoderError, Fnc1, Level, Modes, Symbol};

#[derive(Args, Debug)]
pub(crate) struct Encoding {
    /// Error correction level: how much of the symbol may be damaged
    #[arg(short, long, value_name = "LEVEL", default_value = "L", ignore_case = true,
        value_parser = level_parser())]
    level: Level,

    /// Raise the level as far as the symbol has room
    #[arg(long)]
    boost: bool,

    /// Version of the symbol, 1 to 40, or the lowest and the highest allowed, as 5-10
    #[arg(long, value_name = "VERSIONS")]
    symbol_version: Option<Versions>,

    /// Mask pattern, 0 to 7 [default: the one with the lowest penalty]
    #[arg(long, value_name = "MASK", value_parser = clap::value_parser!(u8).range(0..=7))]
    mask: Option<u8>,

    /// Mode of the symbol
    #[arg(long, value_name = "MODE", default_value = "auto", ignore_case = true)]
    mode: Mode,

    /// Declare the encoding of the text by an ECI header; UTF-8 is 26. Old readers print the header
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=999_999))]
    eci: Option<u32>,

    /// The text is GS1 element strings; the separator is the character 0x1D
    #[arg(long)]
    gs1: bool,
}

fn level_parser() -> impl TypedValueParser<Value = Level> {
    let values =
        [("L", "About 7 %"), ("M", "About 15 %"), ("Q", "About 25 %"), ("H", "About 30 %")];
    PossibleValuesParser::new(values.map(|(name, share)| PossibleValue::new(name).help(share)))
        .try_map(|name| name.parse::<Level>())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Numeric, alphanumeric and byte mode, in the fewest bits
    Auto,
    /// Digits
    Numeric,
    /// Digits, upper-case letters, space and $%*+-./:
    Alphanumeric,
    /// Any text
    Byte,
    /// Kanji of Shift JIS alone
    Kanji,
    /// As auto, with Kanji mode for Kanji; the rest must be ASCII
    AutoKanji,
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
            _ => Err("use a version from 1 to 40, or the lowest and the highest as 5-10"),
        }
    }
}

impl Encoding {
    pub(crate) fn encode(&self, text: &str) -> anyhow::Result<Symbol> {
        self.encoder().encode(text).map_err(|error| match error {
            EncoderError::TooLong { .. } => {
                let (bytes, level) = (text.len(), self.level);
                anyhow::Error::from(error)
                    .context(format!("the text's {bytes} bytes are too many for level {level}"))
            }
            EncoderError::NotInMode { .. } => {
                let mode = self.mode.to_possible_value();
                let mode = mode.as_ref().map_or("", |mode| mode.get_name());
                anyhow::Error::from(error).context(format!("--mode {mode}"))
            }
            EncoderError::Eci { assignment } => {
                anyhow::anyhow!("--eci {assignment}: the text is UTF-8, which is 26")
            }
            error => error.into(),
        })
    }

    fn encoder(&self) -> Encoder {
        let mut encoder = Encoder::new(self.level).boost(self.boost).modes(match self.mode {
            Mode::Auto => Modes::Automatic,
            Mode::Numeric => Modes::Numeric,
            Mode::Alphanumeric => Modes::Alphanumeric,
            Mode::Byte => Modes::Byte,
            Mode::Kanji => Modes::Kanji,
            Mode::AutoKanji => Modes::AutomaticWithKanji,
        });
        if let Some(Versions(versions)) = &self.symbol_version {
            encoder = encoder.versions(versions.clone());
        }
        if let Some(mask) = self.mask {
            encoder = encoder.mask(mask);
        }
        if let Some(eci) = self.eci {
            encoder = encoder.eci(eci);
        }
        if self.gs1 { encoder.fnc1(Fnc1::Gs1) } else { encoder }
    }
}
