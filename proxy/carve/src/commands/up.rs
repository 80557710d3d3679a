//! `carve up`, `apply`, `down`, `part` and `logs`, and `supervise`, which `up` starts in the background.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context, ensure};
use carve::local::supervisor::Supervisor;
use carve::local::{
    Addresses, Key, Settings, Share, Sides, apply, preflight, readiness, render, supervise,
};
use clap::{Args, ValueEnum};
use rollout::state::{Back, By};
use rollout::{SplitChange, Webhooks};
use route::SideUrl;
use service_kit::arguments::Usage;
use service_kit::telemetry;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::place::RunDir;

/// How long `down` waits for a run to return to its start share.
const RUN_ENDS_WITHIN: Duration = Duration::from_secs(15);

const NOT_STARTED: &str = "the stack did not start; nothing is left running";

const EXAMPLES: &str = "\
Examples:
  carve up routes --old http://127.0.0.1:4000 --new http://127.0.0.1:4001
  carve up --parts deploy/demonstration.toml";

/// The parts inherit every other variable (`QR_LOG_LEVEL=debug`).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {
    /// The folder of route files [default: routes, or that of --parts]
    routes: Option<PathBuf>,
    /// The app, if it already runs; needs --new
    #[arg(long = "old", value_name = "URL", requires = "new_url")]
    old_url: Option<SideUrl>,
    /// The server that takes over, if it already runs; needs --old
    #[arg(long = "new", value_name = "URL", requires = "old_url")]
    new_url: Option<SideUrl>,
    #[command(flatten)]
    parts: PartsFile,
    /// Write and check the configuration, and start nothing
    #[arg(long)]
    check: bool,
    /// Stay in the foreground until a signal or `carve down`; for containers
    #[arg(long, conflicts_with = "check")]
    foreground: bool,
    #[command(flatten)]
    run: RunDir,
    #[command(flatten)]
    addresses: Addresses,
    /// The new side's share of each route at start, in percent
    /// [default: the last share set here, or else the route file's]
    #[arg(long, env = "STACK_SPLIT", value_name = "PERCENT")]
    split: Option<Share>,
    /// The value that assigns a request to a side at start: request, client, query, parameter:NAME, header:NAME or
    /// cookie:NAME [default: the last key set here, or else the route file's]
    #[arg(long, env = "STACK_SPLIT_KEY", value_name = "KEY")]
    split_key: Option<Key>,
    /// Share of all requests that nginx mirrors to the shadow at start, in percent
    /// [default: the last one set here, or else the route file's]
    #[arg(long, env = "STACK_MIRROR", value_name = "PERCENT")]
    mirror: Option<Share>,
    /// Share of the requests to log, in percent; failures and fallbacks are always logged
    #[arg(long, env = "NGINX_LOG_PERCENT", default_value_t = Share::ALL, value_name = "PERCENT")]
    log_share: Share,
    /// The other machines, whose proxies follow this one (RAMP_FROM there); this machine's Prometheus scrapes them too
    #[arg(long, env = "STACK_OTHERS", value_name = "HOST,...", value_delimiter = ',')]
    others: Vec<String>,
}

/// The file of further parts.
#[derive(Args, Clone, Debug)]
pub(crate) struct PartsFile {
    /// A file of programs to start beside carve's own, both sides among them: those of the demonstration
    #[arg(long = "parts", env = "STACK_PARTS", value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}

impl Up {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (is_check, in_foreground) = (self.check, self.foreground);
        let settings = self.settings()?;
        if is_check {
            check_and_render(&settings)?;
            if let Some(stops) =
                settings.stops_dir().filter(|_| supervisor(&settings).pid().is_none())
            {
                let _ = std::fs::remove_dir_all(stops);
            }
            println!("The configuration in {} is valid.", settings.run_dir.display());
            return Ok(ExitCode::SUCCESS);
        }
        up(&settings, in_foreground)
    }

    /// The settings of a unit, which starts the stack again and again: none that would undo what was set since.
    pub(super) fn unit_settings(self) -> anyhow::Result<Settings> {
        let is_once = self.check || self.foreground;
        let is_first = self.split.is_some() || self.split_key.is_some() || self.mirror.is_some();
        let not = "give none of --check, --foreground, --split, --split-key and --mirror to a unit";
        ensure!(!is_once && !is_first, Usage(not.to_owned()));
        self.settings()
    }

    fn settings(self) -> anyhow::Result<Settings> {
        let sides = self.old_url.zip(self.new_url).map(|(old, new)| Sides { old, new });
        let new = Settings::new(self.run.path()?, self.addresses, std::env::current_exe()?);
        let new = match (&self.parts.file, &sides) {
            (Some(file), None) => new.with_apps(file, false)?,
            (None, Some(_)) => Settings { routes: std::path::absolute("routes")?, ..new },
            _ => return Err(Usage("give either --old and --new, or --parts".to_owned()).into()),
        };
        let routes =
            self.routes.map(std::path::absolute).transpose()?.unwrap_or(new.routes.clone());
        let (share, key, mirror) = (self.split, self.split_key, self.mirror);
        let wanted = SplitChange { share, key, mirror, held: None };
        let (log_share, others) = (self.log_share, self.others);
        Ok(Settings { routes, sides, wanted, log_share, others, ..new })
    }
}

pub(crate) fn supervisor(settings: &Settings) -> Supervisor {
    Supervisor::new(settings.run_dir.clone())
}

fn up(settings: &Settings, in_foreground: bool) -> anyhow::Result<ExitCode> {
    let supervisor = supervisor(settings);
    if supervisor.pid().is_some() {
        let states = supervisor.states()?.into_iter();
        let parts: Vec<String> = states.map(|state| state.part).collect();
        readiness::wait(settings, &supervisor, &parts)
            .context("the stack already runs, but not every part is ready")?;
        println!("Running already (to start with other settings, run `carve down` first).");
        print_urls(settings)?;
        print_shares(settings);
        return Ok(ExitCode::SUCCESS);
    }
    // A stack that once started comes back without them, as after a boot where one is still down.
    if !(in_foreground && Settings::started(settings.run_dir.clone())?.sides == settings.sides) {
        preflight::check_sides(settings)?;
    }
    check_and_render(settings)?;
    // Ends what is left of a killed one, which would hold the ports.
    supervisor.shutdown()?;
    preflight::check_ports(settings)?;
    if in_foreground {
        return foreground(settings.clone());
    }
    let started =
        supervisor.start(&settings.carve).and_then(|()| wait_and_print(settings, &supervisor));
    if let Err(error) = started {
        supervisor.shutdown().with_context(|| format!("{error:#}"))?;
        return Err(error.context(NOT_STARTED));
    }
    Ok(ExitCode::SUCCESS)
}

fn wait_and_print(settings: &Settings, supervisor: &Supervisor) -> anyhow::Result<()> {
    readiness::wait(settings, supervisor, &settings.parts()?)?;
    print_urls(settings)?;
    print_shares(settings);
    Ok(())
}

/// Supervises the parts in this process, until a signal or until a part fails to start.
fn foreground(settings: Settings) -> anyhow::Result<ExitCode> {
    let run_dir = settings.run_dir.clone();
    let (end, ended) = channel();
    let signalled = end.clone();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    thread::spawn(move || {
        let _ = signals.forever().next();
        let _ = signalled.send(Ok(()));
    });
    thread::spawn(move || {
        if let Err(error) = wait_and_print(&settings, &supervisor(&settings)) {
            let _ = end.send(Err(error.context(NOT_STARTED)));
        }
    });
    // `recv` cannot fail: the thread that waits for a signal keeps its sender until one arrives.
    supervise::run(&run_dir, move || ended.recv()?)?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Args, Debug)]
pub(crate) struct Supervise {
    #[command(flatten)]
    run: RunDir,
}

impl Supervise {
    /// Supervises the parts until a signal or `carve down`. It runs in a session of its own, so that signals to the
    /// process group of `carve up` do not reach it.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        // Fails if this process already leads its group.
        let _ = rustix::process::setsid();
        let _logging = telemetry::init("carve", tracing::Level::INFO)?;
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
        supervise::run(&self.run.path()?, move || {
            let _ = signals.forever().next();
            Ok(())
        })
    }
}

fn check_and_render(settings: &Settings) -> anyhow::Result<()> {
    preflight::check_tools(settings)?;
    preflight::check_folders(settings)?;
    render::render(settings)?;
    settings.machine().check()
}

/// Prints the URLs to open.
pub(super) fn print_urls(settings: &Settings) -> anyhow::Result<()> {
    let at = &settings.addresses;
    println!("  the app      http://{}/", at.proxy);
    for (name, url) in render::urls_to_open(&settings.run_dir)? {
        println!("  {name:<12} {url}");
    }
    println!("  live page    http://{}/", at.proxy_admin);
    println!("  Prometheus   http://{}/prometheus/", at.proxy_admin);
    println!("  logs, data   {}", settings.run_dir.display());
    if let Err(reason) = settings.new_socket() {
        println!("  slower       nginx reaches the new side over TCP: {reason}");
    }
    Ok(())
}

fn print_shares(settings: &Settings) {
    for name in rollout::prepared(&settings.nginx_dir()) {
        let nginx = settings.nginx(&name);
        if let (Ok(split), Ok(route)) = (rollout::current(&nginx.route_dir()), nginx.route_file()) {
            let (share, path) = (split.share_percent, route.where_it_is());
            // A stop keeps the share but overrides it.
            let goes = match rollout::in_force(&nginx) {
                Ok(Some(stop)) => format!("{}; all of {path} goes to the old side", stop.said()),
                _ => format!("{share}% of {path} goes to the new side"),
            };
            println!("  route {name:<6} {goes}");
        }
    }
}

const OF_APPLY: &str = "\
Example:
  carve apply

Existing routes keep their share, and the share of --mirror unless shadow.percent has changed. The sides' addresses and the set of parts stay as `carve up` started them.";

#[derive(Args, Debug)]
#[command(after_help = OF_APPLY)]
pub(crate) struct Apply {
    #[command(flatten)]
    run: RunDir,
}

impl Apply {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let exchanged = apply::apply(&self.run.started()?)?;
        for (routes, what) in [
            (&exchanged.added, "new"),
            (&exchanged.changed, "changed"),
            (&exchanged.removed, "removed"),
        ] {
            routes.iter().for_each(|route| println!("  route {route:<6} {what}"));
        }
        let is_same = exchanged == rollout::Changes::default();
        println!("{}", if is_same { "Nothing has changed." } else { "In force." });
        Ok(())
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve down")]
pub(crate) struct Down {
    #[command(flatten)]
    run: RunDir,
}

impl Down {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let settings = self.run.started()?;
        let supervisor = supervisor(&settings);
        if supervisor.pid().is_some() {
            for route in rollout::prepared(&settings.nginx_dir()) {
                end_run(&settings, &route);
            }
        }
        if !supervisor.shutdown()? {
            println!("Nothing runs in {}.", settings.run_dir.display());
            return Ok(ExitCode::SUCCESS);
        }
        // A stop in force survives this: `up` restores it from the route's folder.
        if let Some(stops) = settings.stops_dir() {
            let _ = std::fs::remove_dir_all(stops);
        }
        println!("Stopped. Data stays in {}.", settings.data_dir().display());
        Ok(ExitCode::SUCCESS)
    }
}

/// Ends a route's run at its start share. Prints an error that names the process if the run does not answer.
fn end_run(settings: &Settings, route: &str) {
    let nginx = settings.nginx(route).acting(By::itself("carve down"), Webhooks::default());
    let Some(holder) = rollout::holder(&nginx.route_dir()) else { return };
    match rollout::run::end(&nginx, Back::Start, RUN_ENDS_WITHIN) {
        Ok(share) => println!("The run of {route} has ended; {share}% goes to the new side."),
        Err(error) => eprintln!("carve: {route}: {error:#}; it is {holder}"),
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve part restart shadow")]
pub(crate) struct OnPart {
    order: Order,
    /// The part's name, as in `carve status`
    part: String,
    #[command(flatten)]
    run: RunDir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Stop the part and wait until it has ended; it stays stopped
    Stop,
    /// Start the part and wait until it is ready
    Start,
    /// Stop the part, then start it and wait until it is ready
    Restart,
}

impl OnPart {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (settings, part) = (self.run.started()?, &self.part);
        check_part(part, &settings.parts()?)?;
        let supervisor = supervisor(&settings);
        if self.order != Order::Start {
            supervisor.stop_part(part)?;
        }
        if self.order != Order::Stop {
            supervisor.start_part(part)?;
            readiness::wait(&settings, &supervisor, &[self.part])?;
        }
        Ok(())
    }
}

fn check_part(name: &String, parts: &[String]) -> anyhow::Result<()> {
    let names = || parts.join(", ");
    ensure!(parts.contains(name), "there is no part {name:?}; the parts are {}", names());
    Ok(())
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve logs --follow nginx")]
pub(crate) struct Logs {
    /// Keep printing new lines
    #[arg(short, long)]
    follow: bool,
    /// Names of parts [default: all]
    parts: Vec<String>,
    #[command(flatten)]
    run: RunDir,
}

impl Logs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let settings = self.run.started()?;
        let parts = settings.parts()?;
        self.parts.iter().try_for_each(|name| check_part(name, &parts))?;
        let wanted = if self.parts.is_empty() { parts } else { self.parts };
        let mut files: Vec<_> = wanted.iter().map(|part| settings.log_of(part)).collect();
        if wanted.iter().any(|part| matches!(part.as_str(), "nginx" | "edge")) {
            files.push(settings.requests_log());
        }
        files.retain(|file| file.exists());
        ensure!(!files.is_empty(), "no logs in {}", settings.run_dir.display());
        let mut tail = std::process::Command::new("tail");
        tail.args(["-n", "20"]);
        if self.follow {
            tail.arg("-F");
        }
        Err(tail.args(files).exec()).context("tail")
    }
}
