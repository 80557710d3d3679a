//! The report of a comparison, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use super::{DIFFERS, TROUBLE};
use crate::client::Reply;
use crate::comparison::Comparison;
use crate::record::Record;
use crate::verdict::Outcome;

/// How many differences are listed; all are counted.
const MAX_LISTED: usize = 100;

/// What was compared, and what differs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    outcomes: BTreeMap<&'static str, usize>,
    kinds: BTreeMap<String, usize>,
    new: Answers,
    old: Answers,
    differences: Vec<Difference>,
}

/// A line of the file whose answers do not match.
#[derive(Clone, Debug, Serialize)]
struct Difference {
    line: usize,
    #[serde(flatten)]
    record: Record,
}

/// All answers of one side.
#[derive(Clone, Debug, Default)]
struct Answers {
    seconds: Vec<f64>,
    bytes: usize,
}

/// Figures that need an answer are missing if there is none.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    answers: usize,
    p50_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    mean_bytes: Option<f64>,
}

#[derive(Serialize)]
struct Summary<'a> {
    requests: usize,
    results: BTreeMap<&'static str, usize>,
    kinds: BTreeMap<String, usize>,
    new: Figures,
    old: Figures,
    differences: &'a [Difference],
}

impl Answers {
    fn add(&mut self, reply: &Reply) {
        if let Ok(answer) = &reply.outcome {
            self.seconds.push(reply.elapsed.as_secs_f64());
            self.bytes += answer.body.len();
        }
    }

    fn figures(&self) -> Figures {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        // Nearest rank: the smallest measured time that this share of the answers did not exceed.
        let percentile = |percent: usize| {
            sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
        };
        let answers = sorted.len();
        Figures {
            answers,
            p50_seconds: percentile(50),
            p99_seconds: percentile(99),
            mean_bytes: (answers > 0).then(|| self.bytes as f64 / answers as f64),
        }
    }
}

impl Report {
    pub(crate) fn add(&mut self, line: usize, comparison: &Comparison) {
        let verdict = &comparison.verdict;
        *self.outcomes.entry(verdict.outcome.as_str()).or_default() += 1;
        if let Some(kind) = &verdict.kind {
            *self.kinds.entry(kind.0.to_string()).or_default() += 1;
        }
        self.new.add(&comparison.new.reply);
        self.old.add(&comparison.old.reply);
        if verdict.outcome != Outcome::Match && self.differences.len() < MAX_LISTED {
            self.differences.push(Difference { line, record: Record::of(comparison, true) });
        }
    }

    fn requests(&self) -> usize {
        self.outcomes.values().sum()
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.outcomes.get(outcome.as_str()).copied().unwrap_or_default()
    }

    pub(crate) fn difference_count(&self) -> usize {
        self.requests() - self.count(Outcome::Match)
    }

    /// 0; 1 if an answer differs or is missing; 2 if nothing differs, but perhaps only because not all was compared, as
    /// of diff, cmp and grep. A pair that the judge chose to skip is neither.
    pub fn exit_code(&self) -> u8 {
        let [matches, skipped, unjudged] = [Outcome::Match, Outcome::Skipped, Outcome::Unjudged]
            .map(|outcome| self.count(outcome));
        if self.requests() > matches + skipped + unjudged {
            DIFFERS
        } else if unjudged > 0 || matches == 0 {
            TROUBLE
        } else {
            0
        }
    }

    /// Prints it, as text or as JSON.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        let text =
            if json { serde_json::to_string_pretty(&self.summary())? } else { self.to_string() };
        match writeln!(io::stdout(), "{text}") {
            // The reader, say `head`, has closed the pipe: no error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            requests: self.requests(),
            results: Outcome::ALL.map(|o| (o.as_str(), self.count(o))).into(),
            kinds: self.kinds.clone(),
            new: self.new.figures(),
            old: self.old.figures(),
            differences: &self.differences,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Difference { line, record } in &self.differences {
            writeln!(f, "line {line}: {record}")?;
        }
        let more = self.difference_count() - self.differences.len();
        if more > 0 {
            writeln!(f, "and {more} more")?;
        }
        writeln!(f, "        answers    p50 ms    p99 ms  mean bytes")?;
        write_row(f, "new", self.new.figures())?;
        write_row(f, "old", self.old.figures())?;
        fn counts(counts: &BTreeMap<impl fmt::Display, usize>) -> String {
            let counts = counts.iter().map(|(name, count)| format!("{count} {name}"));
            counts.collect::<Vec<_>>().join(", ")
        }
        write!(f, "{} requests: {}", self.requests(), counts(&self.outcomes))?;
        if !self.kinds.is_empty() {
            write!(f, " ({})", counts(&self.kinds))?;
        }
        Ok(())
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, side: &str, figures: Figures) -> fmt::Result {
    let show = |figure: Option<f64>, decimals: usize| {
        figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.decimals$}"))
    };
    let ms = |seconds: Option<f64>| show(seconds.map(|seconds| seconds * 1000.0), 3);
    let (p50, p99) = (ms(figures.p50_seconds), ms(figures.p99_seconds));
    let bytes = show(figures.mean_bytes, 0);
    writeln!(f, "{side:<7} {:>7} {p50:>9} {p99:>9} {bytes:>11}", figures.answers)
}

#[cfg(test)]
mod tests;
