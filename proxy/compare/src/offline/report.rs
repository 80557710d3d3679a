//! The report of a comparison, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use route::JudgeSettings;
use serde::Serialize;
use serde_json::Value;
use strum::VariantArray;

use super::{DIFFERS, TROUBLE, case};
use crate::client::Reply;
use crate::comparison::{Comparison, Noise};
use crate::fields::Fields;
use crate::record::Record;
use crate::result::Outcome;
use crate::routes::ComparedRoute;

/// Statuses by which a server refuses a request before the app does its work: for missing credentials, a wrong method,
/// or too many requests. If both sides refuse, the match proves nothing about their answers.
const REFUSALS: [u16; 5] = [401, 403, 405, 407, 429];

/// The most differences that are listed; all are counted.
const MAX_LISTED: usize = 100;

/// The results of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Report {
    skipped: Skipped,
    outcomes: BTreeMap<&'static str, usize>,
    kinds: BTreeMap<String, usize>,
    new: Answers,
    old: Answers,
    differences: Vec<Difference>,
    /// The mismatches as cases of a contract.
    cases: Vec<Value>,
    /// Pairs in which both sides refused or failed, by the new side's status.
    unproven: BTreeMap<u16, usize>,
    /// The fields that differ, by route.
    fields: BTreeMap<String, Fields>,
    /// The routes whose old side was compared with itself, and whether their judge is `json`.
    noise_of: BTreeMap<String, bool>,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// As JSON.
    Json,
    /// Only the mismatches, as a file of cases for `carve contract`.
    Cases,
}

/// Requests of the file that were not compared, by reason.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Skipped(BTreeMap<String, SkippedLines>);

#[derive(Clone, Copy, Debug, Serialize)]
struct SkippedLines {
    count: usize,
    first_line: usize,
}

impl Skipped {
    /// Adds a skipped request; `why` follows the count in the report, such as `of no route`.
    pub(crate) fn add(&mut self, why: &str, line: usize) {
        let new = SkippedLines { count: 0, first_line: line };
        let lines = self.0.entry(why.to_owned()).or_insert(new);
        lines.count += 1;
        lines.first_line = lines.first_line.min(line);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.0.iter().map(|(why, SkippedLines { count, first_line })| {
            format!("{count} {why} (the first in line {first_line})")
        });
        f.write_str(&each.collect::<Vec<_>>().join("; "))
    }
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
    bytes: u64,
}

/// Figures of one side. Those that need an answer are `None` if there is none.
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
    skipped: &'a Skipped,
    results: BTreeMap<&'static str, usize>,
    /// Matches that prove nothing, by status.
    proves_nothing: &'a BTreeMap<u16, usize>,
    kinds: BTreeMap<String, usize>,
    new: Figures,
    old: Figures,
    differences: &'a [Difference],
    /// The fields that differ; only if the old side was compared with itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<&'a BTreeMap<String, Fields>>,
}

impl Answers {
    fn add(&mut self, reply: &Reply) {
        if let Ok(answer) = &reply.outcome {
            self.seconds.push(reply.elapsed.as_secs_f64());
            self.bytes += answer.received_bytes;
        }
    }

    fn figures(&self) -> Figures {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        // Nearest rank: the smallest measured time that at least this share of the answers did not exceed.
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
    pub(crate) fn new(skipped: Skipped) -> Self {
        Report { skipped, ..Report::default() }
    }

    pub(crate) fn add(&mut self, line: usize, comparison: &Comparison) {
        let verdict = &comparison.verdict;
        *self.outcomes.entry(verdict.outcome.into_str()).or_default() += 1;
        if let Some(kind) = verdict.kind() {
            *self.kinds.entry(kind.to_string()).or_default() += 1;
        }
        let status = comparison.new.reply.status().map_or(0, |status| status.as_u16());
        let is_refused = verdict.outcome == Outcome::Match && REFUSALS.contains(&status);
        if is_refused || verdict.outcome == Outcome::BothErrors {
            *self.unproven.entry(status).or_default() += 1;
        }
        if matches!(verdict.outcome, Outcome::Match | Outcome::Mismatch) {
            let fields = self.fields.entry(comparison.route.to_string()).or_default();
            fields.add(false, verdict.differences.as_ref());
        }
        self.new.add(&comparison.new.reply);
        self.old.add(&comparison.old.reply);
        if verdict.outcome != Outcome::Match && self.differences.len() < MAX_LISTED {
            if verdict.outcome == Outcome::Mismatch {
                self.cases.extend(case::of(line, comparison));
            }
            self.differences.push(Difference { line, record: Record::of(comparison, true) });
        }
    }

    /// Counts two answers of the old side to the same request.
    pub(crate) fn add_noise(&mut self, watched: &ComparedRoute, noise: Option<Noise>) {
        let is_json = matches!(watched.route.file.judge, JudgeSettings::Json(_));
        self.noise_of.insert(watched.name().to_owned(), is_json);
        if let Some(Noise::Judged(differences)) = noise {
            let fields = self.fields.entry(watched.name().to_owned()).or_default();
            fields.add(true, differences.as_ref());
        }
    }

    fn requests(&self) -> usize {
        self.outcomes.values().sum()
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.outcomes.get(outcome.into_str()).copied().unwrap_or_default()
    }

    pub(crate) fn difference_count(&self) -> usize {
        self.requests() - self.count(Outcome::Match)
    }

    /// The exit code, as of diff, cmp and grep: 1 if an answer differs or is missing; 2 if nothing differs but the
    /// comparison is incomplete; else 0. Pairs that the judge skipped and matches that prove nothing do not count: if
    /// there is no other match, the code is 2.
    pub fn exit_code(&self) -> u8 {
        let [matches, both, skipped, unjudged] =
            [Outcome::Match, Outcome::BothErrors, Outcome::Skipped, Outcome::Unjudged]
                .map(|outcome| self.count(outcome));
        if self.requests() > matches + both + skipped + unjudged {
            DIFFERS
        } else if unjudged > 0 || matches + both == self.unproven.values().sum::<usize>() {
            TROUBLE
        } else {
            0
        }
    }

    /// Prints the report in this form. A closed pipe is not an error.
    pub fn print(&self, form: Form) -> anyhow::Result<()> {
        let text = match form {
            Form::Text => self.to_string(),
            Form::Json => serde_json::to_string_pretty(&self.summary())?,
            Form::Cases => serde_json::to_string_pretty(&self.cases)?,
        };
        match writeln!(io::stdout(), "{text}") {
            // The reader, such as `head`, has closed the pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            requests: self.requests(),
            skipped: &self.skipped,
            results: Outcome::VARIANTS.iter().map(|o| (o.into_str(), self.count(*o))).collect(),
            proves_nothing: &self.unproven,
            kinds: self.kinds.clone(),
            new: self.new.figures(),
            old: self.old.figures(),
            differences: &self.differences,
            fields: self.noise_of.first_key_value().map(|_| &self.fields),
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
        self.write_noise(f)?;
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
        if !self.unproven.is_empty() {
            let of = self.unproven.values().sum::<usize>();
            let each =
                self.unproven.iter().map(|(status, count)| format!("{count} times {status}"));
            let each = each.collect::<Vec<_>>().join(", ");
            write!(
                f,
                "\n{of} of the pairs prove nothing, since both sides refused or failed: {each}"
            )?;
        }
        if !self.skipped.is_empty() {
            write!(f, "\nskipped: {}", self.skipped)?;
        }
        Ok(())
    }
}

impl Report {
    /// The fields in which the old side differs from itself.
    fn write_noise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (route, fields) in
            self.fields.iter().filter(|(route, _)| self.noise_of.contains_key(*route))
        {
            let (noise, pairs) = (fields.noise_pairs, fields.pairs);
            if fields.noisy().next().is_none() {
                writeln!(
                    f,
                    "noise: {route}: {noise} answers of the old side are the same when requested again"
                )?;
                continue;
            }
            for (name, counts) in fields.noisy() {
                let (of_old, between) = (counts.of_old_itself, counts.between_sides);
                writeln!(
                    f,
                    "noise: {route}: {name}: differs in {of_old} of {noise} pairs of the old side with itself, \
                     and in {between} of {pairs} of both sides"
                )?;
            }
            let pointers: Vec<String> = fields
                .noisy()
                .filter_map(|(name, _)| Some(format!("{:?}", name.strip_prefix("json ")?)))
                .collect();
            if self.noise_of[route] && !pointers.is_empty() {
                let pointers = pointers.join(", ");
                writeln!(
                    f,
                    "noise: {route}: the judge leaves them out with ignore = [{pointers}]"
                )?;
            }
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
