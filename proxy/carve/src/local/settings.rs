//! The parts, their addresses and their files.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command, FromArgMatches};
use rollout::{Machine, Nginx, Share, SplitChange};
use route::SideUrl;
use serde::{Deserialize, Serialize};
use service_kit::SocketPath;
use service_kit::arguments::Usage;

use super::parts::{Parts, Words, filled, log_in, variable};

/// Makes [`Addresses`] from one line per listener: field, flag, variable, default, part.
macro_rules! addresses {
    ($($(#[$doc:meta])* $field:ident $flag:tt $variable:tt $default:tt $part:tt,)*) => {
        /// Where the parts listen; those of carve's own parts are flags of `carve up`.
        #[derive(Args, Clone, Debug, Serialize, Deserialize)]
        pub struct Addresses {
            $(
                $(#[$doc])*
                #[arg(long = $flag, env = $variable, default_value = $default)]
                #[arg(value_name = "IP:PORT")]
                pub $field: SocketAddr,
            )*
            /// The addresses of the parts of `--parts`, by word.
            #[arg(skip)]
            #[serde(flatten)]
            pub apps: BTreeMap<String, SocketAddr>,
        }

        impl Addresses {
            /// The address of each of carve's own listeners, with the variable that sets it and the part that listens.
            pub fn listeners(&self) -> Vec<(String, SocketAddr, String)> {
                vec![$(($variable.to_owned(), self.$field, $part.to_owned())),*]
            }

            /// Every address, by the word that stands for it.
            pub(crate) fn words(&self) -> Words {
                let apps = self.apps.iter().map(|(word, at)| (word.clone(), at.to_string()));
                apps.chain([$((stringify!($field).to_owned(), self.$field.to_string())),*]).collect()
            }

            /// Free addresses on loopback. Fails if no port is free.
            pub fn free() -> anyhow::Result<Self> {
                let apps = BTreeMap::new();
                Ok(Addresses { $($field: service_kit::free_address()?,)* apps })
            }
        }
    };
}

addresses! {
    /// nginx, public
    proxy "proxy-addr" "STACK_PROXY_ADDR" "127.0.0.1:8080" "nginx",
    /// nginx, admin
    proxy_admin "proxy-admin-addr" "STACK_PROXY_ADMIN_ADDR" "127.0.0.1:8081" "nginx",
    /// shadow, where nginx sends mirrored requests
    shadow "shadow-addr" "STACK_SHADOW_ADDR" "127.0.0.1:42080" "shadow",
    /// shadow, admin
    shadow_admin "shadow-admin-addr" "STACK_SHADOW_ADMIN_ADDR" "127.0.0.1:42081" "shadow",
    /// Prometheus
    prometheus "prometheus-addr" "STACK_PROMETHEUS_ADDR" "127.0.0.1:9090" "prometheus",
    /// edge
    edge "edge-addr" "STACK_EDGE_ADDR" "127.0.0.1:42085" "edge",
}

impl Addresses {
    /// The addresses of the environment's variables, else the defaults. Fails if a variable is not an address.
    pub(crate) fn of_environment() -> anyhow::Result<Self> {
        let command = Self::augment_args(Command::new("carve").no_binary_name(true));
        let matches = command.try_get_matches_from(std::iter::empty::<&str>())?;
        Ok(Self::from_arg_matches(&matches)?)
    }

    /// The address of a part of `--parts`. Panics if there is none with this word.
    pub fn of(&self, word: &str) -> SocketAddr {
        self.apps[word]
    }
}

/// The settings of a stack.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that the stack writes to. Absolute.
    pub run_dir: PathBuf,
    /// Where the parts listen.
    pub addresses: Addresses,
    /// The folder of route files. Absolute.
    pub routes: PathBuf,
    /// Two servers that already run; `None` starts those of `apps`.
    pub sides: Option<Sides>,
    /// The file of parts to run beside carve's own. Absolute.
    pub apps: Option<PathBuf>,
    /// Words of that file to replace; the environment and the file give the others.
    pub words: BTreeMap<String, String>,
    /// Each route's split; `None` keeps the run folder's value, or else the route file's.
    pub wanted: SplitChange,
    /// Share of the successful requests that `edge` writes as JSON lines.
    pub log_share: Share,
    /// The other machines, whose proxies follow this one.
    pub others: Vec<String>,
    /// carve's binary.
    pub carve: PathBuf,
}

/// Two servers that already run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// The app.
    pub old: SideUrl,
    /// The server that takes over.
    pub new: SideUrl,
}

impl Settings {
    /// Settings with each route's split as in its file, and neither routes nor sides yet.
    pub fn new(run_dir: PathBuf, addresses: Addresses, carve: PathBuf) -> Self {
        Settings {
            run_dir,
            addresses,
            routes: PathBuf::new(),
            sides: None,
            apps: None,
            words: BTreeMap::new(),
            wanted: SplitChange::default(),
            log_share: Share::ALL,
            others: Vec::new(),
            carve,
        }
    }

    /// The same with the parts and routes of a file of `--parts`: each part at a free address, or at the one that its
    /// variable sets, else at its default. Fails if the file cannot be read, or a variable is not an address.
    pub fn with_apps(mut self, file: &Path, is_free: bool) -> anyhow::Result<Self> {
        let file = std::path::absolute(file)?;
        let apps = Parts::read(&file)?;
        for (word, default) in apps.addresses() {
            let variable = variable(word) + "_ADDR";
            let address = match std::env::var(&variable) {
                _ if is_free => service_kit::free_address()?,
                Ok(text) => {
                    text.parse().map_err(|it| Usage(format!("{variable}: {text:?}: {it}")))?
                }
                Err(_) => default,
            };
            self.addresses.apps.insert(word.clone(), address);
        }
        self.routes = filled(&apps.routes, &Words::from([here(&file)]))?.into();
        self.apps = Some(file);
        Ok(self)
    }

    /// The parts of the file of `--parts`; none without it. Fails if it cannot be read.
    pub(crate) fn apps(&self) -> anyhow::Result<Parts> {
        let mut apps = self.apps.as_deref().map_or_else(|| Ok(Parts::default()), Parts::read)?;
        let has = |route: &String| self.routes.join(format!("{route}.toml")).is_file();
        apps.part.retain(|part| part.for_route.iter().all(has));
        Ok(apps)
    }

    /// Every address where a part listens, with the variable that sets it and the part.
    pub fn listeners(&self) -> anyhow::Result<Vec<(String, SocketAddr, String)>> {
        let mut listeners = self.addresses.listeners();
        for part in self.apps()?.part {
            for (word, default) in part.addresses {
                let address = self.addresses.apps.get(&word).copied().unwrap_or(default);
                listeners.push((variable(&word) + "_ADDR", address, part.name.clone()));
            }
        }
        Ok(listeners)
    }

    /// Folder of the databases; survives `down` and `up`.
    pub fn data_dir(&self) -> PathBuf {
        self.run_dir.join("data")
    }

    /// The Unix socket in the run folder where the new side listens for nginx; `None` if it has none. Fails if the path
    /// cannot be that of a socket; nginx then uses the TCP port, as other clients do.
    pub fn new_socket(&self) -> anyhow::Result<Option<SocketPath>> {
        let Some(name) = self.apps()?.new_socket else { return Ok(None) };
        let path = self.run_dir.join(name);
        let path = path.to_str().context("the path is not UTF-8")?;
        format!("unix:{path}").parse().map(Some).map_err(anyhow::Error::msg)
    }

    /// The log of a part.
    pub fn log_of(&self, part: &str) -> PathBuf {
        log_in(&self.run_dir, part)
    }

    /// The JSON lines of all requests, which `edge` writes.
    pub fn requests_log(&self) -> PathBuf {
        self.run_dir.join("log/requests.log")
    }

    /// nginx' prefix, with its configuration.
    pub fn nginx_dir(&self) -> PathBuf {
        self.run_dir.join("nginx")
    }

    /// The folder of the routes' stop files, in memory (/dev/shm); `None` if the system has no such folder.
    pub fn stops_dir(&self) -> Option<PathBuf> {
        let memory = Path::new("/dev/shm");
        memory.is_dir().then(|| memory.join(format!("ramp-stops-{:016x}", self.hash())))
    }

    /// A hash of the run folder's path, for names outside it.
    pub(crate) fn hash(&self) -> u64 {
        rollout::hash(&self.run_dir.to_string_lossy())
    }

    /// nginx, for `rollout`.
    pub fn machine(&self) -> Machine {
        Machine { dir: self.nginx_dir(), admin: self.addresses.proxy_admin }
    }

    /// One of nginx' routes, for `rollout`.
    pub fn nginx(&self, route: &str) -> Nginx {
        Nginx::here(self.nginx_dir(), route.to_owned(), self.addresses.proxy_admin)
    }

    /// The names of the parts that run. Fails if the file of `--parts` cannot be read.
    pub fn parts(&self) -> anyhow::Result<Vec<String>> {
        Ok(self.apps()?.with_own()?.part.into_iter().map(|part| part.name).collect())
    }
}

/// The word for the folder of the file of `--parts`.
pub(crate) fn here(file: &Path) -> (String, String) {
    let folder = file.parent().unwrap_or(file);
    ("here".to_owned(), folder.to_string_lossy().into_owned())
}
