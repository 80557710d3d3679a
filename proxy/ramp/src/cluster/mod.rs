//! The proxies of a Kubernetes cluster as one.
//!
//! The split is the text of `split.conf` in a ConfigMap. Each proxy's pod has a [`follow`] beside its
//! nginx, which puts it into force there as `ramp set` does on one machine. To change the split is to
//! patch the ConfigMap, and then to ask every proxy what it serves.

mod api;
mod follow;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::nginx::ask_served;
use crate::{Split, change, files};

pub use follow::follow;

use api::Api;

/// The key in the ConfigMap: the file's name.
const KEY: &str = "split.conf";

/// How long a command that begins waits for the proxies' first answers. What enforces network policies
/// has to hear of its pod first, and until then nobody lets it in.
const LET_IN_TIMEOUT: Duration = Duration::from_secs(10);
const LET_IN_POLL: Duration = Duration::from_millis(250);

/// What was typed of a cluster.
#[derive(Clone, Debug)]
pub struct Place {
    /// Of the API, up to what stands before `/api/v1`.
    pub url: String,
    /// Folder of `token` and `ca.crt`; asked where the URL is https.
    pub credentials: PathBuf,
    /// Of the ConfigMap.
    pub namespace: String,
    /// The ConfigMap.
    pub name: String,
    /// HOST:PORT of the admin listeners; the host resolves to every proxy that is ready.
    pub proxies: String,
}

/// The proxies of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    api: Arc<Api>,
    path: String,
    proxies: String,
    /// The ConfigMap's version when it was last seen. A change that has come in between is somebody
    /// else's, and is not overwritten.
    version: Arc<Mutex<Option<String>>>,
}

impl Cluster {
    /// Asks nobody yet.
    ///
    /// # Errors
    /// Credentials that are not there.
    pub fn new(place: &Place) -> anyhow::Result<Self> {
        let Place { namespace, name, proxies, .. } = place;
        Ok(Cluster {
            api: Arc::new(Api::new(&place.url, &place.credentials)?),
            path: format!("/api/v1/namespaces/{namespace}/configmaps/{name}"),
            proxies: proxies.clone(),
            version: Arc::default(),
        })
    }

    /// Writes `split.conf` of a folder as the cluster has it: the copy that is then changed.
    ///
    /// # Errors
    /// Where the cluster does not say.
    pub fn copy_to(&self, dir: &std::path::Path) -> anyhow::Result<()> {
        self.wait_until_let_in();
        let split = match self.fetch()? {
            Some(split) => split,
            // Nothing has been set yet, so it is the one that the proxies' image came with.
            None => self.served()?,
        };
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        files::replace(&change::split_file(dir), &split.render())
    }

    /// Whoever asks next finds out why, where it is not.
    fn wait_until_let_in(&self) {
        let deadline = Instant::now() + LET_IN_TIMEOUT;
        while self.served().is_err() && Instant::now() < deadline {
            sleep(LET_IN_POLL);
        }
    }

    /// What the ConfigMap says; `None` where nothing has been set yet.
    fn fetch(&self) -> anyhow::Result<Option<Split>> {
        let found = self.api.get(&self.path)?;
        self.remember(&found);
        let Some(text) = found["data"][KEY].as_str() else { return Ok(None) };
        let split = Split::parse(text);
        split.map(Some).with_context(|| format!("{KEY} of {} is not written by ramp", self.path))
    }

    pub(crate) fn publish(&self, split: &Split) -> anyhow::Result<()> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let patch = json!({
            "metadata": { "resourceVersion": version },
            "data": { KEY: split.render() },
        });
        self.remember(&self.api.patch(&self.path, &patch)?);
        Ok(())
    }

    fn remember(&self, found: &Value) {
        let version = found["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    /// What every proxy serves.
    pub(crate) fn served(&self) -> anyhow::Result<Split> {
        let mut all: Vec<SocketAddr> =
            self.proxies.to_socket_addrs().with_context(|| self.proxies.clone())?.collect();
        all.sort_unstable();
        all.dedup();
        let mut agreed: Option<Split> = None;
        for proxy in all {
            let split = ask_served(proxy)?;
            match &agreed {
                Some(other) if *other != split => bail!(
                    "the proxies differ: {proxy} serves {}%, another {}%",
                    split.share_percent,
                    other.share_percent
                ),
                _ => agreed = Some(split),
            }
        }
        agreed.with_context(|| format!("no proxy is behind {}", self.proxies))
    }
}
