//! What was typed ([`Options`]), and what is meant ([`Task`]).

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, ValueEnum};
use clap_complete::Shell;
use qr_core::Raster;

use crate::input::Source;
use crate::output::Target;
use crate::picture::Picture;

const DEFAULT_SIZE_PX: u32 = 200;

const EXIT_CODES: &str = "\
Exit codes:
  0  the picture was written
  1  the text cannot be encoded, or the picture cannot be written
  2  wrong usage";

/// Writes text as a QR code.
///
/// The smallest symbol that holds the text at the level is taken. In a PNG a module has a whole
/// number of pixels, so what is left of the size becomes margin.
#[derive(Parser, Debug)]
#[command(name = "qr", version, after_help = EXIT_CODES)]
pub(crate) struct Options {
    /// The text, or - to read it from standard input, less one newline at its end. Write -- before
    /// a text that begins with a dash
    #[arg(value_name = "TEXT", required_unless_present_any = ["completions", "man"])]
    text: Option<String>,

    /// Write to a file that is complete or not there, instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What to write. By default what FILE's name ends in says it; without FILE it is utf8 on a
    /// terminal, else png
    #[arg(short, long, value_name = "FORMAT", ignore_case = true)]
    format: Option<Format>,

    /// Width and height in pixels, for png and svg [default: 200]
    #[arg(short, long, value_name = "PIXELS",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Raster::MAX_SIZE_PX)))]
    size: Option<u32>,

    /// Least width of the light border, in modules; the standard asks for 4
    #[arg(short, long, value_name = "MODULES", default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(0..=1000))]
    margin: u32,

    /// Error correction: how much of the symbol may be damaged
    #[arg(short, long, value_name = "LEVEL", default_value = "L", ignore_case = true)]
    level: Level,

    /// Encode the newline at the end of standard input too
    #[arg(long)]
    keep_newline: bool,

    /// Write a shell's completions to standard output, and nothing else
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,

    /// Write the manual page to standard output, and nothing else
    #[arg(long, exclusive = true)]
    man: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One bit a pixel
    Png,
    /// One path, of the size in pixels
    Svg,
    /// Two modules a character; on a terminal in black and white
    Utf8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Level {
    /// About 7 %
    L,
    /// About 15 %
    M,
    /// About 25 %
    Q,
    /// About 30 %
    H,
}

impl From<Level> for qr_core::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::L => qr_core::Level::L,
            Level::M => qr_core::Level::M,
            Level::Q => qr_core::Level::Q,
            Level::H => qr_core::Level::H,
        }
    }
}

/// What the program is to do.
pub(crate) enum Task {
    Picture { source: Source, picture: Picture, target: Target },
    Completions(Shell),
    Manual,
}

/// A mistake that clap cannot see.
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
        let size_px = self.size.unwrap_or(DEFAULT_SIZE_PX);
        Ok(Task::Picture {
            source: match text.as_str() {
                "-" => Source::Stdin { keep_newline: self.keep_newline },
                _ => Source::Argument(text),
            },
            picture: Picture {
                format,
                level: self.level.into(),
                raster: Raster { size_px, margin_modules: self.margin },
                coloured: on_terminal,
            },
            target: self.output.map_or(Target::Stdout, Target::File),
        })
    }
}

/// A name without an extension says nothing, and gets what standard output would.
fn format_of(file: &Path) -> Result<Format, Mistake> {
    let Some(extension) = file.extension() else { return Ok(Format::Png) };
    let is = |name: &str| extension.eq_ignore_ascii_case(OsStr::new(name));
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
