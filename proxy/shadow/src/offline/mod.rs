//! `shadow compare`: the same comparison for each line of a file, one after the other.

mod report;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use http::uri::PathAndQuery;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use service_kit::arguments::{Invalid, time};

use crate::asked::Asked;
use crate::comparison::Comparer;
use crate::side::{BaseUrl, Client};

pub use report::Report;

const EXIT_CODES: &str = "\
Exit codes:
  0  all match
  1  something differs, or was not answered
  2  wrong usage, or nothing to compare";

/// What is compared.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct Options {
    /// A text a line, as it stands: no escapes. Empty lines are skipped; - is standard input
    #[arg(long, value_name = "FILE")]
    file: PathBuf,

    /// The Rust service
    #[arg(long, value_name = "URL")]
    new: BaseUrl,

    /// The legacy app
    #[arg(long, value_name = "URL")]
    old: BaseUrl,

    /// How long an implementation may take over an answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    request_timeout: Duration,

    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}

/// A line of the file, as it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its number, from 1.
    line: usize,
    /// Path and query.
    target: PathAndQuery,
}

impl Options {
    pub(crate) fn check(self) -> Result<Self, Invalid> {
        match self.request_timeout {
            Duration::ZERO => Err(Invalid::new("--request-timeout must be longer than 0")),
            _ => Ok(self),
        }
    }

    /// The file's texts.
    ///
    /// # Errors
    /// Names the file that cannot be read, or has none.
    pub fn read_texts(&self) -> anyhow::Result<Vec<Text>> {
        let name = self.file.display();
        let content = if self.file == Path::new("-") {
            let mut content = Vec::new();
            std::io::stdin().read_to_end(&mut content).map(|_| content)
        } else {
            std::fs::read(&self.file)
        };
        let content = content.with_context(|| format!("--file {name}"))?;
        let texts = lines(&content).with_context(|| format!("--file {name}"))?;
        ensure!(!texts.is_empty(), "--file {name}: has no text");
        Ok(texts)
    }
}

/// Lines that are not empty; a carriage return before the newline belongs to it. They need not be
/// UTF-8, nor short: both implementations are to refuse the same.
fn lines(content: &[u8]) -> anyhow::Result<Vec<Text>> {
    let lines = content.split(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(i, line)| (i + 1, line.strip_suffix(b"\r").unwrap_or(line)));
    let text = |(line, bytes)| {
        let target = format!("/qrcode?text={}", percent_encode(bytes, NON_ALPHANUMERIC));
        let target = PathAndQuery::try_from(target)
            .with_context(|| format!("line {line} is too long for a request"))?;
        Ok(Text { line, target })
    };
    lines.filter(|(_, line)| !line.is_empty()).map(text).collect()
}

/// Compares the answers to all texts, with a progress bar where a person watches.
pub async fn compare(options: &Options, texts: &[Text]) -> Report {
    let comparer = Comparer {
        client: Client::new(options.request_timeout),
        new: options.new.clone(),
        old: options.old.clone(),
    };
    let bar = progress_bar(texts.len());
    let mut report = Report::default();
    for text in texts {
        report.add(text.line, &comparer.compare(Asked::get(text.target.clone())).await);
        bar.set_message(report.difference_count().to_string());
        bar.inc(1);
    }
    bar.finish_and_clear();
    report
}

fn progress_bar(length: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target);
    // A template of ours that cannot be read leaves indicatif's own.
    match ProgressStyle::with_template("{wide_bar} {pos}/{len}, {msg} differ, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_text_as_it_stands_and_empty_ones_are_skipped() {
        let of = |content: &[u8]| -> Vec<(usize, String)> {
            let texts = lines(content).unwrap().into_iter();
            texts.map(|text| (text.line, text.target.to_string())).collect()
        };
        let text = |line, text: &str| (line, format!("/qrcode?text={text}"));
        assert_eq!(
            of(b"a\\n\n\r\n b \r\n\xff"),
            [text(1, "a%5Cn"), text(3, "%20b%20"), text(4, "%FF")]
        );
        assert_eq!(of(b"\n\n"), []);
    }

    #[test]
    fn a_line_that_no_request_can_hold_is_named() {
        let error = lines(&[b"a\n".as_slice(), &[b' '; 30_000]].concat()).unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2 is too long"), "{error:#}");
    }
}
