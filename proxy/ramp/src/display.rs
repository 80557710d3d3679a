//! What a person sees of a run: on a terminal a block that is drawn anew in its place, elsewhere the
//! same lines where something has changed.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use crate::run::State;
use crate::{Judgement, Verdict};

/// Where a run is shown.
#[derive(Debug)]
pub(crate) struct Display {
    terminal: bool,
    /// Lines of the block that stands last on the terminal.
    drawn: usize,
    /// What was shown last, apart from figures and time.
    shown: Option<(usize, bool, Vec<Verdict>)>,
}

impl Display {
    pub(crate) fn new() -> Self {
        Display { terminal: stdout().is_terminal(), drawn: 0, shown: None }
    }

    /// A line that stays.
    pub(crate) fn say(&mut self, line: &str) {
        self.print(&format!("{line}\n"));
        self.drawn = 0;
        self.shown = None;
    }

    /// The step: how long it has to go, and each gate.
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
        // A run goes on where nobody watches any more.
        let mut out = stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn block(state: &State, left: Duration, judgement: &Judgement) -> String {
    let (step, steps) = (state.step + 1, state.plan.steps.len());
    let left = match left.as_secs_f64().ceil() {
        0.0 => "waiting for enough to judge by".to_owned(),
        seconds => format!("{}:{:02} to go", (seconds / 60.0).floor(), seconds % 60.0),
    };
    let phase = state.phase.as_str();
    let share = state.share();
    format!("step {step} of {steps}: {share}% on Rust, {phase}, {left}\n{}", lines(judgement))
}

/// A line for each gate.
pub fn lines(judgement: &Judgement) -> String {
    let longest = judgement.readings.iter().map(|reading| reading.gate.len()).max().unwrap_or(0);
    let line = |reading: &crate::Reading| {
        format!("  {:<12}  {:<longest$}  {reading}\n", reading.verdict.as_str(), reading.gate)
    };
    judgement.readings.iter().map(line).collect()
}
