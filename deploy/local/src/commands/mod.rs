//! The commands: what was typed, and one file for each longer one.

mod background;
mod with;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use stack::settings::{beside, repository};
use stack::{Addresses, Key, Settings, Share};

/// Runs the whole stack on this machine: nginx, qr-service, old-node and Prometheus.
#[derive(Parser, Debug)]
#[command(version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Start it in the background and wait until each part is ready; harmless where it runs
    Up(Place),
    /// Stop all of it; data stays
    Down(Place),
    /// Say what runs; exits with 3 where not all of it does
    Status(Place),
    /// Show the ends of the logs
    Logs {
        #[command(flatten)]
        place: Place,
        /// Go on showing what comes
        #[arg(short, long)]
        follow: bool,
        /// The parts; all when none is named
        parts: Vec<String>,
    },
    /// Set the Rust service's share of /qrcode, in percent, while it runs
    Split {
        #[command(flatten)]
        place: Place,
        /// 0 to 100
        percent: Share,
    },
    /// Write and check the configuration without starting anything
    Check(Place),
    /// Run a command beside a stack of its own, on free ports, that ends with it
    With(with::With),
}

/// Where the stack is. Every other variable reaches the parts as it is (`QR_ENGINE=reference`).
#[derive(Args, Clone, Debug)]
struct Place {
    /// Folder of configuration, logs and data [default: run, in the repository]
    #[arg(long, env = "STACK_RUN_DIR", value_name = "FOLDER")]
    run_dir: Option<PathBuf>,
    /// nginx, public
    #[arg(
        long,
        env = "STACK_PROXY_ADDR",
        default_value = "127.0.0.1:8080",
        value_name = "IP:PORT"
    )]
    proxy_addr: SocketAddr,
    /// nginx, admin
    #[arg(
        long,
        env = "STACK_PROXY_ADMIN_ADDR",
        default_value = "127.0.0.1:8081",
        value_name = "IP:PORT"
    )]
    proxy_admin_addr: SocketAddr,
    /// qr-service, public
    #[arg(long, env = "QR_ADDR", default_value = "127.0.0.1:42069", value_name = "IP:PORT")]
    addr: SocketAddr,
    /// qr-service, admin
    #[arg(long, env = "QR_ADMIN_ADDR", default_value = "127.0.0.1:42070", value_name = "IP:PORT")]
    admin_addr: SocketAddr,
    /// old-node, public
    #[arg(long, env = "STACK_OLD_ADDR", default_value = "127.0.0.1:3000", value_name = "IP:PORT")]
    old_addr: SocketAddr,
    /// old-node, admin
    #[arg(
        long,
        env = "STACK_OLD_ADMIN_ADDR",
        default_value = "127.0.0.1:3001",
        value_name = "IP:PORT"
    )]
    old_admin_addr: SocketAddr,
    /// shadow, where nginx sends what it mirrors
    #[arg(long, env = "SHADOW_ADDR", default_value = "127.0.0.1:42080", value_name = "IP:PORT")]
    shadow_addr: SocketAddr,
    /// shadow, admin
    #[arg(
        long,
        env = "SHADOW_ADMIN_ADDR",
        default_value = "127.0.0.1:42081",
        value_name = "IP:PORT"
    )]
    shadow_admin_addr: SocketAddr,
    /// Prometheus
    #[arg(
        long,
        env = "STACK_PROMETHEUS_ADDR",
        default_value = "127.0.0.1:9090",
        value_name = "IP:PORT"
    )]
    prometheus_addr: SocketAddr,
    /// nginx' exporter
    #[arg(
        long,
        env = "STACK_NGINX_EXPORTER_ADDR",
        default_value = "127.0.0.1:9113",
        value_name = "IP:PORT"
    )]
    nginx_exporter_addr: SocketAddr,
    /// Processes of old-node [default: one for each processor]
    #[arg(long, env = "STACK_OLD_WORKERS", value_name = "COUNT")]
    old_workers: Option<usize>,
    /// The Rust service's share of /qrcode at start [default: as it was, else 100]
    #[arg(long, env = "STACK_SPLIT", value_name = "PERCENT")]
    split: Option<Share>,
    /// What it is a share of at start: arg_text, remote_addr, request_id or cookie_NAME
    /// [default: as it was, else arg_text]
    #[arg(long, env = "STACK_SPLIT_KEY", value_name = "KEY")]
    split_key: Option<Key>,
    /// How many of all requests the shadow gets at start [default: as it was, else 10]
    #[arg(long, env = "STACK_MIRROR", value_name = "PERCENT")]
    mirror: Option<Share>,
    #[command(flatten)]
    binary: Binary,
}

#[derive(Args, Clone, Debug)]
struct Binary {
    /// qr-service's binary [default: beside this one]
    #[arg(long, env = "QR_SERVICE_BIN", value_name = "FILE")]
    qr_service: Option<PathBuf>,
}

impl Binary {
    fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.qr_service {
            Some(path) => std::path::absolute(path).context("QR_SERVICE_BIN"),
            None => Ok(std::env::current_exe()?.with_file_name("qr-service")),
        }
    }
}

impl Place {
    fn settings(&self) -> anyhow::Result<Settings> {
        let run_dir = match &self.run_dir {
            Some(folder) => std::path::absolute(folder).context("STACK_RUN_DIR")?,
            None => repository().join("run"),
        };
        let qr_service = self.binary.path()?;
        Ok(Settings {
            root: repository().to_owned(),
            run_dir,
            addresses: Addresses {
                proxy: self.proxy_addr,
                proxy_admin: self.proxy_admin_addr,
                new: self.addr,
                new_admin: self.admin_addr,
                old: self.old_addr,
                old_admin: self.old_admin_addr,
                shadow: self.shadow_addr,
                shadow_admin: self.shadow_admin_addr,
                prometheus: self.prometheus_addr,
                nginx_exporter: self.nginx_exporter_addr,
            },
            split: self.split,
            split_key: self.split_key.clone(),
            mirror: self.mirror,
            engine: None,
            old_workers: self.old_workers.unwrap_or_else(processors),
            shadow: beside(&qr_service, "shadow"),
            qr_service,
        })
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Up(place) => background::up(&place.settings()?),
            Command::Down(place) => background::down(&place.settings()?),
            Command::Status(place) => background::status(&place.settings()?),
            Command::Logs { place, follow, parts } => {
                background::logs(&place.settings()?, follow, &parts)
            }
            Command::Split { place, percent } => background::split(&place.settings()?, percent),
            Command::Check(place) => background::check(&place.settings()?),
            Command::With(with) => with.run(),
        }
    }
}
