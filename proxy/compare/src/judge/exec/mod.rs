//! The judge `exec`: a program of the user. [`message`] has the protocol.
//!
//! One process judges one pair at a time. It starts with the first pair. If it breaks the protocol or a limit, it is
//! killed with its process group, the pair is `Unjudged`, and the next start waits: 100 ms after the first failure,
//! then twice as long each time, up to 10 s. Until the next start, pairs are `Unjudged` at once. Once a process has
//! judged for 10 s, the wait is reset to 100 ms.
//!
//! A pair waits at most `timeout` for earlier pairs and the program's start, and then at most `timeout` for the answer.

mod message;
mod program;
mod stderr;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use parking_lot::Mutex;
use strum::{EnumCount, IntoStaticStr, VariantArray};

use crate::judge::difference::{Kind, Verdict};
use crate::judge::{Answer, RequestLine};
use program::Program;
use route::{ExecSettings, Time};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_TIMEOUT: Time = Time::seconds(60);

/// Runs the user's program and asks it for verdicts.
#[derive(Debug)]
pub(crate) struct Exec {
    settings: ExecSettings,
    /// Locked while a pair is being judged.
    runner: Mutex<Runner>,
    /// All kinds that were ever declared, at most [`message::MAX_KINDS`].
    kinds: Mutex<BTreeSet<Arc<str>>>,
    stats: Mutex<Stats>,
}

/// The program's process, if it runs, and when the next one may start.
#[derive(Debug, Default)]
struct Runner {
    running: Option<Running>,
    failures_in_row: u32,
    next_start: Option<Instant>,
}

#[derive(Debug)]
struct Running {
    program: Program,
    since: Instant,
    /// The declared kinds; `None` before the program's hello.
    kinds: Option<BTreeSet<Arc<str>>>,
    last_id: u64,
}

/// Why the user's program was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Failure {
    /// It could not be started.
    Start,
    /// It sent no hello in time, or an invalid one.
    Hello,
    /// It did not answer in time.
    Timeout,
    /// It ended, or closed its input or output.
    Died,
    /// It wrote a line that was too long, or more than it was asked for.
    Flooded,
    /// It sent an invalid answer.
    Nonsense,
}

impl Failure {
    fn because(self, why: impl Into<String>) -> NoVerdict {
        NoVerdict { failure: Some(self), why: why.into() }
    }
}

/// Why there is no verdict.
#[derive(Debug)]
struct NoVerdict {
    /// How the program failed while it judged this pair or started for it; `None` if it is still starting, or waits for
    /// its next start.
    failure: Option<Failure>,
    why: String,
}

/// Counts of the user's program so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often the program was started, restarts included.
    pub starts: u64,
    /// In the order of [`Failure`].
    failures: [u64; Failure::COUNT],
    /// Pairs that were not judged because the program was starting, or waiting for its next start.
    pub waiting: u64,
    /// Pairs that were not judged because the program was busy with earlier pairs.
    pub busy: u64,
}

impl Stats {
    /// How often the program failed in this way. Each time, it was killed, and a pair was not judged.
    pub fn failures(&self, failure: Failure) -> u64 {
        self.failures[failure as usize]
    }

    /// The counts of all failures, by name.
    pub fn failures_by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Failure::VARIANTS.iter().map(<&str>::from).zip(self.failures)
    }
}

impl Exec {
    pub(crate) fn new(settings: &ExecSettings) -> anyhow::Result<Self> {
        let ExecSettings { command, timeout, start_timeout, max_memory_mib } = settings;
        ensure!(
            command.first().is_some_and(|program| !program.is_empty()),
            "command names no program"
        );
        for (name, limit) in [("timeout", timeout), ("start_timeout", start_timeout)] {
            ensure!(
                *limit <= LONGEST_TIMEOUT,
                "{name} is {limit}; it must be at most {LONGEST_TIMEOUT}"
            );
        }
        ensure!(*max_memory_mib != Some(0), "max_memory_mib is 0; it must be at least 1");
        Ok(Exec {
            settings: settings.clone(),
            runner: Mutex::default(),
            kinds: Mutex::default(),
            stats: Mutex::default(),
        })
    }

    /// Starts the program if it does not run, and waits for its hello.
    pub(crate) fn start(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.settings.start_timeout.0;
        let runner = &mut self.runner.try_lock_until(deadline).context("the program is busy")?;
        match self.ready(runner, deadline) {
            Ok(_) => Ok(()),
            Err(refused) => bail!(self.explain(runner, refused)),
        }
    }

    /// Asks the program for its verdict.
    pub(crate) fn compare(
        &self,
        asked: &RequestLine<'_>,
        old: &Answer<'_>,
        new: &Answer<'_>,
    ) -> Verdict {
        let timeout = self.settings.timeout.0;
        let deadline = Instant::now() + timeout;
        let Some(mut runner) = self.runner.try_lock_until(deadline) else {
            self.stats.lock().busy += 1;
            let reason = format!("the program was busy with other pairs for {timeout:?}");
            return Verdict::Unjudged { reason };
        };
        let ready = self.ready(&mut runner, deadline);
        match ready.and_then(|running| running.judge(timeout, asked, old, new)) {
            Ok(verdict) => {
                runner.behaved();
                verdict
            }
            Err(refused) => Verdict::Unjudged { reason: self.explain(&mut runner, refused) },
        }
    }

    /// The kinds that were declared so far.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.kinds.lock().iter().cloned().map(Kind::Declared).collect()
    }

    pub(crate) fn stats(&self) -> Stats {
        *self.stats.lock()
    }

    /// Starts the program if needed, and returns it once it has sent its hello.
    fn ready<'r>(
        &self,
        runner: &'r mut Runner,
        deadline: Instant,
    ) -> Result<&'r mut Running, NoVerdict> {
        let running = match &mut runner.running {
            Some(running) => running,
            none => {
                let now = Instant::now();
                if let Some(wait) = runner.next_start.and_then(|at| at.checked_duration_since(now))
                {
                    let why = format!("the program failed and starts again in {wait:.1?}");
                    return Err(NoVerdict { failure: None, why });
                }
                self.stats.lock().starts += 1;
                let program = Program::spawn(&self.settings)?;
                none.insert(Running { program, since: now, kinds: None, last_id: 0 })
            }
        };
        if running.kinds.is_none() {
            running.kinds = Some(self.hello(running, deadline)?);
        }
        Ok(running)
    }

    fn hello(
        &self,
        running: &mut Running,
        deadline: Instant,
    ) -> Result<BTreeSet<Arc<str>>, NoVerdict> {
        let limit = self.settings.start_timeout.0;
        let line = running.program.ask(&[], deadline.min(running.since + limit))?;
        let Some(line) = line else {
            return Err(match running.since.elapsed() >= limit {
                true => Failure::Hello.because(format!("it sent no hello within {limit:?}")),
                false => NoVerdict { failure: None, why: "the program is still starting".into() },
            });
        };
        let kinds = message::read_hello(&line).map_err(|why| Failure::Hello.because(why))?;
        let mut known = self.kinds.lock();
        if known.union(&kinds).count() > message::MAX_KINDS {
            let why = format!("its starts declared more than {} kinds", message::MAX_KINDS);
            return Err(Failure::Hello.because(why));
        }
        known.extend(kinds.iter().cloned());
        Ok(kinds)
    }

    /// Counts why there is no verdict, kills the program if it failed, and describes the reason for people.
    fn explain(&self, runner: &mut Runner, NoVerdict { failure, why }: NoVerdict) -> String {
        let Some(failure) = failure else {
            self.stats.lock().waiting += 1;
            return why;
        };
        self.stats.lock().failures[failure as usize] += 1;
        runner.failed();
        let (program, reason) = (&self.settings.command[0], <&str>::from(failure));
        tracing::warn!(program, reason, why, "the judge's program failed");
        format!("the program failed ({reason}): {why}")
    }
}

impl Runner {
    /// Kills the program and sets when the next one may start.
    fn failed(&mut self) {
        self.running = None;
        let wait = FIRST_WAIT.saturating_mul(1 << self.failures_in_row.min(10)).min(LONGEST_WAIT);
        self.failures_in_row = self.failures_in_row.saturating_add(1);
        self.next_start = Some(Instant::now() + wait);
    }

    /// Forgets earlier failures, once the program has judged for long enough.
    fn behaved(&mut self) {
        if self.running.as_ref().is_some_and(|running| running.since.elapsed() >= LONGEST_WAIT) {
            self.failures_in_row = 0;
        }
    }
}

impl Running {
    fn judge(
        &mut self,
        timeout: Duration,
        asked: &RequestLine<'_>,
        old: &Answer<'_>,
        new: &Answer<'_>,
    ) -> Result<Verdict, NoVerdict> {
        self.last_id += 1;
        let question = message::question(self.last_id, asked, old, new);
        let line = self.program.ask(&question, Instant::now() + timeout)?;
        let line =
            line.ok_or_else(|| Failure::Timeout.because(format!("no answer within {timeout:?}")))?;
        let none = BTreeSet::new();
        message::read_verdict(&line, self.last_id, self.kinds.as_ref().unwrap_or(&none))
            .map_err(|why| Failure::Nonsense.because(why))
    }
}
