//! `shadow compare`: compares the answers to each line of a file, one line after the other.

mod report;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use http::uri::PathAndQuery;
use indicatif::{ProgressBar, ProgressStyle};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use service_kit::arguments::timeout;

use crate::asked::Asked;
use crate::base_url::BaseUrl;
use crate::client::Client;
use crate::comparison::Comparer;
use report::Report;

const EXIT_CODES: &str = "\
Exit codes:
  0  all answers match
  1  an answer differs or is missing
  2  wrong usage, or nothing to compare";

#[derive(Args, Clone, Debug)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Options {
    /// File with one text per line, without escapes; empty lines are skipped; - is standard input
    #[arg(long, value_name = "FILE")]
    file: PathBuf,

    /// The new side
    #[arg(long, value_name = "URL")]
    new: BaseUrl,

    /// The old side
    #[arg(long, value_name = "URL")]
    old: BaseUrl,

    /// Longest wait for an answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = timeout)]
    request_timeout: Duration,

    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// Line number, from 1.
    line: usize,
    target: PathAndQuery,
}

impl Options {
    /// Reads the file. An error names the file.
    pub(crate) fn read_texts(&self) -> anyhow::Result<Vec<Text>> {
        let name = self.file.display();
        let content = if self.file == Path::new("-") {
            let mut content = Vec::new();
            std::io::stdin().read_to_end(&mut content).map(|_| content)
        } else {
            std::fs::read(&self.file)
        };
        let content = content.with_context(|| format!("--file {name}"))?;
        let texts = lines(&content).with_context(|| format!("--file {name}"))?;
        ensure!(!texts.is_empty(), "--file {name}: no text in it");
        Ok(texts)
    }
}

/// The lines that are not empty, without a carriage return at the end. A line may be invalid UTF-8 or
/// too long for a QR code: both sides must refuse it in the same way.
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

/// Compares the answers to all texts.
pub(crate) async fn compare(options: &Options, texts: &[Text]) -> Report {
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

/// A progress bar on standard error; it draws nothing if that is not a terminal.
fn progress_bar(length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    // If this template were invalid, indicatif's default would do.
    match ProgressStyle::with_template("{wide_bar} {pos}/{len}, {msg} differ, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_text_without_escapes_and_empty_lines_are_skipped() {
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
    fn a_line_too_long_for_a_request_is_named() {
        let error = lines(&[b"a\n".as_slice(), &[b' '; 30_000]].concat()).unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2 is too long"), "{error:#}");
    }
}
