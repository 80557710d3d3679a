//! All proxies of a Kubernetes cluster, treated as one.
//!
//! A ConfigMap holds each route's split as data. `carve follow` runs beside nginx in each
//! proxy's pod and applies the split there, as `carve split` does on one machine. This module watches and patches
//! the ConfigMap, and asks every proxy which split it serves. For a route of sessions, `carve follow` writes the share
//! file beside each home, and this module asks the homes.

mod api;
mod gateway;
mod preflight;
mod proxies;
mod route;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use ::route::{BaseUrl, Route};
use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};

use crate::folder::copy_to;
use crate::log::Problem;
use crate::nginx::Nginx;
use crate::split::ServedRoute;
use crate::state::Heartbeat;
use crate::stop_file::Stop;
use crate::store::Store;
use crate::traffic::{Traffic, ask, routes};

use api::{Api, KEEPS_CHANGING, STATE};
use gateway::HttpRoute;
use proxies::{PATIENCE, Proxies, ProxiesOf};
pub(crate) use route::{OnCluster, SILENT};

/// How often a patch is tried if others change the ConfigMap at the same time.
const TRIES: usize = 20;

/// How long a new command waits for the proxies' first answer. Network policies block its pod until their controller
/// has seen the pod.
const LET_IN_TIMEOUT: Duration = Duration::from_secs(10);
const LET_IN_POLL: Duration = Duration::from_millis(250);

/// How often to check for a signal.
const LOOK: Duration = Duration::from_millis(100);
/// How often a watcher is called even if nothing has changed, and the pause before a failed watch is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A ConfigMap, written NAMESPACE/NAME.
#[derive(Clone, Debug)]
pub struct ConfigMap {
    namespace: String,
    name: String,
}

impl ConfigMap {
    fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps/{}", self.namespace, self.name)
    }

    /// The ConfigMap of the heartbeats. A small one: each write is sent, as a whole object, to each proxy.
    fn of_beats(&self) -> ConfigMap {
        ConfigMap { namespace: self.namespace.clone(), name: format!("{}-beats", self.name) }
    }
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
        Ok(ConfigMap { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// A route's entries in the ConfigMap.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    /// The split, as the text of [`Split::share_file`], which a version before this one reads too.
    pub(crate) split: Option<&'a str>,
    pub(crate) stop: Option<Stop>,
    /// The run, as the text of a [`Heartbeat`].
    pub(crate) run: Option<&'a str>,
    /// The last heartbeat. A version before this one, and a cluster without an object for it, write the run instead.
    pub(crate) beat: Option<&'a str>,
    request: Option<&'a str>,
}

impl<'a> Entries<'a> {
    pub(crate) fn of(route: &str, object: &'a Value) -> Self {
        let text = |what| object["data"][key(route, what)].as_str();
        let stop = text("stop").map(Stop::read);
        let (run, beat) = (text("run"), text("beat"));
        Entries { split: text("conf"), stop, run, beat, request: text("request") }
    }

    /// Changes with each sign of life of the run's process.
    pub(crate) fn life(&self) -> Option<String> {
        self.run.map(|run| run.to_owned() + self.beat.unwrap_or_default())
    }

    /// The last state of the run; `None` if there was no run, or another version wrote it.
    pub(crate) fn told(&self) -> Option<Heartbeat> {
        serde_json::from_str(self.run?).ok()
    }
}

/// A key of a route in the ConfigMap.
pub(crate) fn key(route: &str, what: &str) -> String {
    format!("{route}.{what}")
}

/// The proxies of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    api: Arc<Api>,
    map: ConfigMap,
    front: Front,
}

/// What moves the traffic of the routes.
#[derive(Clone, Debug)]
enum Front {
    /// carve's nginx, in several pods.
    Proxies(Proxies),
    /// The gateways of the cluster, for the route files of this folder.
    Gateways(PathBuf),
}

impl Cluster {
    /// Reads the credentials, and sends no request yet. `url` is the API's, without `/api/v1`, or `file:FILE` for a
    /// copy. `credentials` is the folder of `token` and `ca.crt`, which are read if the URL is https. `proxies` is the
    /// HOST:PORT of the admin listeners; HOST resolves to every proxy that is ready. Their addresses are kept in
    /// `folder`, if it exists. Fails if the credentials are missing or invalid.
    pub fn new(
        url: &str,
        credentials: &Path,
        map: ConfigMap,
        proxies: String,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let api = Arc::new(Api::new(url, credentials)?);
        let front = Front::Proxies(Proxies::new(proxies, folder.to_owned()));
        Ok(Cluster { api, map, front })
    }

    /// As this cluster, but its gateways move the traffic of the route files in `files`.
    #[must_use]
    pub fn behind_gateways(self, files: PathBuf) -> Self {
        Cluster { front: Front::Gateways(files), ..self }
    }

    /// Another machine to follow, whose proxy has its admin listener at `url`. `folder` is as for [`Cluster::new`].
    pub fn of_a_machine(url: &BaseUrl, folder: &Path) -> anyhow::Result<Self> {
        let api = Arc::new(Api::new(&format!("{url}{STATE}"), Path::new(""))?);
        let proxies = Proxies::new(url.authority().to_owned(), folder.to_owned());
        Ok(Cluster { api, map: "machine/state".parse()?, front: Front::Proxies(proxies) })
    }

    /// A route of the cluster. `dir` is the folder for a copy of its split.
    pub fn nginx(&self, dir: &Path, route: &str) -> Nginx {
        self.around(&self.store(dir, route))
    }

    /// The store of a route's state, with its copy below `dir`.
    pub(crate) fn store(&self, dir: &Path, route: &str) -> Arc<OnCluster> {
        let (cluster, seen) = (self.clone(), Mutex::default());
        Arc::new(OnCluster { cluster, nginx_dir: dir.to_owned(), route: route.to_owned(), seen })
    }

    /// The route of this store. Only a copied route is known to be one of sessions.
    pub(crate) fn around(&self, store: &Arc<OnCluster>) -> Nginx {
        let (dir, route) = (store.nginx_dir.clone(), store.route.clone());
        let traffic: Arc<dyn Traffic> = match &self.front {
            Front::Proxies(proxies) => {
                Arc::new(ProxiesOf { proxies: proxies.clone(), route: route.clone() })
            }
            Front::Gateways(files) => Arc::new(self.http_route(files, &dir, &route)),
        };
        Nginx::of(dir, route, Arc::clone(store) as Arc<dyn Store>, traffic, PATIENCE)
    }

    fn http_route(&self, files: &Path, dir: &Path, route: &str) -> HttpRoute {
        HttpRoute {
            api: Arc::clone(&self.api),
            namespace: self.map.namespace.clone(),
            files: files.to_owned(),
            dir: dir.to_owned(),
            route: route.to_owned(),
        }
    }

    /// Lists what the cluster's gateways cannot do for a route of the files in `files`, and what carve may not. Fails if
    /// they cannot move its traffic at all, or the API does not answer.
    pub fn lacks(&self, files: &Path, route: &str) -> anyhow::Result<Vec<String>> {
        self.http_route(files, Path::new(""), route).lacks()
    }

    /// A route of the cluster, with its file, its split and the last state of its run copied below `dir`. A command
    /// then works on this copy. Fails if the proxies or the API do not answer.
    pub fn copied(&self, dir: &Path, route: &str) -> anyhow::Result<Nginx> {
        let store = self.store(dir, route);
        store.copy()?;
        store.copy_run()?;
        Ok(self.around(&store))
    }

    /// The routes of the proxies, from the first proxy that answers. Fails if none answers in time.
    pub fn routes(&self) -> anyhow::Result<Vec<ServedRoute>> {
        let proxies = match &self.front {
            Front::Proxies(proxies) => proxies,
            Front::Gateways(files) => return gateway::known(files),
        };
        let deadline = Instant::now() + LET_IN_TIMEOUT;
        loop {
            match proxies.ask(routes) {
                Err(_) if Instant::now() < deadline => sleep(LET_IN_POLL),
                answer => return answer,
            }
        }
    }

    /// A route's file, from the first proxy that answers.
    fn route(&self, name: &str) -> anyhow::Result<Route> {
        let proxies = match &self.front {
            Front::Proxies(proxies) => proxies,
            Front::Gateways(files) => return Route::read(&files.join(format!("{name}.toml"))),
        };
        let name = name.to_owned();
        proxies.ask(move |proxy| {
            let path = format!("/routes/{name}/route.toml");
            Route::parse(&name, &ask(proxy, &path)?).with_context(|| format!("{proxy}: {path}"))
        })
    }

    /// Calls `change` with the ConfigMap and applies the patch that it returns to the data; with `None` it writes
    /// nothing. Tries again if somebody else has changed the ConfigMap in between. Returns the second value of
    /// `change`.
    fn update<T>(
        &self,
        mut change: impl FnMut(&Value) -> anyhow::Result<(Option<Value>, T)>,
    ) -> anyhow::Result<T> {
        for _ in 0..TRIES {
            let found = self.api.get(&self.map)?;
            let (data, outcome) = change(&found)?;
            let Some(data) = data else { return Ok(outcome) };
            let version = &found["metadata"]["resourceVersion"];
            let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
            if self.api.patch(&self.map, &patch)? {
                return Ok(outcome);
            }
        }
        bail!(KEEPS_CHANGING)
    }

    /// Sets a key of a route, or removes it with `None`, whatever else has changed in the ConfigMap.
    fn put(&self, route: &str, what: &str, text: Option<String>) -> anyhow::Result<()> {
        let patch = json!({ "data": { key(route, what): text } });
        ensure!(self.api.patch(&self.map, &patch)?, KEEPS_CHANGING);
        Ok(())
    }

    /// Calls `look` with the ConfigMap after each change and each second, until it returns `Ok(false)` or `interrupted`
    /// is set. `look` gets `None` while the API does not answer. Reports each problem on stderr once.
    pub(crate) fn watch(
        &self,
        interrupted: &AtomicBool,
        mut look: impl FnMut(Option<&Value>) -> anyhow::Result<bool>,
    ) {
        let changes = self.changes();
        let (mut last, mut due, mut problem) = (None, Instant::now() + AGAIN, Problem::default());
        while !interrupted.load(Ordering::Relaxed) {
            let change = changes.recv_timeout(LOOK).ok();
            // Skips all but the last change, since `look` may reload nginx, which takes seconds.
            let change = changes.try_iter().last().or(change);
            if change.is_none() && Instant::now() < due {
                continue;
            }
            due = Instant::now() + AGAIN;
            last = change.or(last);
            let (object, away) = match &last {
                Some(Ok(object)) => (Some(object), Ok(())),
                Some(Err(problem)) => (None, Err(anyhow!("{problem:#}"))),
                None => (None, Ok(())),
            };
            let looked = look(object);
            if matches!(looked, Ok(false)) {
                return;
            }
            problem.report(away.and(looked.map(drop)));
        }
    }

    /// The ConfigMap with its heartbeats and, from then on, each change of them.
    fn changes(&self) -> Receiver<anyhow::Result<Value>> {
        let (sender, receiver) = channel();
        let (api, map) = (Arc::clone(&self.api), self.map.clone());
        let parts = Arc::<Mutex<[Value; 2]>>::default();
        if api.look().is_none() {
            let (api, beats) = (Arc::clone(&api), map.of_beats());
            let (sender, parts) = (sender.clone(), Arc::clone(&parts));
            // Reports nothing: the watch below does, and manifests of an earlier version have no object of heartbeats.
            thread::spawn(move || {
                let mut is_wanted = true;
                while is_wanted {
                    let watched = api.watch(&beats, |object| {
                        let whole = whole(&parts, 1, object);
                        is_wanted = whole.is_none_or(|whole| sender.send(Ok(whole)).is_ok());
                        is_wanted
                    });
                    watched.unwrap_or_else(|_| sleep(AGAIN));
                }
            });
        }
        // Never joined, since it may be waiting for the API. It ends once the receiver is dropped.
        thread::spawn(move || {
            let mut last = String::new();
            let mut is_wanted = true;
            while is_wanted {
                let outcome = match api.look() {
                    None => api.watch(&map, |object| {
                        let whole = whole(&parts, 0, object);
                        is_wanted = whole.is_none_or(|whole| sender.send(Ok(whole)).is_ok());
                        is_wanted
                    }),
                    Some(every) => api.get(&map).map(|object| {
                        let now = object.to_string();
                        if now != last {
                            last = now;
                            is_wanted = sender.send(Ok(object)).is_ok();
                        }
                        sleep(every);
                    }),
                };
                if let Err(problem) = outcome {
                    whole(&parts, 0, Value::Null);
                    last.clear();
                    is_wanted = sender.send(Err(problem)).is_ok();
                    sleep(AGAIN);
                }
            }
        });
        receiver
    }

    /// Whether gateways move the traffic, which read neither splits nor stops from the ConfigMap.
    pub(crate) fn has_gateways(&self) -> bool {
        matches!(self.front, Front::Gateways(_))
    }

    /// Whether this is a copy of the ConfigMap in a file. The process that keeps the copy watches the runs.
    pub(crate) fn is_copy(&self) -> bool {
        self.api.copy().is_some()
    }

    /// Whether this is the state of another machine, which is read-only.
    pub(crate) fn is_of_a_machine(&self) -> bool {
        self.api.is_of_a_machine()
    }
}

/// Replaces the ConfigMap, 0, or that of the heartbeats, 1, and returns both as one; `None` while the first is unknown.
fn whole(parts: &Mutex<[Value; 2]>, which: usize, object: Value) -> Option<Value> {
    let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
    parts[which] = object;
    let mut whole = Some(parts[0].clone()).filter(Value::is_object)?;
    for (key, beat) in parts[1]["data"].as_object().into_iter().flatten() {
        whole["data"][key] = beat.clone();
    }
    Some(whole)
}
