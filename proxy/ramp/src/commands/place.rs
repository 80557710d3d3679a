//! The settings that locate nginx, Prometheus and the cluster.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use ramp::cluster::{Cluster, ConfigMap};
use ramp::{At, Nginx, Prometheus};
use tempfile::TempDir;

#[derive(Args, Clone, Debug)]
pub(super) struct Place {
    /// The route to move; needed only if there are several
    #[arg(long, env = "RAMP_ROUTE", value_name = "NAME", global = true)]
    route: Option<String>,
    /// nginx' prefix: its configuration and the files that ramp writes
    #[arg(
        long,
        env = "RAMP_NGINX_DIR",
        default_value = "run/nginx",
        value_name = "FOLDER",
        global = true
    )]
    nginx_dir: PathBuf,
    /// The admin listener of nginx
    #[arg(
        long,
        env = "RAMP_PROXY_ADMIN_ADDR",
        default_value = "127.0.0.1:8081",
        value_name = "IP:PORT",
        global = true
    )]
    proxy_admin_addr: SocketAddr,
    /// Prometheus, without /api/v1
    #[arg(
        long,
        env = "RAMP_PROMETHEUS_URL",
        default_value = "http://127.0.0.1:9090/prometheus",
        value_name = "URL",
        global = true
    )]
    prometheus_url: String,
    /// Move the split of nginx on this machine (local) or of all proxies of a cluster (kubernetes)
    #[arg(
        long,
        env = "RAMP_TARGET",
        default_value = "local",
        value_enum,
        hide_possible_values = true,
        global = true
    )]
    target: Target,
    /// The Kubernetes API, or file:FILE for what `ramp copy` keeps [default: https:// at KUBERNETES_SERVICE_HOST and
    /// KUBERNETES_SERVICE_PORT]
    #[arg(long, env = "RAMP_KUBERNETES_URL", value_name = "URL", global = true)]
    kubernetes_url: Option<String>,
    /// The credentials for Kubernetes: token and ca.crt
    #[arg(
        long,
        env = "RAMP_KUBERNETES_CREDENTIALS",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount",
        value_name = "FOLDER",
        global = true
    )]
    kubernetes_credentials: PathBuf,
    /// Namespace and name of the ConfigMap with the splits
    #[arg(
        long,
        env = "RAMP_SPLIT_CONFIG_MAP",
        default_value = "qr/split",
        value_name = "NAMESPACE/NAME",
        global = true
    )]
    split_config_map: ConfigMap,
    /// The admin listeners of all proxies: a name that resolves to each of them
    #[arg(
        long,
        env = "RAMP_PROXIES",
        default_value = "proxy-pods:8081",
        value_name = "HOST:PORT",
        global = true
    )]
    proxies: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    Local,
    Kubernetes,
}

/// The nginx of a command, and the folder that is removed when the command ends.
pub(super) struct Located {
    nginx: Nginx,
    _copy: Option<TempDir>,
}

impl Deref for Located {
    type Target = Nginx;

    fn deref(&self) -> &Nginx {
        &self.nginx
    }
}

impl Place {
    /// The target: this machine's nginx, or the cluster with a fresh copy of its split and its run.
    pub(super) fn nginx(&self) -> anyhow::Result<Located> {
        let dir = self.dir()?;
        if self.target == Target::Kubernetes {
            fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
            let cluster = self.cluster()?;
            let route = ramp::choose(cluster.routes()?, self.route.as_deref())?;
            // A folder of its own: `ramp serve` works in the other one.
            let copy = tempfile::Builder::new().prefix("command-").tempdir_in(&dir)?;
            cluster.copy_to(copy.path(), &route)?;
            cluster.copy_run_to(copy.path(), &route)?;
            let nginx = Nginx { dir: copy.path().to_owned(), route, at: At::Cluster(cluster) };
            return Ok(Located { nginx, _copy: Some(copy) });
        }
        let there = dir.join("nginx.conf").is_file();
        ensure!(there, "{} has no nginx.conf (--nginx-dir, RAMP_NGINX_DIR)", dir.display());
        let route = ramp::choose_here(&dir, self.route.as_deref())?;
        let nginx = Nginx { dir, route, at: At::Here(self.proxy_admin_addr) };
        Ok(Located { nginx, _copy: None })
    }

    #[cfg(feature = "serve")]
    pub(super) fn is_cluster(&self) -> bool {
        self.target == Target::Kubernetes
    }

    pub(super) fn admin(&self) -> SocketAddr {
        self.proxy_admin_addr
    }

    pub(super) fn dir(&self) -> anyhow::Result<PathBuf> {
        std::path::absolute(&self.nginx_dir).context("RAMP_NGINX_DIR")
    }

    pub(super) fn cluster(&self) -> anyhow::Result<Cluster> {
        Cluster::new(
            &self.kubernetes_url.clone().unwrap_or_else(in_cluster),
            &self.kubernetes_credentials,
            self.split_config_map.clone(),
            self.proxies.clone(),
            &self.dir()?,
        )
    }

    pub(super) fn prometheus(&self) -> Prometheus {
        Prometheus { url: self.prometheus_url.clone() }
    }
}

/// The API's address as Kubernetes gives it to each container: a command that sends everything back must not need
/// DNS.
fn in_cluster() -> String {
    let given = |name| env::var(name).ok().filter(|value| !value.is_empty());
    match (given("KUBERNETES_SERVICE_HOST"), given("KUBERNETES_SERVICE_PORT")) {
        (Some(host), Some(port)) if host.contains(':') => format!("https://[{host}]:{port}"),
        (Some(host), Some(port)) => format!("https://{host}:{port}"),
        _ => "https://kubernetes.default.svc".to_owned(),
    }
}
