//! All proxies of a Kubernetes cluster, treated as one.
//!
//! A ConfigMap holds each route's split as the text of its `split.conf`. `carve follow` runs beside nginx in each
//! proxy's pod and applies the split there, as `carve split` does on one machine. This module patches
//! the ConfigMap and asks every proxy which split it serves; for a route of sessions, it asks the homes, beside
//! which `carve follow` writes the share file.

mod api;
mod proxies;
mod turn;

use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use route::Route;
use serde_json::{Value, json};

use crate::folder::{copy_to, route_dir};
use crate::split::{self, ADMIN_TIMEOUT, Known, Split};
use crate::state::{State, Told};
use crate::stop_file::Stop;
use crate::{files, http};

use api::{Api, Refused};
use proxies::Proxies;
pub(crate) use turn::{Heard, SILENT};

/// The key in the ConfigMap.
fn key(route: &str) -> String {
    format!("{route}.conf")
}

/// The key of a run's state in the ConfigMap.
fn run_key(route: &str) -> String {
    format!("{route}.run")
}

/// The key of a request to a run in the ConfigMap.
fn request_key(route: &str) -> String {
    format!("{route}.request")
}

/// The key of a stop in the ConfigMap.
fn stop_key(route: &str) -> String {
    format!("{route}.stop")
}

/// How often a split is written again that came between two other changes of the ConfigMap.
const TRIES: usize = 20;

/// How long a new command waits for the proxies' first answers. Network policies block its pod until
/// their controller has seen it.
const LET_IN_TIMEOUT: Duration = Duration::from_secs(10);
const LET_IN_POLL: Duration = Duration::from_millis(250);

/// A ConfigMap, written NAMESPACE/NAME.
#[derive(Clone, Debug)]
pub struct ConfigMap {
    path: String,
}

impl FromStr for ConfigMap {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let is_name = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
        };
        let parts = text.split_once('/');
        let parts = parts.filter(|(namespace, name)| is_name(namespace) && is_name(name));
        let (namespace, name) = parts.context("must be NAMESPACE/NAME")?;
        Ok(ConfigMap { path: format!("/api/v1/namespaces/{namespace}/configmaps/{name}") })
    }
}

/// What the ConfigMap says of a route.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    pub(crate) route: &'a str,
    /// Its split, as text.
    pub(crate) split: Option<String>,
    pub(crate) stop: Option<Stop>,
    /// What its run last said, as text.
    pub(crate) run: Option<String>,
}

/// The proxies of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    api: Arc<Api>,
    path: String,
    proxies: Proxies,
    /// As this process last read or wrote them. Anything else is somebody else's change. The rest of the ConfigMap
    /// changes all the time: runs tell their state there.
    seen: Arc<Mutex<Seen>>,
}

/// What a change of a route's split relies on.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The text of the split.
    split: Option<String>,
    /// The process that holds the route's run.
    holder: Option<String>,
}

impl Cluster {
    /// Reads the credentials; sends no request yet. `url` is the API's, without `/api/v1`, or names the file of a copy.
    /// `credentials` is the folder of `token` and `ca.crt`, read if the URL is https. `proxies` is the
    /// HOST:PORT of the admin listeners; the host resolves to every proxy that is ready. Their addresses are kept
    /// in `folder`, once it is there.
    ///
    /// # Errors
    /// If the credentials are missing or invalid.
    pub fn new(
        url: &str,
        credentials: &Path,
        config_map: ConfigMap,
        proxies: String,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let api = Arc::new(Api::new(url, credentials)?);
        let proxies = Proxies::new(proxies, folder.to_owned());
        Ok(Cluster { api, path: config_map.path, proxies, seen: Arc::default() })
    }

    /// The same cluster for another route, which others change on their own.
    #[must_use]
    pub(crate) fn anew(&self) -> Self {
        Cluster { seen: Arc::default(), ..self.clone() }
    }

    /// Writes a route's file and the cluster's split of it below a folder: the copy that ramp then changes.
    ///
    /// # Errors
    /// If the cluster does not answer, or a file cannot be written.
    pub fn copy_to(&self, nginx_dir: &Path, name: &str) -> anyhow::Result<()> {
        let route = self.route(name)?;
        let split = match self.fetch(name)? {
            Some(split) => split,
            // Nobody has set a split yet, so the proxies and homes use the one from the route file.
            None if route.is_session() => split::used_by(&route.file.homes)?,
            None => self.served(name)?,
        };
        copy_to(nginx_dir, &route, &split)
    }

    /// Writes what a route's run last told below the folder of [`Cluster::copy_to`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_run_to(&self, nginx_dir: &Path, name: &str) -> anyhow::Result<()> {
        let Some(told) = self.told(name)? else { return Ok(()) };
        told.state.save(&route_dir(nginx_dir, name))
    }

    /// The routes of the proxies. Waits for their first answer.
    ///
    /// # Errors
    /// If no proxy answers in time.
    pub fn routes(&self) -> anyhow::Result<Vec<Known>> {
        let ask = || self.proxies.ask(split::routes);
        let deadline = Instant::now() + LET_IN_TIMEOUT;
        loop {
            match ask() {
                Err(_) if Instant::now() < deadline => sleep(LET_IN_POLL),
                answer => return answer,
            }
        }
    }

    /// A route's file, as a proxy has it.
    fn route(&self, name: &str) -> anyhow::Result<Route> {
        let name = name.to_owned();
        self.proxies.ask(move |proxy| {
            let url = format!("http://{proxy}/routes/{name}/route.toml");
            let (status, text) =
                http::get(&url, ADMIN_TIMEOUT).with_context(|| format!("no answer from {url}"))?;
            ensure!(status == 200, "{url} answers {status}");
            Route::parse(&name, &text).context(url)
        })
    }

    /// A route's split in the ConfigMap; `None` if nobody has set one yet.
    pub(crate) fn fetch(&self, route: &str) -> anyhow::Result<Option<Split>> {
        let found = self.api.get(&self.path)?;
        let key = key(route);
        self.remember(found["data"][&key].as_str());
        let Some(text) = found["data"][&key].as_str() else { return Ok(None) };
        let split = Split::parse(text);
        split.map(Some).with_context(|| format!("{key} of {} is not written by ramp", self.path))
    }

    /// Writes the split to the ConfigMap, unless somebody else has changed it since it was last read, or has begun
    /// or taken over a run. The state of a run that this process holds goes with it: whoever takes the run over
    /// finds both or neither.
    pub(crate) fn publish(
        &self,
        route: &str,
        split: &Split,
        run: Option<&State>,
    ) -> anyhow::Result<()> {
        let (key, text) = (key(route), split.render(route));
        let seen = self.seen();
        self.update(|data| {
            if data[&key].as_str() != seen.split.as_deref() {
                bail!("somebody else has changed the split of {route} in the meantime");
            }
            self.expect_holder(data, route)?;
            let mut patch = json!({ &key: &text });
            if let (Some(state), Some(_)) = (run, &seen.holder) {
                let told = Told { beat: 0, holder: seen.holder.clone(), state: state.clone() };
                patch[run_key(route)] = json!(serde_json::to_string(&told)?);
            }
            Ok((Some(patch), ()))
        })?;
        self.remember(Some(&text));
        Ok(())
    }

    /// Patches the ConfigMap's data as `change` says, which gets what is there; again if somebody else has changed
    /// it in between. Without a patch nothing is written.
    fn update<T>(
        &self,
        mut change: impl FnMut(&Value) -> anyhow::Result<(Option<Value>, T)>,
    ) -> anyhow::Result<T> {
        let mut tries = 1;
        loop {
            let found = self.api.get(&self.path)?;
            let (data, outcome) = change(&found["data"])?;
            let Some(data) = data else { return Ok(outcome) };
            let version = &found["metadata"]["resourceVersion"];
            let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
            match self.api.patch(&self.path, &patch) {
                Ok(_) => return Ok(outcome),
                Err(Refused::Changed) if tries < TRIES => tries += 1,
                Err(problem) => return Err(problem.into()),
            }
        }
    }

    /// A route's stop in the ConfigMap.
    pub(crate) fn stop(&self, route: &str) -> anyhow::Result<Option<Stop>> {
        let routes = [route.to_owned()];
        Ok(self.said(&routes, None)?.into_iter().find_map(|said| said.stop))
    }

    /// The split, the stop and the run of each of these routes; copies the ConfigMap to a file on the way.
    pub(crate) fn said<'a>(
        &self,
        routes: &'a [String],
        copy: Option<&Path>,
    ) -> anyhow::Result<Vec<Said<'a>>> {
        let found = self.api.get(&self.path)?;
        if let Some(file) = copy {
            files::replace(file, &found.to_string())?;
        }
        let text = |key: String| found["data"][key].as_str();
        let of_route = |route: &'a String| {
            let owned = |key: String| text(key).map(str::to_owned);
            let stop = text(stop_key(route)).map(Stop::read);
            Said { route, split: owned(key(route)), stop, run: owned(run_key(route)) }
        };
        Ok(routes.iter().map(of_route).collect())
    }

    /// Writes or removes a route's stop, whatever else has changed in the ConfigMap.
    pub(crate) fn publish_stop(&self, route: &str, stop: Option<&Stop>) -> anyhow::Result<()> {
        let patch = json!({ "data": { stop_key(route): stop.map(Stop::text) } });
        self.api.patch(&self.path, &patch)?;
        Ok(())
    }

    /// Whether this is a copy of the ConfigMap in a file, which nobody writes to.
    pub(crate) fn is_copy(&self) -> bool {
        self.api.copy().is_some()
    }

    /// Whether every proxy has stopped the route.
    pub(crate) fn is_stopped(&self, route: &str) -> anyhow::Result<bool> {
        let mut all = self.proxies.addresses()?.into_iter();
        all.try_fold(true, |so_far, proxy| Ok(so_far && split::is_stopped(proxy, route)?))
    }

    fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, split: Option<&str>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).split = split.map(str::to_owned);
    }

    /// The split of a route that every proxy serves; an error if they differ.
    pub(crate) fn served(&self, route: &str) -> anyhow::Result<Split> {
        let mut agreed: Option<Split> = None;
        for proxy in self.proxies.addresses()? {
            let split = split::served(proxy, route)?;
            match &agreed {
                Some(other) if *other != split => bail!(
                    "the proxies differ: {proxy} serves {}%, another {}%",
                    split.share_percent,
                    other.share_percent
                ),
                _ => agreed = Some(split),
            }
        }
        agreed.context("no proxy")
    }
}
