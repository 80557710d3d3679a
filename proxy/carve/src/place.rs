//! The settings that locate nginx, Prometheus and the cluster.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use carve::local::Settings;
use carve::local::render::{StartRecord, started_in};
use clap::{Args, ValueEnum};
use rollout::cluster::{Cluster, ConfigMap};
use rollout::state::By;
use rollout::{Nginx, Prometheus, Webhook, Webhooks};
use tempfile::TempDir;

/// The run folder of `carve up`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunDir {
    /// The stack's folder: configuration, logs and data of everything that `carve up` starts
    #[arg(long, env = "STACK_RUN_DIR", default_value = "run", value_name = "FOLDER")]
    run_dir: PathBuf,
}

impl RunDir {
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        std::path::absolute(&self.run_dir).context("STACK_RUN_DIR")
    }

    /// The settings that the stack was started with; the defaults if none was started there. Fails if its
    /// `started.json` cannot be read.
    pub(crate) fn started(&self) -> anyhow::Result<Settings> {
        Settings::started(self.path()?)
    }

    /// How the stack was started. Fails if none was; the error names the flags to give instead.
    pub(crate) fn sides(&self, flags: &str) -> anyhow::Result<StartRecord> {
        let run_dir = self.path()?;
        let nothing = || format!("nothing was started in {}: give {flags}", run_dir.display());
        started_in(&run_dir)?.with_context(nothing)
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    #[command(flatten)]
    run: RunDir,
    /// nginx' prefix, with its configuration and the splits [default: nginx, in the folder of --run-dir]
    #[arg(long, env = "RAMP_NGINX_DIR", value_name = "FOLDER")]
    nginx_dir: Option<PathBuf>,
    /// The admin listener of nginx [default: that of the stack `carve up` started, else 127.0.0.1:8081]
    #[arg(long, env = "RAMP_PROXY_ADMIN_ADDR", value_name = "IP:PORT")]
    proxy_admin_addr: Option<SocketAddr>,
    /// Prometheus, without /api/v1 [default: that of the stack `carve up` started, else
    /// http://127.0.0.1:9090/prometheus]
    #[arg(long, visible_alias = "prometheus", env = "RAMP_PROMETHEUS_URL", value_name = "URL")]
    prometheus_url: Option<String>,
    /// Work on the nginx of this machine (local) or on all proxies of a cluster (kubernetes)
    #[arg(long, env = "RAMP_TARGET", default_value = "local", value_enum)]
    #[arg(hide_possible_values = true)]
    target: Target,
    /// The Kubernetes API, or file:FILE to read the copy that `carve copy` keeps [default: https:// at
    /// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT]
    #[arg(long, env = "RAMP_KUBERNETES_URL", value_name = "URL")]
    kubernetes_url: Option<String>,
    /// The folder of the Kubernetes credentials: token and ca.crt
    #[arg(long, env = "RAMP_KUBERNETES_CREDENTIALS")]
    #[arg(default_value = "/var/run/secrets/kubernetes.io/serviceaccount", value_name = "FOLDER")]
    kubernetes_credentials: PathBuf,
    /// Namespace and name of the ConfigMap with the splits
    #[arg(long, env = "RAMP_SPLIT_CONFIG_MAP", default_value = "qr/split")]
    #[arg(value_name = "NAMESPACE/NAME")]
    split_config_map: ConfigMap,
    /// Who runs the command, for the log [default: the user's name]
    #[arg(long, env = "RAMP_ACTOR", value_name = "NAME")]
    actor: Option<String>,
    /// Post the events of a run to these URLs as JSON: its start, each step, waits, rollbacks and its end; slack:URL
    /// gets Slack's format
    #[arg(long = "webhook", env = "RAMP_WEBHOOKS", hide_env_values = true, value_delimiter = ',')]
    #[arg(value_name = "URL")]
    webhooks: Vec<Webhook>,
    /// The admin listeners of all proxies: a name that resolves to each of them
    #[arg(long, env = "RAMP_PROXIES", default_value = "proxy-pods:8081", value_name = "HOST:PORT")]
    proxies: String,
    /// The folder of route files, if a cluster's gateways move the traffic in place of carve's nginx; then --target is
    /// kubernetes
    #[arg(long, env = "RAMP_GATEWAY_ROUTES", value_name = "FOLDER")]
    gateway_routes: Option<PathBuf>,
}

/// Who changes something, and why.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReasonArgs {
    /// Why, for the log and the webhooks
    #[arg(long, default_value = "", hide_default_value = true, value_name = "WHY")]
    reason: String,
}

/// The folder of a run's report.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reports {
    /// The folder to write a run's report to when it ends [default: reports/ in the route's folder]
    #[arg(long, env = "RAMP_REPORT", value_name = "FOLDER")]
    report: Option<PathBuf>,
}

impl Reports {
    pub(crate) fn folder(&self) -> anyhow::Result<Option<PathBuf>> {
        self.report.as_ref().map(std::path::absolute).transpose().context("RAMP_REPORT")
    }
}

/// The route that a command works on, and its nginx.
#[derive(Args, Clone, Debug)]
pub(crate) struct OnRoute {
    /// The route; needed only if there are several
    #[arg(index = 1)]
    pub(crate) route: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl OnRoute {
    pub(crate) fn nginx(&self) -> anyhow::Result<NginxHandle> {
        self.place.nginx(self.route.as_deref())
    }

    /// As [`OnRoute::nginx`], for a command that changes something: records who runs it, and why.
    pub(crate) fn nginx_because(&self, why: &ReasonArgs) -> anyhow::Result<NginxHandle> {
        Ok(self.place.acting(self.nginx()?, &why.reason))
    }

    /// The nginx of a rollback. To be fast, on a cluster it copies nothing, and does not check that a named route
    /// exists.
    pub(crate) fn nginx_to_stop(&self) -> anyhow::Result<NginxHandle> {
        if !self.place.is_cluster() {
            return Ok(self.place.acting(self.nginx()?, ""));
        }
        let cluster = self.place.cluster()?;
        let route = match &self.route {
            Some(route) => route.clone(),
            None => rollout::choose(cluster.routes()?, None)?,
        };
        let nginx = NginxHandle { nginx: cluster.nginx(&self.place.dir()?, &route), _copy: None };
        Ok(self.place.acting(nginx, ""))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    Local,
    Kubernetes,
}

/// The nginx that a command works on. On a cluster it owns a temporary copy, removed when the command ends.
pub(crate) struct NginxHandle {
    nginx: Nginx,
    _copy: Option<TempDir>,
}

impl Drop for NginxHandle {
    /// Waits until the webhooks are posted.
    fn drop(&mut self) {
        self.nginx.webhooks().finish();
    }
}

impl Deref for NginxHandle {
    type Target = Nginx;

    fn deref(&self) -> &Nginx {
        &self.nginx
    }
}

impl Place {
    /// This machine's nginx, or the cluster's, with a fresh copy of the route's split and run. `route` may be `None` if
    /// there is only one route. Fails if there is no such route, or the folder or the cluster cannot be used.
    pub(crate) fn nginx(&self, route: Option<&str>) -> anyhow::Result<NginxHandle> {
        let dir = self.dir()?;
        if self.is_cluster() {
            fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
            let cluster = self.cluster()?;
            let route = rollout::choose(cluster.routes()?, route)?;
            // A folder of its own: `carve serve` works in the other one.
            let copy = tempfile::Builder::new().prefix("command-").tempdir_in(&dir)?;
            return Ok(NginxHandle {
                nginx: cluster.copied(copy.path(), &route)?,
                _copy: Some(copy),
            });
        }
        self.check_is_here()?;
        let route = rollout::choose_here(&dir, route)?;
        Ok(NginxHandle { nginx: Nginx::here(dir, route, self.admin()?), _copy: None })
    }

    /// Records who runs the command, and why, and starts the webhooks.
    fn acting(&self, mut located: NginxHandle, reason: &str) -> NginxHandle {
        let by = By { actor: self.actor(), reason: reason.to_owned() };
        located.nginx = located.nginx.clone().acting(by, self.webhooks());
        located
    }

    /// `--actor`, else the user's name or number; on a cluster followed by the pod's name.
    fn actor(&self) -> String {
        let named = |variable| env::var(variable).ok().filter(|name| !name.is_empty());
        let user = || ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(named);
        let number = || format!("user {}", rustix::process::getuid().as_raw());
        let at = named("HOSTNAME").filter(|_| self.is_cluster());
        let actor = self.actor.clone().or_else(user).unwrap_or_else(number);
        at.filter(|_| self.actor.is_none()).map_or(actor.clone(), |pod| format!("{actor} in {pod}"))
    }

    /// Starts a thread for each webhook.
    pub(crate) fn webhooks(&self) -> Webhooks {
        Webhooks::start(&self.webhooks)
    }

    /// The names of all routes.
    pub(crate) fn routes(&self) -> anyhow::Result<Vec<String>> {
        if self.is_cluster() {
            return Ok(self.cluster()?.routes()?.into_iter().map(|route| route.name).collect());
        }
        self.check_is_here()?;
        Ok(rollout::prepared(&self.dir()?))
    }

    fn check_is_here(&self) -> anyhow::Result<()> {
        let dir = self.dir()?;
        ensure!(
            dir.join("nginx.conf").is_file(),
            "nothing runs in {}: it has no nginx.conf (--nginx-dir, RAMP_NGINX_DIR)",
            dir.display()
        );
        Ok(())
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.target == Target::Kubernetes || self.gateway_routes.is_some()
    }

    /// The stack that `carve up` started; `None` with `--target kubernetes` or `--nginx-dir`.
    pub(crate) fn stack(&self) -> anyhow::Result<Option<Settings>> {
        let is_other = self.is_cluster() || self.nginx_dir.is_some();
        if is_other { Ok(None) } else { self.run.started().map(Some) }
    }

    /// The stack that `carve up` started, if `--nginx-dir` is its nginx.
    pub(crate) fn kept(&self) -> anyhow::Result<Option<Settings>> {
        let started = self.run.started()?;
        Ok((started.nginx_dir() == self.dir()?).then_some(started))
    }

    pub(crate) fn admin(&self) -> anyhow::Result<SocketAddr> {
        match self.proxy_admin_addr {
            Some(addr) => Ok(addr),
            None => Ok(self.run.started()?.addresses.proxy_admin),
        }
    }

    pub(crate) fn dir(&self) -> anyhow::Result<PathBuf> {
        match &self.nginx_dir {
            Some(dir) => std::path::absolute(dir).context("RAMP_NGINX_DIR"),
            None => Ok(self.run.path()?.join("nginx")),
        }
    }

    pub(crate) fn cluster(&self) -> anyhow::Result<Cluster> {
        let cluster = Cluster::new(
            &self.kubernetes_url.clone().unwrap_or_else(in_cluster),
            &self.kubernetes_credentials,
            self.split_config_map.clone(),
            self.proxies.clone(),
            &self.dir()?,
        )?;
        Ok(match &self.gateway_routes {
            Some(files) => cluster.behind_gateways(files.clone()),
            None => cluster,
        })
    }

    pub(crate) fn prometheus(&self) -> anyhow::Result<Prometheus> {
        let url = match &self.prometheus_url {
            Some(url) => url.clone(),
            None => format!("http://{}/prometheus", self.run.started()?.addresses.prometheus),
        };
        Ok(Prometheus { url })
    }
}

/// The API's URL. Prefers the IP address that Kubernetes gives each container, since a rollback must not depend on
/// DNS.
fn in_cluster() -> String {
    let given = |name| env::var(name).ok().filter(|value| !value.is_empty());
    match (given("KUBERNETES_SERVICE_HOST"), given("KUBERNETES_SERVICE_PORT")) {
        (Some(host), Some(port)) if host.contains(':') => format!("https://[{host}]:{port}"),
        (Some(host), Some(port)) => format!("https://{host}:{port}"),
        _ => "https://kubernetes.default.svc".to_owned(),
    }
}
