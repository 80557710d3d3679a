//! The state of a route of a cluster, and whose turn it is to change it.
//!
//! The run's state in the ConfigMap, `NAME.run`, names the process that holds the run. That process beats each
//! second, and every write of it, of the split too, depends on its name still being there. So of two processes one
//! has the run, whatever each of them believes.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::{Cluster, Said, copy_to, key};
use crate::folder::{route_dir, write};
use crate::split::{Split, current};
use crate::state::{Asked, State, Told};
use crate::stop_file::Stop;
use crate::store::{Heard, Store};
use crate::traffic::used_by;

/// A process that has not been heard for so long has lost its run to whoever asks for it. It is much shorter than
/// the lease after which the proxies stop the route.
pub(crate) const SILENT: Duration = Duration::from_secs(4);
const POLL: Duration = Duration::from_millis(300);

/// A route of a cluster.
#[derive(Debug)]
pub(crate) struct OnCluster {
    pub(super) cluster: Cluster,
    pub(super) nginx_dir: PathBuf,
    pub(crate) route: String,
    /// As this process last read or wrote them. Anything else is somebody else's change. The rest of the ConfigMap
    /// changes all the time: runs tell their state there.
    pub(super) seen: Mutex<Seen>,
}

/// What a change of a route's split relies on, and what the last heartbeat has found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The text of the split.
    split: Option<String>,
    /// The process that holds the route's run.
    holder: Option<String>,
    heard: Heard,
    request: Option<Asked>,
}

impl OnCluster {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, what: &str) -> String {
        key(&self.route, what)
    }

    fn dir(&self) -> PathBuf {
        route_dir(&self.nginx_dir, &self.route)
    }

    fn object(&self) -> anyhow::Result<Value> {
        Ok(self.cluster.api.get(&self.cluster.map)?)
    }

    /// What the route's run last told; `None` if there was none, or another version wrote it.
    pub(crate) fn told(&self) -> anyhow::Result<Option<Told>> {
        Ok(Said::of(&self.route, &self.object()?).told())
    }

    /// The split in the ConfigMap; `None` if nobody has set one yet.
    fn fetch(&self) -> anyhow::Result<Option<Split>> {
        let object = self.object()?;
        let text = Said::of(&self.route, &object).split;
        self.seen().split = text.map(str::to_owned);
        text.map(|text| self.parse(text)).transpose()
    }

    /// Reads the text of a split.
    pub(crate) fn parse(&self, text: &str) -> anyhow::Result<Split> {
        let (key, path) = (self.key("conf"), self.cluster.map.path());
        Split::parse(text).with_context(|| format!("{key} of {path} is not written by ramp"))
    }

    /// Writes the route's file and the cluster's split of it to the folder.
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

    /// Writes what the route's run last told to the folder.
    pub(super) fn copy_run(&self) -> anyhow::Result<()> {
        let told = self.told()?;
        told.map_or(Ok(()), |told| told.state.save(&self.dir()))
    }

    /// Makes `me` the holder of the run, unless it has changed since it was told as in `before`. Returns its state.
    pub(crate) fn hold(&self, me: &str, before: &str) -> anyhow::Result<State> {
        let state = self.cluster.update(|object| {
            let said = Said::of(&self.route, object);
            ensure!(said.run == Some(before), "another process has taken the run over");
            let state = said.told().context("there is no run")?.state;
            let told = Told { beat: 0, holder: Some(me.to_owned()), state: state.clone() };
            let text = serde_json::to_string(&told)?;
            // A request to an earlier process is void.
            Ok((Some(json!({ self.key("run"): text, self.key("request"): null })), state))
        })?;
        let mut seen = self.seen();
        let split = seen.split.take();
        *seen = Seen { split, holder: Some(me.to_owned()), ..Seen::default() };
        Ok(state)
    }

    /// Writes the state of the run, whoever holds it.
    pub(crate) fn overrule(&self, state: &State) -> anyhow::Result<()> {
        let text = serde_json::to_string(&Told::last(state))?;
        self.cluster.put(&self.route, "run", Some(text))
    }

    fn expect_holder(&self, said: &Said<'_>) -> anyhow::Result<()> {
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

    /// Writes the split to the ConfigMap, unless somebody else has changed it since it was last read, or has begun
    /// or taken over a run. The state of a run that this process holds goes with it: whoever takes the run over
    /// finds both or neither.
    fn publish(&self) -> anyhow::Result<()> {
        let (split, run) = (current(&self.dir())?, State::load(&self.dir())?);
        let text = split.render(&self.route);
        self.cluster.update(|object| {
            let said = Said::of(&self.route, object);
            if said.split != self.seen().split.as_deref() {
                bail!("somebody else has changed the split of {} in the meantime", self.route);
            }
            self.expect_holder(&said)?;
            let mut patch = json!({ self.key("conf"): &text });
            if let (Some(state), Some(me)) = (&run, &self.seen().holder) {
                let told = Told { beat: 0, holder: Some(me.clone()), state: state.clone() };
                patch[self.key("run")] = json!(serde_json::to_string(&told)?);
            }
            Ok((Some(patch), ()))
        })?;
        self.seen().split = Some(text);
        Ok(())
    }

    fn stop(&self) -> anyhow::Result<Option<Stop>> {
        Ok(Said::of(&self.route, &self.object()?).stop)
    }

    fn put_stop(&self, stop: &Stop) -> anyhow::Result<()> {
        if !stop.is_brake {
            return self.cluster.put(&self.route, "stop", Some(stop.text()));
        }
        self.cluster.update(|object| {
            let is_free = Said::of(&self.route, object).stop.is_none();
            Ok((is_free.then(|| json!({ self.key("stop"): stop.text() })), ()))
        })
    }

    fn lift_stop(&self, only_brake: bool) -> anyhow::Result<()> {
        self.cluster.update(|object| {
            let stop = Said::of(&self.route, object).stop;
            let is_lifted = stop.is_some_and(|stop| stop.is_brake || !only_brake);
            Ok((is_lifted.then(|| json!({ self.key("stop"): null })), ()))
        })
    }

    fn kept_stop(&self) -> Option<PathBuf> {
        None
    }

    /// Takes up to [`SILENT`]. If there is none that is alive, the next change relies on that.
    fn holder(&self) -> anyhow::Result<Option<String>> {
        let began = Instant::now();
        let mut before = None;
        loop {
            let told = self.told()?;
            let holder = told.as_ref().and_then(|told| told.holder.clone());
            let beat = told.map(|told| told.beat);
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

    fn let_go(&self, state: &State) -> anyhow::Result<()> {
        let text = serde_json::to_string(&Told::last(state))?;
        self.cluster.update(|object| {
            self.expect_holder(&Said::of(&self.route, object))?;
            Ok((Some(json!({ self.key("run"): &text })), ()))
        })?;
        self.seen().holder = None;
        Ok(())
    }

    fn is_carried_on(&self) -> bool {
        true
    }

    fn ask(&self, request: Option<&Asked>) -> anyhow::Result<()> {
        let text = request.map(serde_json::to_string).transpose()?;
        self.cluster.put(&self.route, "request", text)
    }

    fn is_asked(&self) -> anyhow::Result<bool> {
        Ok(Said::of(&self.route, &self.object()?).request.is_some())
    }

    /// Writes the state of the run that this process holds, with a count that rises, and takes the request that has
    /// come. If it holds none, a rollback by hand, that needs no heartbeat.
    fn beat(&self, count: u64) -> anyhow::Result<()> {
        let (holder, state) = (self.seen().holder.clone(), State::load(&self.dir())?);
        let (Some(me), Some(state)) = (holder, state) else { return Ok(()) };
        let told = Told { beat: count, holder: Some(me), state };
        let text = serde_json::to_string(&told)?;
        let (heard, request) = self.cluster.update(|object| {
            let said = Said::of(&self.route, object);
            let mut heard = Heard { is_stopped: said.stop.is_some(), is_taken: false };
            if said.told().and_then(|found| found.holder) != told.holder {
                heard.is_taken = true;
                return Ok((None, (heard, None)));
            }
            let mut patch = json!({ self.key("run"): &text });
            if said.request.is_some() {
                patch[self.key("request")] = Value::Null;
            }
            let request = said.request.and_then(|text| serde_json::from_str(text).ok());
            Ok((Some(patch), (heard, request)))
        })?;
        let mut seen = self.seen();
        seen.heard = heard;
        if request.is_some() {
            seen.request = request;
        }
        Ok(())
    }

    fn heard(&self) -> Heard {
        self.seen().heard
    }

    fn take_request(&self) -> Option<Asked> {
        self.seen().request.take()
    }
}
