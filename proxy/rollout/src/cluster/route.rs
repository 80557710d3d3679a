//! The state of a route of a cluster, which one process at a time may change.
//!
//! The run's state in the ConfigMap, `NAME.run`, names the process that holds the run. That process sends a heartbeat
//! each second, `NAME.beat` of another ConfigMap, and each of its writes, also of the split, succeeds only if its name
//! is still there. So even if two processes believe that they hold the run, only one of them can write.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::{Cluster, Entries, copy_to, key};
use crate::folder::{keep_route, route_dir, route_file, write};
use crate::split::{Split, current};
use crate::state::{Heartbeat, RunRequest, State};
use crate::stop_file::Stop;
use crate::store::{Claim, Observation, Store};
use crate::traffic::used_by;

/// If a process has been silent for this long, another process may take over its run. Much shorter than the lease,
/// after which the proxies stop the route.
pub(crate) const SILENT: Duration = Duration::from_secs(4);
const POLL: Duration = Duration::from_millis(300);
/// How often a run's evidence is written while its step goes on. It is large, and another process may lose as much of
/// it.
const EVIDENCE: Duration = Duration::from_secs(5);

/// A route of a cluster.
#[derive(Debug)]
pub(crate) struct OnCluster {
    pub(super) cluster: Cluster,
    pub(super) nginx_dir: PathBuf,
    pub(crate) route: String,
    /// The entries as this process last read or wrote them. If the ConfigMap differs, somebody else has changed them.
    /// Its resource version does not show that, since all runs write their state there all the time.
    pub(super) seen: Mutex<Snapshot>,
}

/// The entries that a change of the split relies on, and the findings of the last heartbeat.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// The text of the split.
    split: Option<String>,
    /// The process that holds the route's run.
    holder: Option<String>,
    heard: Observation,
    request: Option<RunRequest>,
    /// When the run was last written, and what it was doing; `None` if the last heartbeat failed.
    written: Option<(Instant, String)>,
}

impl OnCluster {
    fn seen(&self) -> MutexGuard<'_, Snapshot> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, what: &str) -> String {
        key(&self.route, what)
    }

    fn dir(&self) -> PathBuf {
        route_dir(&self.nginx_dir, &self.route)
    }

    fn object(&self) -> anyhow::Result<Value> {
        self.cluster.api.get(&self.cluster.map)
    }

    /// The last state of the route's run; `None` if there was no run, or another version wrote it.
    pub(crate) fn told(&self) -> anyhow::Result<Option<Heartbeat>> {
        Ok(Entries::of(&self.route, &self.object()?).told())
    }

    /// The last heartbeat of the route's run; `None` if there was none, or another version sends it.
    fn last_beat(&self) -> Option<String> {
        let beats = self.cluster.api.get(&self.cluster.map.of_beats()).ok()?;
        Entries::of(&self.route, &beats).beat.map(str::to_owned)
    }

    /// The split in the ConfigMap; `None` if nobody has set one yet.
    fn fetch(&self) -> anyhow::Result<Option<Split>> {
        let object = self.object()?;
        let text = Entries::of(&self.route, &object).split;
        self.seen().split = text.map(str::to_owned);
        text.map(|text| self.parse(text)).transpose()
    }

    /// Parses the text of a split. Fails if `ramp` did not write it.
    pub(crate) fn parse(&self, text: &str) -> anyhow::Result<Split> {
        let (key, path) = (self.key("conf"), self.cluster.map.path());
        Split::parse(text).with_context(|| format!("{key} of {path} is not written by ramp"))
    }

    /// Writes the route's file and its split to the folder. Fails if the proxies or the API do not answer.
    pub(crate) fn copy(&self) -> anyhow::Result<()> {
        let route = self.cluster.route(&self.route)?;
        let split = match self.fetch()? {
            Some(split) => split,
            // Nobody has set a split yet, so the proxies and homes use the one from the route file.
            None if route.is_session() => used_by(&route)?,
            None => self.cluster.nginx(&self.nginx_dir, &self.route).served()?,
        };
        copy_to(&self.nginx_dir, &route, &split)
    }

    /// Copies the route's file if somebody has changed it. The files of proxies change with their pods.
    pub(crate) fn follow_file(&self) -> anyhow::Result<()> {
        if self.cluster.has_gateways() {
            let route = self.cluster.route(&self.route)?;
            if route_file(&self.dir())?.text != route.text {
                keep_route(&self.dir(), &route)?;
            }
        }
        Ok(())
    }

    /// Writes the last state of the route's run to the folder.
    pub(super) fn copy_run(&self) -> anyhow::Result<()> {
        let told = self.told()?;
        told.map_or(Ok(()), |told| told.state.save(&self.dir()))
    }

    /// Makes `me` the holder of the run and returns the run's state. Fails if the run's entry is no longer `before`,
    /// since another process has then taken the run over.
    pub(crate) fn hold(&self, me: &str, before: &str) -> anyhow::Result<State> {
        let state = self.cluster.update(|object| {
            let said = Entries::of(&self.route, object);
            ensure!(said.run == Some(before), "another process has taken the run over");
            let state = said.told().context("there is no run")?.state;
            let told = Heartbeat { beat: 0, holder: Some(me.to_owned()), state: state.clone() };
            let text = serde_json::to_string(&told)?;
            // Discards a request that was meant for an earlier process.
            Ok((Some(json!({ self.key("run"): text, self.key("request"): null })), state))
        })?;
        let mut seen = self.seen();
        let split = seen.split.take();
        *seen = Snapshot { split, holder: Some(me.to_owned()), ..Snapshot::default() };
        Ok(state)
    }

    /// Writes the state of the run, even if another process holds it.
    pub(crate) fn overrule(&self, state: &State) -> anyhow::Result<()> {
        let text = serde_json::to_string(&Heartbeat::last(state))?;
        self.cluster.put(&self.route, "run", Some(text))
    }

    fn expect_holder(&self, said: &Entries<'_>) -> anyhow::Result<()> {
        let there = said.told().and_then(|told| told.holder);
        let route = &self.route;
        ensure!(
            there == self.seen().holder,
            "another process has begun or taken over a run of {route}"
        );
        Ok(())
    }
}

impl Store for OnCluster {
    fn wanted(&self) -> anyhow::Result<Split> {
        self.fetch()?.map_or_else(|| current(&self.dir()), Ok)
    }

    fn stop(&self) -> anyhow::Result<Option<Stop>> {
        Ok(Entries::of(&self.route, &self.object()?).stop)
    }

    fn put_stop(&self, stop: &Stop) -> anyhow::Result<()> {
        if !stop.is_brake {
            return self.cluster.put(&self.route, "stop", Some(stop.text()));
        }
        self.cluster.update(|object| {
            let is_free = Entries::of(&self.route, object).stop.is_none();
            Ok((is_free.then(|| json!({ self.key("stop"): stop.text() })), ()))
        })
    }

    fn lift_stop(&self, only_brake: bool) -> anyhow::Result<()> {
        self.cluster.update(|object| {
            let stop = Entries::of(&self.route, object).stop;
            let is_lifted = stop.is_some_and(|stop| stop.is_brake || !only_brake);
            Ok((is_lifted.then(|| json!({ self.key("stop"): null })), ()))
        })
    }

    /// Waits up to [`SILENT`] for a heartbeat of the holder. If none arrives, the next change expects that holder to be
    /// unchanged, and fails otherwise.
    fn holder(&self) -> anyhow::Result<Option<String>> {
        let began = Instant::now();
        let mut before = None;
        loop {
            let told = self.told()?;
            let holder = told.as_ref().and_then(|told| told.holder.clone());
            let beat = told.map(|told| (told.beat, self.last_beat()));
            if holder.is_none() || began.elapsed() > SILENT {
                self.seen().holder = holder;
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

    fn ask(&self, request: Option<&RunRequest>) -> anyhow::Result<()> {
        let text = request.map(serde_json::to_string).transpose()?;
        self.cluster.put(&self.route, "request", text)
    }

    fn is_asked(&self) -> anyhow::Result<bool> {
        Ok(Entries::of(&self.route, &self.object()?).request.is_some())
    }

    fn heard(&self) -> Observation {
        self.seen().heard
    }

    fn take_request(&self) -> Option<RunRequest> {
        self.seen().request.take()
    }
    fn claim(&self) -> Option<&dyn Claim> {
        Some(self)
    }
}

impl Claim for OnCluster {
    fn take(&self) -> anyhow::Result<()> {
        if let Some(holder) = self.holder()? {
            bail!("the split is held by the run of {holder}");
        }
        // A run may have moved the share and ended since this command began.
        if let Some(split) = self.fetch()? {
            write(&self.nginx_dir, &self.route, &split)?;
        }
        self.copy_run()
    }

    /// Writes the split to the ConfigMap. If this process holds a run, the same patch writes the run's state, so that a
    /// process that takes the run over finds both or neither. Fails if somebody else has changed the split since it was
    /// last read, or has started or taken over a run.
    fn publish(&self) -> anyhow::Result<()> {
        let (split, run) = (current(&self.dir())?, State::load(&self.dir())?);
        let text = split.share_file();
        self.cluster.update(|object| {
            let said = Entries::of(&self.route, object);
            if said.split != self.seen().split.as_deref() {
                bail!("somebody else has changed the split of {} in the meantime", self.route);
            }
            self.expect_holder(&said)?;
            let mut patch = json!({ self.key("conf"): &text });
            if let (Some(state), Some(me)) = (&run, &self.seen().holder) {
                let told = Heartbeat { beat: 0, holder: Some(me.clone()), state: state.clone() };
                patch[self.key("run")] = json!(serde_json::to_string(&told)?);
            }
            Ok((Some(patch), ()))
        })?;
        self.seen().split = Some(text);
        Ok(())
    }

    /// Sends a heartbeat for the run that this process holds, and takes a waiting request. Also writes the run's state
    /// if its phase or step has changed, or if its evidence is due. Does nothing if this process holds no run, as in a
    /// rollback by hand.
    fn beat(&self, count: u64) -> anyhow::Result<()> {
        let (holder, state) = (self.seen().holder.clone(), State::load(&self.dir())?);
        let (Some(me), Some(state)) = (holder, state) else { return Ok(()) };
        let does = state.to_string();
        let is_fresh = |(at, last): &(Instant, String)| at.elapsed() < EVIDENCE && *last == does;
        let is_due = !self.seen().written.as_ref().is_some_and(is_fresh);
        let told = Heartbeat { beat: count, holder: Some(me), state };
        let text = serde_json::to_string(&told)?;
        let (heard, request) = self.cluster.update(|object| {
            let said = Entries::of(&self.route, object);
            let mut heard = Observation { is_stopped: said.stop.is_some(), is_taken: false };
            if said.told().and_then(|found| found.holder) != told.holder {
                heard.is_taken = true;
                return Ok((None, (heard, None)));
            }
            let mut patch = json!({});
            if is_due {
                patch[self.key("run")] = json!(&text);
            }
            if said.request.is_some() {
                patch[self.key("request")] = Value::Null;
            }
            let request = said.request.and_then(|text| serde_json::from_str(text).ok());
            Ok(((patch != json!({})).then_some(patch), (heard, request)))
        })?;
        let mut seen = self.seen();
        seen.heard = heard;
        if request.is_some() {
            seen.request = request;
        }
        let written = if is_due { Some((Instant::now(), does)) } else { seen.written.take() };
        drop(seen);
        let beat = json!({ "data": { self.key("beat"): count.to_string() } });
        // Fails with the manifests of an earlier version: then the run's state stands for the heartbeat.
        let is_sent =
            !heard.is_taken && self.cluster.api.patch(&self.cluster.map.of_beats(), &beat).is_ok();
        self.seen().written = written.filter(|_| is_sent);
        Ok(())
    }

    fn let_go(&self, state: &State) -> anyhow::Result<()> {
        let text = serde_json::to_string(&Heartbeat::last(state))?;
        self.cluster.update(|object| {
            self.expect_holder(&Entries::of(&self.route, object))?;
            Ok((Some(json!({ self.key("run"): &text })), ()))
        })?;
        self.seen().holder = None;
        Ok(())
    }
}
