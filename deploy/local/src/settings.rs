//! What runs where.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;

use ramp::{At, Key, Nginx, Share, Wanted};

/// One of the stack's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The Rust service.
    QrService,
    /// The legacy app: one process, or a primary and its workers.
    LegacyNode,
    /// The proxy.
    Nginx,
    /// nginx' counters, for Prometheus.
    NginxExporter,
    /// The comparison of both.
    Shadow,
    /// Prometheus.
    Prometheus,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 6] = [
        Part::QrService,
        Part::LegacyNode,
        Part::Shadow,
        Part::Nginx,
        Part::NginxExporter,
        Part::Prometheus,
    ];

    /// The part's name, also of its log (`log/NAME.log`).
    pub fn name(self) -> &'static str {
        match self {
            Part::QrService => "qr-service",
            Part::LegacyNode => "old-node",
            Part::Shadow => "shadow",
            Part::Nginx => "nginx",
            Part::NginxExporter => "nginx-exporter",
            Part::Prometheus => "prometheus",
        }
    }

    /// Its name with supervisord: GROUP:NAME.
    pub fn supervised_name(self) -> String {
        let group = match self {
            Part::Nginx | Part::NginxExporter => "edge",
            Part::QrService | Part::LegacyNode | Part::Shadow | Part::Prometheus => "backends",
        };
        format!("{group}:{}", self.name())
    }
}

/// Where the parts listen.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// nginx, public.
    pub proxy: SocketAddr,
    /// nginx, admin.
    pub proxy_admin: SocketAddr,
    /// qr-service, public.
    pub new: SocketAddr,
    /// qr-service, admin.
    pub new_admin: SocketAddr,
    /// old-node, public.
    pub old: SocketAddr,
    /// old-node, admin.
    pub old_admin: SocketAddr,
    /// shadow, where nginx sends what it mirrors.
    pub shadow: SocketAddr,
    /// shadow, admin.
    pub shadow_admin: SocketAddr,
    /// Prometheus.
    pub prometheus: SocketAddr,
    /// nginx' exporter.
    pub nginx_exporter: SocketAddr,
}

impl Addresses {
    /// Each with the variable that sets it and the part that listens there.
    pub fn listeners(&self) -> [(&'static str, SocketAddr, Part); 10] {
        [
            ("STACK_PROXY_ADDR", self.proxy, Part::Nginx),
            ("STACK_PROXY_ADMIN_ADDR", self.proxy_admin, Part::Nginx),
            ("QR_ADDR", self.new, Part::QrService),
            ("QR_ADMIN_ADDR", self.new_admin, Part::QrService),
            ("STACK_OLD_ADDR", self.old, Part::LegacyNode),
            ("STACK_OLD_ADMIN_ADDR", self.old_admin, Part::LegacyNode),
            ("SHADOW_ADDR", self.shadow, Part::Shadow),
            ("SHADOW_ADMIN_ADDR", self.shadow_admin, Part::Shadow),
            ("STACK_PROMETHEUS_ADDR", self.prometheus, Part::Prometheus),
            ("STACK_NGINX_EXPORTER_ADDR", self.nginx_exporter, Part::NginxExporter),
        ]
    }

    /// Addresses on loopback that are free now. Below the range that the system takes for outgoing
    /// connections (32768 and up), or one of those could have the port by the time it is bound.
    ///
    /// # Errors
    /// Where no free ports are found.
    pub fn free() -> anyhow::Result<Self> {
        let mut held = Vec::new();
        for _ in 0..1000 {
            let port = fastrand::u16(15_000..32_000);
            if let Ok(listener) = std::net::TcpListener::bind(("127.0.0.1", port)) {
                held.push(listener);
            }
            if held.len() == 10 {
                break;
            }
        }
        let mut next = || {
            let listener = held.pop().context("no free ports on 127.0.0.1")?;
            anyhow::Ok(listener.local_addr()?)
        };
        Ok(Addresses {
            proxy: next()?,
            proxy_admin: next()?,
            new: next()?,
            new_admin: next()?,
            old: next()?,
            old_admin: next()?,
            shadow: next()?,
            shadow_admin: next()?,
            prometheus: next()?,
            nginx_exporter: next()?,
        })
    }
}

/// All that a stack is made from.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The repository.
    pub root: PathBuf,
    /// Where everything that is written goes. Absolute.
    pub run_dir: PathBuf,
    /// Who listens where.
    pub addresses: Addresses,
    /// The Rust service's share of /qrcode; `None` keeps what the run folder has, else 100 percent.
    pub split: Option<Share>,
    /// What it is a share of; `None` keeps what the run folder has, else the text.
    pub split_key: Option<Key>,
    /// How many of all requests the shadow gets; `None` keeps what the run folder has, else a tenth.
    pub mirror: Option<Share>,
    /// `QR_ENGINE` of the Rust service; `None` leaves it to the environment.
    pub engine: Option<String>,
    /// Processes of the legacy app.
    pub old_workers: usize,
    /// The Rust service's binary.
    pub qr_service: PathBuf,
    /// The shadow's binary.
    pub shadow: PathBuf,
}

impl Settings {
    /// Databases; survives `down` and `up`.
    pub fn data_dir(&self) -> PathBuf {
        self.run_dir.join("data")
    }

    /// The log of a part.
    pub fn log_of(&self, part: Part) -> PathBuf {
        self.run_dir.join("log").join(format!("{}.log", part.name()))
    }

    /// nginx' prefix, with its configuration.
    pub fn nginx_dir(&self) -> PathBuf {
        self.run_dir.join("nginx")
    }

    /// nginx, as the split's tool knows it.
    pub fn nginx(&self) -> Nginx {
        Nginx { dir: self.nginx_dir(), at: At::Here(self.addresses.proxy_admin) }
    }

    /// What the split is to be at the start.
    pub fn wanted_split(&self) -> Wanted {
        Wanted { share: self.split, key: self.split_key.clone(), mirror: self.mirror }
    }
}

/// Another binary of the same build: beside `program`, or above it where that is one of cargo's
/// examples.
pub fn beside(program: &Path, name: &str) -> PathBuf {
    let above = program.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    above.into_iter().find(|file| file.is_file()).unwrap_or_else(|| program.with_file_name(name))
}

/// The repository that this program was built in.
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}
