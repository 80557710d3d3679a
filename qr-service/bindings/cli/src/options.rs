//! Parses the command line ([`Options`]) and turns it into a [`Task`].

use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser};
use clap_complete::Shell;
use qr_core::{Level, Raster};

use crate::input::Source;
use crate::output::Target;
use crate::picture::{Format, Picture};

const EXIT_CODES: &str = "\
Exit codes:
  0  the picture was written
  1  the text cannot be encoded, or the picture cannot be written
  2  wrong usage";

/// Writes text as a QR code.
///
/// Uses the smallest symbol that holds the text at the level. In a PNG every module is a whole
/// number of pixels wide, and spare pixels widen the margin.
#[derive(Parser, Debug)]
#[command(name = "qr", version, after_help = EXIT_CODES)]
pub(crate) struct Options {
    /// The text, or - to read standard input and drop one newline at its end. Write -- before a
    /// text that begins with a dash
    #[arg(value_name = "TEXT", required_unless_present_any = ["completions", "man"])]
    text: Option<String>,

    /// Write to FILE instead of standard output. A failed write leaves FILE unchanged
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Output format [default: by the extension of FILE; without FILE utf8 on a terminal, else png]
    #[arg(short, long, value_name = "FORMAT", ignore_case = true)]
    format: Option<Format>,

    /// Width and height in pixels, for png and svg [default: 200]
    #[arg(short, long, value_name = "PIXELS",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Raster::MAX_SIZE_PX)))]
    size: Option<u32>,

    /// Least width of the quiet zone, in modules; the standard asks for 4
    #[arg(short, long, value_name = "MODULES", default_value_t = Raster::SERVICE.margin_modules,
        value_parser = clap::value_parser!(u32).range(0..=1000))]
    margin: u32,

    /// Error correction level: how much of the symbol may be damaged
    #[arg(short, long, value_name = "LEVEL", default_value = "L", ignore_case = true,
        value_parser = level_parser())]
    level: Level,

    /// Keep the newline at the end of standard input
    #[arg(long)]
    keep_newline: bool,

    /// Write completions for SHELL to standard output and exit
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,

    /// Write the manual page to standard output and exit
    #[arg(long, exclusive = true)]
    man: bool,
}

fn level_parser() -> impl TypedValueParser<Value = Level> {
    let values =
        [("L", "About 7 %"), ("M", "About 15 %"), ("Q", "About 25 %"), ("H", "About 30 %")];
    PossibleValuesParser::new(values.map(|(name, share)| PossibleValue::new(name).help(share)))
        .try_map(|name| name.parse::<Level>())
}

/// What the program does.
pub(crate) enum Task {
    Picture { source: Source, picture: Picture, target: Target },
    Completions(Shell),
    Manual,
}

/// A usage error that clap cannot detect.
#[derive(Debug)]
pub(crate) enum Mistake {
    UnknownExtension(PathBuf),
    SizeWithoutPixels,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::UnknownExtension(file) => {
                let file = file.display();
                write!(f, "--output {file}: end it in .png, .svg or .txt, or give --format")
            }
            Mistake::SizeWithoutPixels => {
                write!(f, "--size: utf8 has no pixels; give --format png or svg")
            }
        }
    }
}

impl Options {
    pub(crate) fn check(self) -> Result<Task, Mistake> {
        if let Some(shell) = self.completions {
            return Ok(Task::Completions(shell));
        }
        let Some(text) = self.text else { return Ok(Task::Manual) };
        let on_terminal = self.output.is_none() && std::io::stdout().is_terminal();
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(file)) => format_of(file)?,
            (None, None) if on_terminal => Format::Utf8,
            (None, None) => Format::Png,
        };
        if format == Format::Utf8 && self.size.is_some() {
            return Err(Mistake::SizeWithoutPixels);
        }
        let size_px = self.size.unwrap_or(Raster::SERVICE.size_px);
        Ok(Task::Picture {
            source: match text.as_str() {
                "-" => Source::Stdin { keep_newline: self.keep_newline },
                _ => Source::Argument(text),
            },
            picture: Picture {
                format,
                level: self.level,
                raster: Raster { size_px, margin_modules: self.margin },
                coloured: on_terminal,
            },
            target: self.output.map_or(Target::Stdout, Target::File),
        })
    }
}

/// Chooses the format by the extension; without one it is PNG, as on standard output.
fn format_of(file: &Path) -> Result<Format, Mistake> {
    let Some(extension) = file.extension() else { return Ok(Format::Png) };
    let is = |name| extension.eq_ignore_ascii_case(name);
    [("png", Format::Png), ("svg", Format::Svg), ("txt", Format::Utf8)]
        .into_iter()
        .find_map(|(name, format)| is(name).then_some(format))
        .ok_or_else(|| Mistake::UnknownExtension(file.to_owned()))
}

pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Options::command(), "qr", &mut script);
    script
}

pub(crate) fn manual() -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Options::command()).render(&mut page)?;
    Ok(page)
}
