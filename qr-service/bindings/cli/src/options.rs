//! Parses the command line ([`Options`]) and turns it into a [`Task`].

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, ValueEnum};
use clap_complete::Shell;
use qr_core::{Print, Raster};
use qr_options::fault::Fault;
use qr_options::options as defined;
use qr_options::plan::{PicturePlan, Plan};
use service_kit::arguments::Usage;

use crate::definition::{self, DefinedFlags};
use crate::encoding::Encoding;
use crate::input::Source;
use crate::output::Target;
use crate::picture::{Format, Picture};

const EXIT_CODES: &str = "\
Exit codes:
  0  the picture was written
  1  the text cannot be encoded, or the picture cannot be written
  2  wrong usage";

/// Pixels per module of a PBM without `--scale`.
const PBM_SCALE_PX: u32 = 4;

/// The extensions that choose a format.
const EXTENSIONS: &str = ".png, .svg, .txt, .pbm, .pdf, .eps, .zpl or .epl";

/// Writes text as a QR code.
///
/// Uses the smallest symbol that holds the text at the level. In a PNG every module is a whole
/// number of pixels wide, and spare pixels widen the margin.
#[derive(Parser, Debug)]
#[command(name = "qr-draw", version, after_help = EXIT_CODES)]
pub(crate) struct Options {
    /// The text. Without it, or as -, qr-draw reads standard input and drops one newline at its end.
    /// Write -- before a text that begins with a dash
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Write to FILE instead of standard output. A failed write leaves FILE unchanged
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Output format [default: by the extension of FILE; without FILE utf8 on a terminal, else png]
    #[arg(short, long, value_name = "FORMAT", ignore_case = true)]
    format: Option<Format>,

    /// Width and height in pixels, for png and svg [default: 200]
    #[arg(short, long, value_name = "PIXELS", conflicts_with = "scale",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Raster::MAX_SIZE_PX)))]
    size: Option<u32>,

    /// Width and height of a module in pixels, for png, svg and pbm [default for pbm: 4]; in dots, for zpl and epl
    #[arg(long, value_name = "PIXELS",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Raster::MAX_SIZE_PX)))]
    scale: Option<u32>,

    /// Width in millimetres, for pdf and eps; for zpl and epl the most [default: 40]
    #[arg(long, value_name = "MM", value_parser = parse_width)]
    width_mm: Option<f64>,

    /// Least width of the quiet zone, in modules [default: 4; with --micro or
    /// --rmqr 2, as the standard requires]
    #[arg(short, long, value_name = "MODULES",
        value_parser = clap::value_parser!(u32).range(0..=1000))]
    margin: Option<u32>,

    #[command(flatten)]
    encoding: Encoding,

    /// Draw the logo in FILE, a PNG, JPEG or WebP, in the middle, for png, svg, pdf and eps. The default level is then
    /// H, and the version rises until error correction can spare the codewords that the logo covers. Scan the picture
    /// before you print it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["micro", "rmqr", "structured"])]
    logo: Option<PathBuf>,

    #[command(flatten)]
    defined: DefinedFlags,

    /// Keep the newline at the end of standard input
    #[arg(long)]
    keep_newline: bool,

    /// Encode the bytes of standard input, which may be anything
    #[arg(long, conflicts_with = "keep_newline")]
    bytes: bool,

    /// Write completions for SHELL to standard output and exit
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,

    /// Write the manual page to standard output and exit
    #[arg(long, exclusive = true)]
    man: bool,
}

fn parse_width(text: &str) -> Result<f64, String> {
    let width_mm = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    if (1.0..=Print::MAX_MM).contains(&width_mm) {
        return Ok(width_mm);
    }
    Err(format!("{text} is not in 1..={}", Print::MAX_MM))
}

/// The task of the program.
pub(crate) enum Task {
    Picture { source: Source, picture: Box<Picture>, target: Target },
    Completions(Shell),
    Manual,
}

/// Options that contradict each other, with the names of their flags.
fn contradictions(faults: &[Fault]) -> Usage {
    let mut lines: Vec<String> = faults.iter().map(definition::describe).collect();
    lines.dedup(); // --symbol-version is two options
    Usage(lines.join("; "))
}

impl Options {
    pub(crate) fn check(self) -> Result<Task, Usage> {
        if let Some(shell) = self.completions {
            return Ok(Task::Completions(shell));
        }
        if self.man {
            return Ok(Task::Manual);
        }
        let on_terminal = self.output.is_none() && std::io::stdout().is_terminal();
        let format = match (self.format, &self.output) {
            (Some(format), _) => format,
            (None, Some(file)) => format_of(file)?,
            (None, None) if on_terminal => Format::Utf8,
            (None, None) => Format::Png,
        };
        let named = self.defined.options().map_err(|faults| contradictions(&faults))?;
        if format == Format::Png && named.caption.is_some() {
            let wrong = "--caption: png has no caption; give --format svg, pdf or eps";
            return Err(Usage(wrong.to_owned()));
        }
        let plan = self.plan(format, named)?;
        if self.bytes && self.text.as_ref().is_some_and(|text| text != "-") {
            let wrong = "--bytes: encodes standard input, so give no TEXT";
            return Err(Usage(wrong.to_owned()));
        }
        let default_scale = (format == Format::Pbm).then_some(PBM_SCALE_PX);
        let picture = Picture {
            format,
            plan,
            scale_px: self.scale.or(default_scale),
            logo: self.logo,
            coloured: on_terminal,
        };
        let target = match self.output {
            None => Target::Stdout,
            Some(file) if picture.most_symbols() > 1 => Target::Files(file),
            Some(file) => Target::File(file),
        };
        Ok(Task::Picture {
            source: match self.text {
                Some(text) if text != "-" => Source::Argument(text),
                _ if self.bytes => Source::Bytes,
                _ => Source::Stdin { keep_newline: self.keep_newline },
            },
            picture: Box::new(picture),
            target,
        })
    }

    /// The plan of `qr-options` for these flags. Its content is a placeholder.
    fn plan(&self, format: Format, mut options: defined::Options) -> Result<Plan, Usage> {
        options.text = Some("x".to_owned());
        options.logo = self.logo.as_ref().map(|_| defined::Logo([].into()));
        self.encoding.add_to(&mut options);
        let has_default = matches!(format, Format::Png | Format::Svg) && self.scale.is_none();
        options.size = self.size.or(has_default.then_some(Raster::SERVICE.size_px));
        let is_bitmap = format == Format::Pbm;
        options.scale = self.scale.filter(|_| !is_bitmap);
        options.margin = self.margin.filter(|_| !is_bitmap);
        options.width_mm = self.width_mm;
        if format == Format::Ascii {
            options.style = Some(defined::Style::Ascii);
            options.ink = options.ink.or(Some(defined::InkedModules::Dark));
        }
        let plan = Plan::new(options, format.defined());
        let mut plan = plan.map_err(|faults| contradictions(&faults))?;
        if is_bitmap {
            plan.margin = self.margin.unwrap_or(plan.margin);
        }
        // The service's limit for a width is lower.
        if let PicturePlan::Pdf { width, .. } | PicturePlan::Eps { width, .. } = &mut plan.picture {
            width.0 = self.width_mm.unwrap_or(width.0);
        }
        Ok(plan)
    }
}

/// Chooses the format by the extension; without one it is PNG, as on standard output.
fn format_of(file: &Path) -> Result<Format, Usage> {
    let Some(extension) = file.extension() else { return Ok(Format::Png) };
    let format = match &*extension.to_string_lossy().to_ascii_lowercase() {
        "txt" => Some(Format::Utf8),
        "utf8" | "ascii" => None,
        name => Format::from_str(name, true).ok(),
    };
    format.ok_or_else(|| {
        let file = file.display();
        Usage(format!("--output {file}: end it in {EXTENSIONS}, or give --format"))
    })
}

pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Options::command(), "qr-draw", &mut script);
    script
}

pub(crate) fn manual() -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Options::command()).render(&mut page)?;
    Ok(page)
}
