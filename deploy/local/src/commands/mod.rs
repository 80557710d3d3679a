//! The command line: what was typed, and one file per longer command.

mod background;
mod with;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use route::SideUrl;
use stack::settings::{beside, repository, routes, sides};
use stack::{Addresses, Key, Settings, Share};

/// Runs the whole stack on this machine: nginx, qr-service, legacy-node, shadow and Prometheus.
#[derive(Parser, Debug)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Start everything in the background and wait until it is ready; does nothing if it runs
    Up(Place),
    /// Stop everything; data stays
    Down(Place),
    /// Print each part's state; exits with 3 unless every part is ready
    Status(Place),
    /// Print the ends of the logs
    Logs {
        #[command(flatten)]
        place: Place,
        /// Keep printing new lines
        #[arg(short, long)]
        follow: bool,
        /// Names of parts [default: all]
        parts: Vec<String>,
    },
    /// Set the new side's share of a route while the stack runs
    Split {
        #[command(flatten)]
        place: Place,
        /// The route; needed only if there are several
        #[arg(long, value_name = "NAME")]
        route: Option<String>,
        /// 0 to 100
        percent: Share,
    },
    /// Send every new request of a route to the old side at once
    Stop {
        #[command(flatten)]
        place: Place,
        /// The route; needed only if there are several
        #[arg(long, value_name = "NAME")]
        route: Option<String>,
        /// Why, for the log and for who clears it
        #[arg(long, default_value = "by hand", value_name = "WHY")]
        reason: String,
    },
    /// Ask both sides each path and query of a file, and say what differs; exits with 0 if nothing
    /// does, with 1 if something does, with 2 if not all was compared
    Compare {
        #[command(flatten)]
        place: Place,
        /// The route [default: for each line, the route of its path]
        #[arg(long, value_name = "NAME")]
        route: Option<String>,
        /// One path and query per line
        file: PathBuf,
    },
    /// Write and check the configuration without starting anything
    Check(Place),
    /// Run a command beside a stack on free ports, which ends with the command
    With(with::With),
}

/// Where the stack is. The parts inherit every other variable (`QR_LOG_LEVEL=debug`).
#[derive(Args, Clone, Debug)]
struct Place {
    /// Folder of configuration, logs and data [default: run, in the repository]
    #[arg(long, env = "STACK_RUN_DIR", value_name = "FOLDER")]
    run_dir: Option<PathBuf>,
    #[command(flatten)]
    addresses: Addresses,
    /// Processes of legacy-node [default: one per processor]
    #[arg(long, env = "STACK_OLD_WORKERS", value_name = "COUNT")]
    old_workers: Option<usize>,
    /// The folder of route files [default: proxy/routes]
    #[arg(long, value_name = "FOLDER")]
    routes: Option<PathBuf>,
    /// The app, if it already runs: nginx, edge, shadow and Prometheus start around it and --new-url
    #[arg(long, value_name = "URL", requires = "new_url")]
    old_url: Option<SideUrl>,
    /// What takes over, if it already runs
    #[arg(long, value_name = "URL", requires = "old_url")]
    new_url: Option<SideUrl>,
    /// The new side's share of each route at start, in percent
    /// [default: the last one, at first the route file's]
    #[arg(long, env = "STACK_SPLIT", value_name = "PERCENT")]
    split: Option<Share>,
    /// What the split hashes at start: request, client, query, parameter:NAME, header:NAME or
    /// cookie:NAME [default: the last one, at first the route file's]
    #[arg(long, env = "STACK_SPLIT_KEY", value_name = "KEY")]
    split_key: Option<Key>,
    /// Share of all requests that nginx mirrors to the shadow at start, in percent
    /// [default: the last one, at first the route file's]
    #[arg(long, env = "STACK_MIRROR", value_name = "PERCENT")]
    mirror: Option<Share>,
    /// Share of the requests that are logged, in percent; failures and fallbacks always are
    #[arg(long, env = "NGINX_LOG_PERCENT", default_value_t = Share::ALL, value_name = "PERCENT")]
    log_share: Share,
    #[command(flatten)]
    binary: Binary,
}

#[derive(Args, Clone, Debug)]
struct Binary {
    /// qr-service's binary [default: beside this program]
    #[arg(long, env = "STACK_QR_SERVICE", value_name = "FILE")]
    qr_service: Option<PathBuf>,
}

impl Binary {
    fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.qr_service {
            Some(path) => std::path::absolute(path).context("STACK_QR_SERVICE"),
            None => Ok(std::env::current_exe()?.with_file_name("qr-service")),
        }
    }
}

impl Place {
    fn settings(self) -> anyhow::Result<Settings> {
        let run_dir = match &self.run_dir {
            Some(folder) => std::path::absolute(folder).context("STACK_RUN_DIR")?,
            None => repository().join("run"),
        };
        let qr_service = self.binary.path()?;
        Ok(Settings {
            root: repository().to_owned(),
            run_dir,
            addresses: self.addresses,
            routes: routes(self.routes.as_deref())?,
            sides: sides(self.old_url, self.new_url),
            split: self.split,
            split_key: self.split_key,
            mirror: self.mirror,
            log_share: self.log_share,
            engine: None,
            old_workers: self.old_workers.unwrap_or_else(stack::render::processors),
            shadow: beside(&qr_service, "shadow"),
            edge: beside(&qr_service, "edge"),
            relay_service: beside(&qr_service, "relay-service"),
            relay_home: beside(&qr_service, "relay-home"),
            ramp: beside(&qr_service, "ramp"),
            qr_service,
        })
    }
}

/// Exit code of `compare` where nothing was compared, as of `shadow compare`: 1 means a difference.
const NOT_COMPARED: u8 = 2;

impl Arguments {
    /// The exit code if the command fails.
    pub(crate) fn failure(&self) -> ExitCode {
        match self.command {
            Command::Compare { .. } => ExitCode::from(NOT_COMPARED),
            _ => ExitCode::FAILURE,
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Up(place) => background::up(&place.settings()?),
            Command::Down(place) => background::down(&place.settings()?),
            Command::Status(place) => background::status(&place.settings()?),
            Command::Logs { place, follow, parts } => {
                background::logs(&place.settings()?, follow, &parts)
            }
            Command::Split { place, route, percent } => {
                background::split(&place.settings()?, route.as_deref(), percent)
            }
            Command::Stop { place, route, reason } => {
                background::stop(&place.settings()?, route.as_deref(), &reason)
            }
            Command::Compare { place, route, file } => {
                background::compare(&place.settings()?, route.as_deref(), &file)
            }
            Command::Check(place) => background::check(&place.settings()?),
            Command::With(with) => with.run(),
        }
    }
}
