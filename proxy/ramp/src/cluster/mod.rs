//! All proxies of a Kubernetes cluster, treated as one.
//!
//! A ConfigMap holds each route's split as the text of its `split.conf`. `ramp follow` runs beside nginx in each
//! proxy's pod and applies the split there, as `ramp set` does on one machine. This module patches
//! the ConfigMap and asks every proxy which split it serves.

mod api;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use route::Route;
use serde_json::{Value, json};

use crate::split::{self, ADMIN_TIMEOUT, Split};
use crate::{files, http};

use api::Api;

/// The key in the ConfigMap.
fn key(route: &str) -> String {
    format!("{route}.conf")
}

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

/// The proxies of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    api: Arc<Api>,
    path: String,
    proxies: String,
    /// The ConfigMap's version at the last request. The API refuses to overwrite a later version,
    /// which is somebody else's change.
    version: Arc<Mutex<Option<String>>>,
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
        Ok(Cluster { api, path: config_map.path, proxies, version: Arc::default() })
    }

    /// Writes the cluster's split of a route into a folder's `split.conf`, the copy that ramp then changes.
    ///
    /// # Errors
    /// If the cluster does not answer, or the file cannot be written.
    pub fn copy_to(&self, dir: &Path, route: &str) -> anyhow::Result<()> {
        let split = match self.fetch(route)? {
            Some(split) => split,
            // Nobody has set a split yet, so the proxies serve the one from the route file.
            None => self.served(route)?,
        };
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        files::replace(&split::path(dir), &split.render(route))
    }

    /// The routes of the proxies. Waits for their first answer.
    ///
    /// # Errors
    /// If no proxy answers in time.
    pub fn routes(&self) -> anyhow::Result<Vec<String>> {
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
    ///
    /// # Errors
    /// If the proxy does not answer with a route file.
    pub fn route(&self, name: &str) -> anyhow::Result<Route> {
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
        self.remember(&found);
        let key = key(route);
        let Some(text) = found["data"][&key].as_str() else { return Ok(None) };
        let split = Split::parse(text);
        split.map(Some).with_context(|| format!("{key} of {} is not written by ramp", self.path))
    }

    /// Writes the split to the ConfigMap, unless somebody else has changed it since the last request.
    pub(crate) fn publish(&self, route: &str, split: &Split) -> anyhow::Result<()> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let patch = json!({
            "metadata": { "resourceVersion": version },
            "data": { key(route): split.render(route) },
        });
        self.remember(&self.api.patch(&self.path, &patch)?);
        Ok(())
    }

    fn remember(&self, found: &Value) {
        let version = found["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
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
