//! The stack in the background: up, down, status, logs, split, check.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anstream::println;
use anyhow::{Context, ensure};
use ramp::{Share, Wanted};
use stack::supervisor::Supervisor;
use stack::{Part, Settings, preflight, readiness, render};

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
    let started = supervisor.start().and_then(|()| readiness::wait(settings, &supervisor, parts));
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
    }
    println!("  live page    http://{}/", at.proxy_admin);
    println!("  Prometheus   http://{}/prometheus/", at.proxy_admin);
    println!("  logs, data   {}", settings.run_dir.display());
    for name in ramp::prepared(&settings.nginx_dir()) {
        let nginx = settings.nginx(&name);
        if let (Ok(split), Ok(route)) = (ramp::current(&nginx.route_dir()), ramp::route_of(&nginx))
        {
            let share = split.share_percent;
            println!("  route {name:<6} {share}% of {} goes to the new side", route.file.path);
        }
    }
}

pub(super) fn down(settings: &Settings) -> anyhow::Result<ExitCode> {
    let supervisor = supervisor(settings);
    match supervisor.pid() {
        Some(_) => {
            supervisor.shutdown()?;
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
    let files: Vec<_> = wanted.iter().map(|&part| settings.log_of(part)).collect();
    let files: Vec<_> = files.into_iter().filter(|file| file.exists()).collect();
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
    let route = ramp::choose(ramp::prepared(&settings.nginx_dir()), route)?;
    ramp::set(&settings.nginx(&route), &Wanted::share(share), &AtomicBool::new(false))?;
    println!("{share}% of {route} goes to the new side.");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn check(settings: &Settings) -> anyhow::Result<ExitCode> {
    check_and_render(settings)?;
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
