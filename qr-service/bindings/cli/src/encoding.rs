//! The flags that choose the symbol.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use qr_options::options::{Kind, LevelName, Options};

#[derive(Args, Debug)]
pub(crate) struct Encoding {
    /// Error correction level: about 7 % of the symbol may be damaged with L, 15 % with M, 25 % with Q, 30 % with H
    /// [default: L; with --rmqr M]
    #[arg(short, long, value_name = "LEVEL", ignore_case = true, value_parser = level_parser())]
    level: Option<LevelName>,

    /// Raise the level as far as the symbol has room for it
    #[arg(long)]
    boost: bool,

    /// Make a Micro QR symbol: up to 35 digits or 15 bytes, with a quiet zone of 2 modules
    #[arg(long, conflicts_with_all = ["boost", "gs1"])]
    micro: bool,

    /// Make a rectangular Micro QR symbol of level M or H: up to 361 digits or 150 bytes, for narrow
    /// spaces, with a quiet zone of 2 modules
    #[arg(long, conflicts_with_all = ["boost", "gs1", "micro", "symbol_version"])]
    rmqr: bool,

    /// Version of the symbol, 1 to 40 (Micro QR: 1 to 4), or a range such as 5-10
    #[arg(long, value_name = "VERSIONS")]
    symbol_version: Option<Versions>,

    /// Split a text that is too long for one symbol into as few as hold it, at most 16, which scanners put together
    /// (structured append). --symbol-version limits their version. Writes FILE-01.png, FILE-02.png and so on
    #[arg(short = 'S', long, requires = "output", conflicts_with_all = ["micro", "rmqr"])]
    structured: bool,

    /// The text is GS1 element strings; the separator is the character 0x1D
    #[arg(long)]
    gs1: bool,
}

fn level_parser() -> impl TypedValueParser<Value = LevelName> {
    let names = PossibleValuesParser::new(LevelName::NAMES);
    names.try_map(|name| LevelName::named(&name.to_uppercase()).ok_or("use one of these"))
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
    /// Adds these flags to `options`. With a logo and without `--level`, the definition's default level leaves room for
    /// the logo.
    pub(crate) fn add_to(&self, options: &mut Options) {
        options.kind = Some(match (self.micro, self.rmqr) {
            (true, _) => Kind::Micro,
            (_, true) => Kind::Rmqr,
            _ => Kind::Qr,
        });
        // M1 has no level.
        let is_m1 =
            self.micro && matches!(&self.symbol_version, Some(Versions(it)) if *it.end() == 1);
        let has_own = self.level.is_some() || options.logo.is_none();
        let default = if self.rmqr { LevelName::M } else { LevelName::L };
        options.level = (has_own && !is_m1).then_some(self.level.unwrap_or(default));
        options.boost = Some(self.boost);
        if let Some(Versions(versions)) = &self.symbol_version {
            options.version_min = Some(*versions.start());
            options.version_max = Some(*versions.end());
        }
        options.gs1 = Some(self.gs1);
        options.part = self.structured.then_some(1);
    }
}
