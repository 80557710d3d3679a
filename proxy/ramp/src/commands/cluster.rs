//! Where a cluster is, and what runs in the proxies' pods: `ramp prepare`, `ramp follow`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use ramp::cluster::{self, Cluster};

use super::{Place, Signals};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    Local,
    Kubernetes,
}

#[derive(Args, Clone, Debug)]
pub(super) struct ClusterPlace {
    /// Whose split is moved: this machine's nginx (local), or all proxies of a cluster (kubernetes)
    #[arg(
        long,
        env = "RAMP_TARGET",
        default_value = "local",
        value_enum,
        hide_possible_values = true,
        global = true
    )]
    target: Target,
    /// The API of Kubernetes
    #[arg(
        long,
        env = "RAMP_KUBERNETES_URL",
        default_value = "https://kubernetes.default.svc",
        value_name = "URL",
        global = true
    )]
    kubernetes_url: String,
    /// What Kubernetes knows this pod by: token and ca.crt
    #[arg(
        long,
        env = "RAMP_KUBERNETES_CREDENTIALS",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount",
        value_name = "FOLDER",
        global = true
    )]
    kubernetes_credentials: PathBuf,
    /// Namespace and name of the ConfigMap with the split
    #[arg(
        long,
        env = "RAMP_SPLIT_CONFIG_MAP",
        default_value = "qr/split",
        value_name = "NAMESPACE/NAME",
        value_parser = parse_config_map,
        global = true
    )]
    split_config_map: ConfigMap,
    /// The proxies' admin listeners, by a name that resolves to all of them
    #[arg(
        long,
        env = "RAMP_PROXIES",
        default_value = "proxy-pods:8081",
        value_name = "HOST:PORT",
        global = true
    )]
    proxies: String,
}

#[derive(Clone, Debug)]
struct ConfigMap {
    namespace: String,
    name: String,
}

fn parse_config_map(text: &str) -> anyhow::Result<ConfigMap> {
    let (namespace, name) = text.split_once('/').context("must be NAMESPACE/NAME")?;
    let fine = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
    };
    anyhow::ensure!(fine(namespace) && fine(name), "must be NAMESPACE/NAME");
    Ok(ConfigMap { namespace: namespace.to_owned(), name: name.to_owned() })
}

impl ClusterPlace {
    /// The cluster, where it is what is moved.
    pub(super) fn target(&self) -> anyhow::Result<Option<Cluster>> {
        (self.target == Target::Kubernetes).then(|| self.cluster()).transpose()
    }

    fn cluster(&self) -> anyhow::Result<Cluster> {
        let ConfigMap { namespace, name } = self.split_config_map.clone();
        Cluster::new(&cluster::Place {
            url: self.kubernetes_url.clone(),
            credentials: self.kubernetes_credentials.clone(),
            namespace,
            name,
            proxies: self.proxies.clone(),
        })
    }
}

#[derive(Args, Debug)]
pub(super) struct Prepare {
    /// The cluster's, as it is mounted
    file: PathBuf,
}

impl Prepare {
    pub(super) fn run(self, place: &Place) -> anyhow::Result<ExitCode> {
        ramp::copy(&self.file, &place.nginx_dir)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
pub(super) struct Follow {
    /// Time between two looks
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration, value_name = "TIME")]
    every: Duration,
}

impl Follow {
    pub(super) fn run(self, place: &Place) -> anyhow::Result<ExitCode> {
        let signals = Signals::watch()?;
        let dir = std::path::absolute(&place.nginx_dir).context("RAMP_NGINX_DIR")?;
        let nginx = place.nginx_here(dir);
        cluster::follow(&nginx, &place.cluster.cluster()?, self.every, &signals.told)?;
        Ok(ExitCode::SUCCESS)
    }
}
