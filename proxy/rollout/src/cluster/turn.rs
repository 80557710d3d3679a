//! Whose turn it is to change a route of a cluster.
//!
//! The run's state in the ConfigMap, `NAME.run`, names the process that holds the run. That process beats each
//! second, and every write of it, of the split too, depends on its name still being there. So of two processes one
//! has the run, whatever each of them believes.

use std::sync::PoisonError;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Cluster, request_key, run_key, stop_key};
use crate::state::{Request, State, Told};

/// A process that has not been heard for so long has lost its run to whoever asks for it. It is much shorter than
/// the lease after which the proxies stop the route.
pub(crate) const SILENT: Duration = Duration::from_secs(4);
const POLL: Duration = Duration::from_millis(300);

/// What a heartbeat finds in the ConfigMap.
#[derive(Debug)]
pub(crate) enum Heard {
    Mine {
        is_stopped: bool,
        request: Option<Request>,
    },
    /// Another process has the run.
    Taken,
}

impl Cluster {
    /// What a route's run last told; `None` if there was none, or another version wrote it.
    pub(crate) fn told(&self, route: &str) -> anyhow::Result<Option<Told>> {
        Ok(told_in(&self.api.get(&self.path)?["data"], route))
    }

    /// Describes the process that holds a route's run and is alive, which takes up to [`SILENT`]. If there is none,
    /// the next change relies on that.
    pub(crate) fn holder(&self, route: &str) -> anyhow::Result<Option<String>> {
        let began = Instant::now();
        let mut before = None;
        loop {
            let told = self.told(route)?;
            let holder = told.as_ref().and_then(|told| told.holder.clone());
            let beat = told.map(|told| told.beat);
            if holder.is_none() || began.elapsed() > SILENT {
                self.rely_on(holder);
                return Ok(None);
            }
            let now = Some((holder, beat));
            if before.is_some() && before != now {
                return Ok(now.and_then(|(holder, _)| holder));
            }
            before = now;
            sleep(POLL);
        }
    }

    /// Waits until it is known that nobody holds a route's run.
    pub(crate) fn take_turn(&self, route: &str) -> anyhow::Result<()> {
        let holder = self.holder(route)?;
        ensure!(holder.is_none(), "the split is held by the run of {}", holder.unwrap_or_default());
        Ok(())
    }

    /// Makes `me` the holder of a run, unless it has changed since it was told as in `before`. Returns its state.
    pub(crate) fn hold(&self, route: &str, me: &str, before: &str) -> anyhow::Result<State> {
        let state = self.update(|data| {
            let now = data[run_key(route)].as_str();
            ensure!(now == Some(before), "another process has taken the run over");
            let state = told_in(data, route).context("there is no run")?.state;
            let told = Told { beat: 0, holder: Some(me.to_owned()), state: state.clone() };
            let text = serde_json::to_string(&told)?;
            // A request to an earlier process is void.
            Ok((Some(json!({ run_key(route): text, request_key(route): null })), state))
        })?;
        self.rely_on(Some(me.to_owned()));
        Ok(state)
    }

    /// Writes the state of the run that this process holds, with a count that rises, and takes the request that has
    /// come. `None` if it holds none: a rollback by hand needs no heartbeat.
    pub(crate) fn beat(
        &self,
        route: &str,
        beat: u64,
        state: &State,
    ) -> anyhow::Result<Option<Heard>> {
        let Some(me) = self.seen().holder else { return Ok(None) };
        let told = Told { beat, holder: Some(me), state: state.clone() };
        let text = serde_json::to_string(&told)?;
        self.update(|data| {
            if told_in(data, route).and_then(|found| found.holder) != told.holder {
                return Ok((None, Some(Heard::Taken)));
            }
            let mut patch = json!({ run_key(route): &text });
            let asked = data[request_key(route)].as_str();
            if asked.is_some() {
                patch[request_key(route)] = Value::Null;
            }
            let request = asked.and_then(|text| serde_json::from_str(text).ok());
            let is_stopped = data[stop_key(route)].is_string();
            Ok((Some(patch), Some(Heard::Mine { is_stopped, request })))
        })
    }

    /// Writes the state of a run that no process holds from now on: it has ended, or waits for `carve serve`.
    pub(crate) fn let_go(&self, route: &str, state: &State) -> anyhow::Result<()> {
        let text = serde_json::to_string(&Told::last(state))?;
        self.update(|data| {
            self.expect_holder(data, route)?;
            Ok((Some(json!({ run_key(route): &text })), ()))
        })?;
        self.rely_on(None);
        Ok(())
    }

    /// Writes the state of a run, whoever holds it.
    pub(crate) fn overrule(&self, route: &str, state: &State) -> anyhow::Result<()> {
        let text = serde_json::to_string(&Told::last(state))?;
        self.api.patch(&self.path, &json!({ "data": { run_key(route): text } }))?;
        Ok(())
    }

    /// Writes a request to a run, or with `None` takes it back.
    pub(crate) fn ask(&self, route: &str, request: Option<Request>) -> anyhow::Result<()> {
        let text = request.as_ref().map(serde_json::to_string).transpose()?;
        self.api.patch(&self.path, &json!({ "data": { request_key(route): text } }))?;
        Ok(())
    }

    /// Whether the run has not taken the request yet.
    pub(crate) fn is_asked(&self, route: &str) -> anyhow::Result<bool> {
        Ok(self.api.get(&self.path)?["data"][request_key(route)].is_string())
    }

    pub(super) fn expect_holder(&self, data: &Value, route: &str) -> anyhow::Result<()> {
        let there = told_in(data, route).and_then(|told| told.holder);
        let expected = self.seen().holder;
        ensure!(there == expected, "another process has begun or taken over a run of {route}");
        Ok(())
    }

    fn rely_on(&self, holder: Option<String>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).holder = holder;
    }
}

fn told_in(data: &Value, route: &str) -> Option<Told> {
    serde_json::from_str(data[run_key(route)].as_str()?).ok()
}
