//! Shows a run to people. A terminal gets a block that is redrawn in place; other outputs get the
//! same lines whenever a verdict changes.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use evidence::{Difference, Judgement, Reading, Verdict};

use crate::state::State;

/// The output of a run.
#[derive(Debug)]
pub(crate) struct Display {
    terminal: bool,
    /// The height of the block at the end of the terminal, in lines.
    drawn: usize,
    /// What was last shown: the step, whether its time is over, and the verdicts.
    shown: Option<(usize, bool, Vec<Verdict>)>,
}

impl Display {
    pub(crate) fn new() -> Self {
        Display { terminal: stdout().is_terminal(), drawn: 0, shown: None }
    }

    /// Prints a line that is not redrawn.
    pub(crate) fn say(&mut self, line: &str) {
        self.print(&format!("{line}\n"));
        self.drawn = 0;
        self.shown = None;
    }

    /// Shows the time left in the step, and each gate.
    pub(crate) fn step(&mut self, state: &State, left: Duration, judgement: &Judgement) {
        let verdicts: Vec<Verdict> = judgement.readings.iter().map(|r| r.verdict).collect();
        let now = Some((state.step, left.is_zero(), verdicts));
        if !self.terminal && self.shown == now {
            return;
        }
        self.shown = now;
        let mut text = if self.terminal && self.drawn > 0 {
            format!("\x1b[{}A\x1b[J", self.drawn)
        } else {
            String::new()
        };
        text.push_str(&block(state, left, judgement));
        self.print(&text);
        self.drawn = judgement.readings.len() + 1;
    }

    fn print(&self, text: &str) {
        // A run continues even if its output is closed.
        let mut out = stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn block(state: &State, left: Duration, judgement: &Judgement) -> String {
    let (step, steps) = (state.step + 1, state.plan.steps.len());
    let left = match left.as_secs_f64().ceil() {
        0.0 if judgement.verdict == Verdict::Inconclusive => "waiting for missing data".to_owned(),
        0.0 => "its time is over".to_owned(),
        seconds => format!("{}:{:02} left", (seconds / 60.0).floor(), seconds % 60.0),
    };
    let phase = state.phase.as_str();
    let share = state.share();
    format!(
        "step {step} of {steps}: {share}% on the new side, {phase}, {left}\n{}",
        lines(judgement)
    )
}

/// One line per gate. On a terminal, the line of a test also draws its difference.
pub fn lines(judgement: &Judgement) -> String {
    drawn(judgement, stdout().is_terminal())
}

fn drawn(judgement: &Judgement, has_strips: bool) -> String {
    let longest = judgement.readings.iter().map(|reading| reading.gate.len()).max().unwrap_or(0);
    let difference = |one: &Reading| one.difference.filter(|_| has_strips);
    let strips = judgement.readings.iter().map(|one| difference(one).as_ref().map(strip));
    let strips: Vec<Option<String>> = strips.collect();
    let wide = if strips.iter().any(Option::is_some) { STRIP + 2 } else { 0 };
    let line = |(reading, strip): (&Reading, Option<String>)| {
        let (verdict, strip) = (reading.verdict.as_str(), strip.unwrap_or_default());
        format!("  {verdict:<12}  {:<longest$}  {strip:<wide$}{reading}\n", reading.gate)
    };
    judgement.readings.iter().zip(strips).map(line).collect()
}

/// The characters of a strip.
const STRIP: usize = 21;

/// Draws a difference on a scale from -2 to +2 limits: `=` the confidence interval, `o` the estimate, `:` zero, `|` the
/// limit.
fn strip(difference: &Difference) -> String {
    let Difference { lower, estimate, upper, limit } = *difference;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 20")]
    let at = |ratio: f64| {
        let limits = (ratio / limit.max(1e-4)).clamp(-2.0, 2.0);
        (5.0 * (limits + 2.0)).round() as usize
    };
    let mut drawn = [b' '; STRIP];
    if lower.or(upper).is_some() {
        let (from, to) = (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY));
        drawn[at(from)..=at(to)].fill(b'=');
    }
    for (ratio, mark) in [(0.0, b':'), (limit, b'|'), (estimate, b'o')] {
        drawn[at(ratio)] = mark;
    }
    drawn.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests;
