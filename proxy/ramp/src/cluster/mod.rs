//! All proxies of a Kubernetes cluster, treated as one.
//!
//! A ConfigMap holds each route's split as the text of its `split.conf`. `ramp follow` runs beside nginx in each
//! proxy's pod and applies the split there, as `ramp set` does on one machine. This module patches
//! the ConfigMap and asks every proxy which split it serves; for a route of sessions, it asks the homes, beside
//! which `ramp follow` writes the share file.

mod api;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use route::Route;
use serde_json::json;

use crate::nginx::Known;
use crate::pulse::Told;
use crate::split::{self, ADMIN_TIMEOUT, Split};
use crate::stop::Stop;
use crate::{change, http};

use api::{Api, Refused};

/// The key in the ConfigMap.
fn key(route: &str) -> String {
    format!("{route}.conf")
}

/// The key of a run's state in the ConfigMap.
fn run_key(route: &str) -> String {
    format!("{route}.run")
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

/// What the ConfigMap says of a route, besides its split.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    pub(crate) route: &'a str,
    pub(crate) stop: Option<Stop>,
    /// What its run last said, as text.
    pub(crate) run: Option<String>,
}

/// The proxies of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    api: Arc<Api>,
    path: String,
    proxies: String,
    /// The text of the split as this process last read or wrote it. Any other text is somebody else's
    /// change. The rest of the ConfigMap changes all the time: runs tell their state there.
    seen: Arc<Mutex<Option<String>>>,
}

impl Cluster {
    /// Reads the credentials; sends no request yet. `url` is the API's, without `/api/v1`.
    /// `credentials` is the folder of `token` and `ca.crt`, read if the URL is https. `proxies` is the
    /// HOST:PORT of the admin listeners; the host resolves to every proxy that is ready.
    ///
    /// # Errors
    /// If the credentials are missing or invalid.
    pub fn new(
        url: &str,
        credentials: &Path,
        config_map: ConfigMap,
        proxies: String,
    ) -> anyhow::Result<Self> {
        let api = Arc::new(Api::new(url, credentials)?);
        Ok(Cluster { api, path: config_map.path, proxies, seen: Arc::default() })
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
        change::copy_to(nginx_dir, &route, &split)
    }

    /// The routes of the proxies. Waits for their first answer.
    ///
    /// # Errors
    /// If no proxy answers in time.
    pub fn routes(&self) -> anyhow::Result<Vec<Known>> {
        let ask = || split::routes(self.first_proxy()?);
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
        let url = format!("http://{}/routes/{name}/route.toml", self.first_proxy()?);
        let (status, text) =
            http::get(&url, ADMIN_TIMEOUT).with_context(|| format!("no answer from {url}"))?;
        ensure!(status == 200, "{url} answers {status}");
        Route::parse(name, &text).context(url)
    }

    fn first_proxy(&self) -> anyhow::Result<SocketAddr> {
        let mut all = self.proxies.to_socket_addrs().with_context(|| self.proxies.clone())?;
        all.next().with_context(|| format!("{} resolves to no proxy", self.proxies))
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

    /// Writes the split to the ConfigMap, unless somebody else has changed it since it was last read.
    pub(crate) fn publish(&self, route: &str, split: &Split) -> anyhow::Result<()> {
        let (key, text) = (key(route), split.render(route));
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut tries = 1;
        loop {
            let found = self.api.get(&self.path)?;
            let there = found["data"][&key].as_str();
            if there != seen.as_deref() {
                bail!("somebody else has changed the split of {route} in the meantime");
            }
            let patch = json!({
                "metadata": { "resourceVersion": found["metadata"]["resourceVersion"] },
                "data": { &key: &text },
            });
            match self.api.patch(&self.path, &patch) {
                Ok(_) => break,
                Err(Refused::Changed) if tries < TRIES => tries += 1,
                Err(problem) => return Err(problem.into()),
            }
        }
        self.remember(Some(&text));
        Ok(())
    }

    /// A route's stop in the ConfigMap.
    pub(crate) fn stop(&self, route: &str) -> anyhow::Result<Option<Stop>> {
        let routes = [route.to_owned()];
        Ok(self.stops_and_runs(&routes)?.into_iter().find_map(|said| said.stop))
    }

    /// The stop and the run of each of these routes.
    pub(crate) fn stops_and_runs<'a>(&self, routes: &'a [String]) -> anyhow::Result<Vec<Said<'a>>> {
        let found = self.api.get(&self.path)?;
        let text = |key: String| found["data"][key].as_str();
        let of_route = |route: &'a String| {
            let run = text(run_key(route)).map(str::to_owned);
            Said { route, stop: text(stop_key(route)).map(Stop::read), run }
        };
        Ok(routes.iter().map(of_route).collect())
    }

    /// Writes or removes a route's stop, whatever else has changed in the ConfigMap.
    pub(crate) fn publish_stop(&self, route: &str, stop: Option<&Stop>) -> anyhow::Result<()> {
        let patch = json!({ "data": { stop_key(route): stop.map(Stop::text) } });
        self.api.patch(&self.path, &patch)?;
        Ok(())
    }

    /// Writes a run's state, and says whether the route is stopped.
    pub(crate) fn tell(&self, route: &str, told: &Told) -> anyhow::Result<bool> {
        let patch = json!({ "data": { run_key(route): serde_json::to_string(told)? } });
        let now = self.api.patch(&self.path, &patch)?;
        Ok(now["data"][stop_key(route)].is_string())
    }

    /// Whether every proxy has stopped the route.
    pub(crate) fn is_stopped(&self, route: &str) -> anyhow::Result<bool> {
        let mut all = self.proxies.to_socket_addrs().with_context(|| self.proxies.clone())?;
        all.try_fold(true, |so_far, proxy| Ok(so_far && split::is_stopped(proxy, route)?))
    }

    fn remember(&self, split: Option<&str>) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = split.map(str::to_owned);
    }

    /// The split of a route that every proxy serves; an error if they differ.
    pub(crate) fn served(&self, route: &str) -> anyhow::Result<Split> {
        let mut all: Vec<SocketAddr> =
            self.proxies.to_socket_addrs().with_context(|| self.proxies.clone())?.collect();
        all.sort_unstable();
        all.dedup();
        let mut agreed: Option<Split> = None;
        for proxy in all {
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
        agreed.with_context(|| format!("{} resolves to no proxy", self.proxies))
    }
}
