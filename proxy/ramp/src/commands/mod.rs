//! The commands: what was typed, and one file for each longer one.

mod cluster;
mod run;
mod status;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use clap::{Args, Parser, Subcommand};
use ramp::{At, Changed, Key, Nginx, Prometheus, Share, Wanted};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 failed, and the split is as it was; 2 called wrongly; \
    3 rolled back by a gate; 4 inconclusive, the share stays; 5 aborted, back at the start share; \
    128 and the signal's number where it was told to end.";

/// Moves the traffic of /qrcode to the Rust service: by hand, or step by step with gates.
#[derive(Parser, Debug)]
#[command(name = "ramp", version, about, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args, Clone, Debug)]
struct Place {
    /// nginx' prefix: its configuration, and what ramp writes beside it
    #[arg(
        long,
        env = "RAMP_NGINX_DIR",
        default_value = "run/nginx",
        value_name = "FOLDER",
        global = true
    )]
    nginx_dir: PathBuf,
    /// nginx, admin
    #[arg(
        long,
        env = "RAMP_PROXY_ADMIN_ADDR",
        default_value = "127.0.0.1:8081",
        value_name = "IP:PORT",
        global = true
    )]
    proxy_admin_addr: SocketAddr,
    /// Prometheus, up to what stands before /api/v1
    #[arg(
        long,
        env = "RAMP_PROMETHEUS_URL",
        default_value = "http://127.0.0.1:9090/prometheus",
        value_name = "URL",
        global = true
    )]
    prometheus_url: String,
    #[command(flatten)]
    cluster: cluster::ClusterPlace,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Say the share, the run's step and verdict, and who holds the split
    Status,
    /// Set the share; nginx serves it on return
    Set(Set),
    /// Walk up the steps; goes on with a run that has not ended
    Run(run::Run),
    /// Have the run stay at its step; gates may still roll it back
    Pause,
    /// Have the run go on, its step from the beginning; starts it again where it has ended
    Resume(run::Pace),
    /// Go back to the run's start share and end it
    Abort,
    /// Where nginx does not run yet: write its split as another split.conf has it
    Prepare(cluster::Prepare),
    /// Keep this nginx at the cluster's split: runs beside each proxy
    Follow(cluster::Follow),
}

#[derive(Args, Debug)]
struct Set {
    /// The Rust service's share: 0 to 100, in steps of 0.01
    #[arg(required_unless_present_any = ["key", "mirror"])]
    percent: Option<Share>,
    /// What it is a share of: arg_text, remote_addr, request_id or cookie_NAME [default: as it was]
    #[arg(long)]
    key: Option<Key>,
    /// How many of all requests the shadow gets: 0 to 100 [default: as it was]
    #[arg(long, value_name = "PERCENT")]
    mirror: Option<Share>,
}

impl Place {
    fn nginx(&self) -> anyhow::Result<Nginx> {
        let dir = std::path::absolute(&self.nginx_dir).context("RAMP_NGINX_DIR")?;
        if let Some(cluster) = self.cluster.target()? {
            cluster.copy_to(&dir)?;
            return Ok(Nginx { dir, at: At::Cluster(cluster) });
        }
        let there = dir.join("nginx.conf").is_file();
        ensure!(there, "{} has no nginx.conf (--nginx-dir, RAMP_NGINX_DIR)", dir.display());
        Ok(self.nginx_here(dir))
    }

    fn nginx_here(&self, dir: PathBuf) -> Nginx {
        Nginx { dir, at: At::Here(self.proxy_admin_addr) }
    }

    fn prometheus(&self) -> Prometheus {
        Prometheus { url: self.prometheus_url.clone() }
    }
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let place = &self.place;
        match self.command {
            Command::Status => status::status(&place.nginx()?),
            Command::Set(set) => set.run(&place.nginx()?),
            Command::Run(run) => run.run(place, &place.nginx()?),
            Command::Pause => run::pause(&place.nginx()?),
            Command::Resume(pace) => run::resume(place, &place.nginx()?, &pace),
            Command::Abort => run::abort(place, &place.nginx()?),
            Command::Prepare(prepare) => prepare.run(place),
            Command::Follow(follow) => follow.run(place),
        }
    }
}

/// Whether, and by which signal, this process was told to end.
struct Signals {
    told: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signals {
    fn watch() -> anyhow::Result<Self> {
        let signals = Signals { told: Arc::default(), number: Arc::default() };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register_usize(
                signal,
                Arc::clone(&signals.number),
                signal.unsigned_abs() as usize,
            )?;
            flag::register(signal, Arc::clone(&signals.told))?;
        }
        Ok(signals)
    }

    fn exit_code(&self) -> Option<ExitCode> {
        let number = u8::try_from(self.number.load(Ordering::Relaxed)).ok()?;
        (number > 0).then(|| ExitCode::from(128 + number))
    }
}

impl Set {
    fn run(self, nginx: &Nginx) -> anyhow::Result<ExitCode> {
        let signals = Signals::watch()?;
        let wanted = Wanted { share: self.percent, key: self.key, mirror: self.mirror };
        match ramp::set(nginx, &wanted, &signals.told) {
            Ok(Changed { split, superseded }) => {
                if let Some(run) = superseded {
                    println!("This ends the run that had not ended ({run}).");
                }
                println!("{}% of /qrcode goes to qr-service.", split.share_percent);
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                let Some(code) = signals.exit_code() else { return Err(error) };
                eprintln!("ramp: {error:#}");
                Ok(code)
            }
        }
    }
}
