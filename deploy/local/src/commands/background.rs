//! The stack in the background: up, down, status, logs, split, check.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context, ensure};
use ramp::state::Back;
use ramp::{Share, Wanted};
use stack::supervisor::Supervisor;
use stack::{Part, Settings, preflight, readiness, render};

/// How long `down` waits for a run to go back.
const RUN_ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Exit code of `status` unless every part is ready, as in LSB init scripts.
const NOT_RUNNING: u8 = 3;

fn supervisor(settings: &Settings) -> Supervisor {
    Supervisor::new(render::supervisord_conf(settings))
}

pub(super) fn up(settings: &Settings) -> anyhow::Result<ExitCode> {
    let supervisor = supervisor(settings);
    if supervisor.pid().is_some() {
        let parts: Vec<Part> = supervisor.states()?.into_iter().map(|(part, _)| part).collect();
        readiness::wait(settings, &supervisor, &parts)
            .context("it runs already, but not every part is ready")?;
        println!("Running already (make down first, to apply changes).");
        print_urls(settings, parts.contains(&Part::QrService));
        return Ok(ExitCode::SUCCESS);
    }
    preflight::check_sides(settings)?;
    check_and_render(settings)?;
    preflight::check_ports(settings)?;
    let parts = settings.parts();
    let started = supervisor.start().and_then(|()| readiness::wait(settings, &supervisor, &parts));
    if let Err(error) = started {
        supervisor.shutdown().with_context(|| format!("{error:#}"))?;
        return Err(error.context("the stack did not start; nothing is left running"));
    }
    print_urls(settings, settings.sides.is_none());
    Ok(ExitCode::SUCCESS)
}

fn check_and_render(settings: &Settings) -> anyhow::Result<()> {
    preflight::check_tools(settings)?;
    preflight::check_folders(settings)?;
    render::render(settings)?;
    settings.nginx("").check()?;
    preflight::check_prometheus(&settings.run_dir)
}

/// The addresses to open, and each route's share. `ours` is whether our own two sides run.
fn print_urls(settings: &Settings, ours: bool) {
    let at = &settings.addresses;
    println!("  the app      http://{}/", at.proxy);
    if ours {
        println!("  a QR code    http://{}/qrcode?text=https://example.com/", at.proxy);
        println!("  QR codes     http://{}/v1/", at.proxy);
    }
    if settings.has_relay() && ours {
        println!(
            "  the relay    curl -T FILE http://{0}/p/KEY, and curl http://{0}/p/KEY",
            at.proxy
        );
    }
    println!("  live page    http://{}/", at.proxy_admin);
    println!("  Prometheus   http://{}/prometheus/", at.proxy_admin);
    println!("  logs, data   {}", settings.run_dir.display());
    if ours && let Err(reason) = settings.new_socket() {
        println!("  slower       nginx reaches qr-service over TCP: {reason}");
    }
    for name in ramp::prepared(&settings.nginx_dir()) {
        let nginx = settings.nginx(&name);
        if let (Ok(split), Ok(route)) = (ramp::current(&nginx.route_dir()), ramp::route_of(&nginx))
        {
            let (share, path) = (split.share_percent, &route.file.path);
            // A stop keeps the share, which says nothing meanwhile.
            let goes = match ramp::in_force(&nginx) {
                Ok(Some(stop)) => format!("{}; all of {path} goes to the old side", stop.said()),
                _ => format!("{share}% of {path} goes to the new side"),
            };
            println!("  route {name:<6} {goes}");
        }
    }
}

pub(super) fn down(settings: &Settings) -> anyhow::Result<ExitCode> {
    let supervisor = supervisor(settings);
    match supervisor.pid() {
        Some(_) => {
            for route in ramp::prepared(&settings.nginx_dir()) {
                end_run(settings, &route);
            }
            supervisor.shutdown()?;
            // A stop that is in force comes back with `up`.
            if let Some(stops) = settings.stops_dir() {
                let _ = std::fs::remove_dir_all(stops);
            }
            println!("Stopped. Data stays in {}.", settings.data_dir().display());
        }
        None => println!("Nothing runs in {}.", settings.run_dir.display()),
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status(settings: &Settings) -> anyhow::Result<ExitCode> {
    let supervisor = supervisor(settings);
    if supervisor.pid().is_none() {
        println!("Nothing runs in {}.", settings.run_dir.display());
        return Ok(ExitCode::from(NOT_RUNNING));
    }
    let mut all_ready = true;
    let states = supervisor.states()?;
    let ours = states.iter().any(|(part, _)| *part == Part::QrService);
    for (part, state) in states {
        let ready = readiness::is_ready(settings, part);
        all_ready &= ready;
        let ready = if ready { "ready" } else { "not ready" };
        println!("{:<15} {ready:<9} {state}", part.name());
    }
    print_urls(settings, ours);
    Ok(if all_ready { ExitCode::SUCCESS } else { ExitCode::from(NOT_RUNNING) })
}

pub(super) fn logs(
    settings: &Settings,
    follow: bool,
    names: &[String],
) -> anyhow::Result<ExitCode> {
    let part = |name: &String| {
        let part = Part::ALL.into_iter().find(|part| part.name() == name);
        let names = || Part::ALL.map(Part::name).join(", ");
        part.with_context(|| format!("there is no part {name:?}; the parts are {}", names()))
    };
    let wanted: Vec<Part> = match names {
        [] => Part::ALL.to_vec(),
        names => names.iter().map(part).collect::<anyhow::Result<_>>()?,
    };
    let mut files: Vec<_> = wanted.iter().map(|&part| settings.log_of(part)).collect();
    if wanted.iter().any(|part| matches!(part, Part::Nginx | Part::Edge)) {
        files.push(settings.requests_log());
    }
    files.retain(|file| file.exists());
    ensure!(!files.is_empty(), "no logs in {}", settings.run_dir.display());
    let mut tail = std::process::Command::new("tail");
    tail.args(["-n", "20"]);
    if follow {
        tail.arg("-F");
    }
    Err(tail.args(files).exec()).context("tail")
}

pub(super) fn split(
    settings: &Settings,
    route: Option<&str>,
    share: Share,
) -> anyhow::Result<ExitCode> {
    let runs = supervisor(settings).pid().is_some();
    ensure!(runs, "nothing runs in {}", settings.run_dir.display());
    let route = ramp::choose_here(&settings.nginx_dir(), route)?;
    let nginx = settings.nginx(&route);
    match ramp::set(&nginx, &Wanted::share(share), &AtomicBool::new(false))?.stopped {
        None => println!("{share}% of {route} goes to the new side."),
        Some(why) => println!(
            "{route} is stopped: every new request of it goes to the old side. The share could not be set: \
             {why}. make ramp ARGS='clear --reason WHY' ends the stop."
        ),
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn stop(
    settings: &Settings,
    route: Option<&str>,
    reason: &str,
) -> anyhow::Result<ExitCode> {
    let route = ramp::choose_here(&settings.nginx_dir(), route)?;
    let warning = ramp::stop(&settings.nginx(&route), reason)?;
    println!(
        "{route} is stopped: every new request of it goes to the old side. \
         make ramp ARGS='clear --reason WHY' ends that."
    );
    if let Some(warning) = warning {
        eprintln!("stack: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a route's run, back where it began. One that does not answer keeps its lock, and `up` names it.
fn end_run(settings: &Settings, route: &str) {
    let nginx = settings.nginx(route);
    let Some(holder) = ramp::holder(&nginx.route_dir()) else { return };
    match ramp::run::end(&nginx, Back::Start, RUN_ENDS_WITHIN) {
        Ok(share) => println!("The run of {route} has ended; {share}% goes to the new side."),
        Err(error) => eprintln!("stack: {route}: {error:#}; it is {holder}"),
    }
}

pub(super) fn check(settings: &Settings) -> anyhow::Result<ExitCode> {
    check_and_render(settings)?;
    if let Some(stops) = settings.stops_dir().filter(|_| supervisor(settings).pid().is_none()) {
        let _ = std::fs::remove_dir_all(stops);
    }
    println!("The configuration in {} is valid.", settings.run_dir.display());
    Ok(ExitCode::SUCCESS)
}

/// Becomes `shadow compare`, with the routes and sides that `up` wrote down.
pub(super) fn compare(
    settings: &Settings,
    route: Option<&str>,
    file: &Path,
) -> anyhow::Result<ExitCode> {
    let started = render::started_with(settings)?;
    let mut shadow = std::process::Command::new(&settings.shadow);
    shadow.arg("compare").arg("--file").arg(file).arg("--routes").arg(&started.routes);
    shadow.args(["--old", &started.old, "--new", &started.new]);
    shadow.args(route.into_iter().flat_map(|route| ["--route", route]));
    Err(shadow.exec()).with_context(|| settings.shadow.display().to_string())
}
