//! The parts, their addresses and their files.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Command, FromArgMatches};
use rollout::{Key, Nginx, Share};
use route::SideUrl;
use serde::{Deserialize, Serialize};
use service_kit::SocketPath;
use strum::IntoStaticStr;

/// A program of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Part {
    /// The new side.
    QrService,
    /// The old side: one process, or a primary and its workers.
    LegacyNode,
    /// The proxy.
    Nginx,
    /// Counts what clients got, in nginx' access log.
    Edge,
    /// Compares both sides.
    Shadow,
    /// Rolls back ramps whose process is gone.
    Watch,
    /// Prometheus.
    Prometheus,
    /// The relay's new side.
    RelayService,
    /// The relay's old side: one process of the legacy app for the relay alone, since both halves of a pair must reach
    /// the same process.
    LegacyRelay,
    /// Tells nginx the side of each key of the relay.
    RelayHome,
    /// A second relay-home, which stands in for the first.
    RelayHomeB,
}

impl Part {
    /// Every part, in the order in which readiness is checked.
    pub const ALL: [Part; 11] = [
        Part::QrService,
        Part::LegacyNode,
        Part::RelayService,
        Part::LegacyRelay,
        Part::RelayHome,
        Part::RelayHomeB,
        Part::Shadow,
        Part::Nginx,
        Part::Edge,
        Part::Watch,
        Part::Prometheus,
    ];

    /// The parts of the relay.
    const RELAY: [Part; 4] =
        [Part::RelayService, Part::LegacyRelay, Part::RelayHome, Part::RelayHomeB];

    /// The parts around two servers that already run.
    pub const AROUND: [Part; 5] =
        [Part::Shadow, Part::Nginx, Part::Edge, Part::Watch, Part::Prometheus];

    /// The part's name, also of its log (`log/NAME.log`).
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The part's log file in a run folder.
    pub(crate) fn log_in(self, run_dir: &Path) -> PathBuf {
        run_dir.join("log").join(format!("{}.log", self.name()))
    }
}

/// Makes [`Addresses`] from one line per listener: field, flag, variable, default, part.
macro_rules! addresses {
    ($($(#[$doc:meta])* $field:ident $flag:tt $variable:tt $default:tt $part:ident,)*) => {
        /// Where the parts listen, as flags and variables of `carve up`.
        #[derive(Args, Clone, Debug, Serialize, Deserialize)]
        pub struct Addresses {
            $(
                $(#[$doc])*
                #[arg(long = $flag, env = $variable, default_value = $default)]
                #[arg(value_name = "IP:PORT")]
                pub $field: SocketAddr,
            )*
        }

        impl Addresses {
            /// Every address, with the variable that sets it and the part that listens there.
            pub fn listeners(&self) -> Vec<(&'static str, SocketAddr, Part)> {
                vec![$(($variable, self.$field, Part::$part)),*]
            }

            /// Every address, with the default address that stands for it in configuration files.
            pub(crate) fn defaults(&self) -> Vec<(&'static str, SocketAddr)> {
                vec![$(($default, self.$field)),*]
            }

            /// Every address, by the word that stands for it in `parts.toml`.
            pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), self.$field.to_string())),*]
            }

            /// Free addresses on loopback. Fails if no port is free.
            pub fn free() -> anyhow::Result<Self> {
                Ok(Addresses { $($field: service_kit::free_address()?),* })
            }
        }
    };
}

addresses! {
    /// nginx, public
    proxy "proxy-addr" "STACK_PROXY_ADDR" "127.0.0.1:8080" Nginx,
    /// nginx, admin
    proxy_admin "proxy-admin-addr" "STACK_PROXY_ADMIN_ADDR" "127.0.0.1:8081" Nginx,
    /// qr-service, public
    new "new-addr" "STACK_NEW_ADDR" "127.0.0.1:42069" QrService,
    /// qr-service, admin
    new_admin "new-admin-addr" "STACK_NEW_ADMIN_ADDR" "127.0.0.1:42070" QrService,
    /// legacy-node, public
    old "old-addr" "STACK_OLD_ADDR" "127.0.0.1:3000" LegacyNode,
    /// legacy-node, admin
    old_admin "old-admin-addr" "STACK_OLD_ADMIN_ADDR" "127.0.0.1:3001" LegacyNode,
    /// shadow, where nginx sends mirrored requests
    shadow "shadow-addr" "STACK_SHADOW_ADDR" "127.0.0.1:42080" Shadow,
    /// shadow, admin
    shadow_admin "shadow-admin-addr" "STACK_SHADOW_ADMIN_ADDR" "127.0.0.1:42081" Shadow,
    /// Prometheus
    prometheus "prometheus-addr" "STACK_PROMETHEUS_ADDR" "127.0.0.1:9090" Prometheus,
    /// edge
    edge "edge-addr" "STACK_EDGE_ADDR" "127.0.0.1:42085" Edge,
    /// relay-service, where nginx sends streams
    relay "relay-addr" "STACK_RELAY_ADDR" "127.0.0.1:42090" RelayService,
    /// relay-service, admin
    relay_admin "relay-admin-addr" "STACK_RELAY_ADMIN_ADDR" "127.0.0.1:42091" RelayService,
    /// the legacy app's relay, where nginx sends streams
    old_relay "old-relay-addr" "STACK_OLD_RELAY_ADDR" "127.0.0.1:3002" LegacyRelay,
    /// the legacy app's relay, admin
    old_relay_admin "old-relay-admin-addr" "STACK_OLD_RELAY_ADMIN_ADDR" "127.0.0.1:3003" LegacyRelay,
    /// relay-home
    home "home-addr" "STACK_HOME_ADDR" "127.0.0.1:42092" RelayHome,
    /// relay-home, admin
    home_admin "home-admin-addr" "STACK_HOME_ADMIN_ADDR" "127.0.0.1:42093" RelayHome,
    /// the second relay-home
    home_b "home-b-addr" "STACK_HOME_B_ADDR" "127.0.0.1:42094" RelayHomeB,
    /// the second relay-home, admin
    home_b_admin "home-b-admin-addr" "STACK_HOME_B_ADMIN_ADDR" "127.0.0.1:42095" RelayHomeB,
}

impl Addresses {
    /// The addresses of the environment's variables, else the defaults. Fails if a variable is not an address.
    pub(crate) fn of_environment() -> anyhow::Result<Self> {
        let command = Self::augment_args(Command::new("carve").no_binary_name(true));
        let matches = command.try_get_matches_from(std::iter::empty::<&str>())?;
        Ok(Self::from_arg_matches(&matches)?)
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
    /// Two servers that already run; `None` starts legacy-node and qr-service.
    pub sides: Option<Sides>,
    /// The new side's share of each route; `None` keeps the run folder's, or else the route file's.
    pub split: Option<Share>,
    /// What the split hashes; `None` keeps the run folder's, or else the route file's.
    pub split_key: Option<Key>,
    /// Share of the requests that nginx mirrors to the shadow; `None` keeps the run folder's, or else
    /// the route file's.
    pub mirror: Option<Share>,
    /// Share of the successful requests that `edge` writes as JSON lines.
    pub log_share: Share,
    /// The other machines, whose proxies follow this one.
    pub others: Vec<String>,
    /// `QR_ENGINE` of qr-service; `None` leaves it to the environment.
    pub engine: Option<String>,
    /// Processes of legacy-node.
    pub old_workers: usize,
    /// qr-service's binary.
    pub qr_service: PathBuf,
    /// carve's binary.
    pub carve: PathBuf,
    /// relay-service's binary.
    pub relay_service: PathBuf,
    /// relay-home's binary.
    pub relay_home: PathBuf,
}

/// Two servers that already run.
#[derive(Clone, Debug)]
pub struct Sides {
    /// The app.
    pub old: SideUrl,
    /// The server that takes over.
    pub new: SideUrl,
}

impl Settings {
    /// Settings with this project's own sides and routes, each with the split of its route file.
    pub fn new(run_dir: PathBuf, addresses: Addresses, qr_service: PathBuf) -> Self {
        Settings {
            run_dir,
            addresses,
            routes: own_routes(),
            sides: None,
            split: None,
            split_key: None,
            mirror: None,
            log_share: Share::ALL,
            others: Vec::new(),
            engine: None,
            old_workers: 1,
            carve: beside(&qr_service, "carve"),
            relay_service: beside(&qr_service, "relay-service"),
            relay_home: beside(&qr_service, "relay-home"),
            qr_service,
        }
    }

    /// Folder of the databases; survives `down` and `up`.
    pub fn data_dir(&self) -> PathBuf {
        self.run_dir.join("data")
    }

    /// The Unix socket in the run folder where qr-service listens for nginx. Fails if the path cannot be that of a
    /// socket; nginx then uses the TCP port, as other clients do.
    pub fn new_socket(&self) -> Result<SocketPath, String> {
        let path = self.run_dir.join("qr-service.sock");
        let path = path.to_str().ok_or("the path is not UTF-8")?;
        format!("unix:{path}").parse()
    }

    /// The log of a part.
    pub fn log_of(&self, part: Part) -> PathBuf {
        part.log_in(&self.run_dir)
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

    /// A hash of the run folder's path (FNV-1a), for names outside it.
    pub(crate) fn hash(&self) -> u64 {
        self.run_dir.to_string_lossy().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    }

    /// nginx and one of its routes, for `rollout`. An empty name stands for nginx without a route.
    pub fn nginx(&self, route: &str) -> Nginx {
        Nginx::here(self.nginx_dir(), route.to_owned(), self.addresses.proxy_admin)
    }

    /// The parts that run.
    pub fn parts(&self) -> Vec<Part> {
        match &self.sides {
            Some(_) => Part::AROUND.to_vec(),
            None if self.has_relay() => Part::ALL.to_vec(),
            None => Part::ALL.into_iter().filter(|part| !Part::RELAY.contains(part)).collect(),
        }
    }

    /// Whether the stack runs the relay's parts: it has this project's own sides and a `relay.toml`.
    pub fn has_relay(&self) -> bool {
        self.sides.is_none() && self.routes.join("relay.toml").is_file()
    }
}

/// The path of another binary of the same build: beside `program`, or in the folder above if `program` is one of
/// cargo's examples.
pub fn beside(program: &Path, name: &str) -> PathBuf {
    let above = program.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    above.into_iter().find(|file| file.is_file()).unwrap_or_else(|| program.with_file_name(name))
}

/// The project's own route files.
pub fn own_routes() -> PathBuf {
    repository().join("proxy/routes")
}

/// The repository that this program was built in.
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}
