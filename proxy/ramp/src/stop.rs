//! The stop of a route: while it is in force, every new request of the route goes to its old side.
//!
//! nginx looks for the file `stop/NAME` before it splits a request and before it honours a header, so a
//! stop needs no reload, no lock, no run and no Prometheus. The folder `stop` may be on a disk of its own,
//! best in memory, so that a full or hung disk of the other files cannot hold up a stop.
//!
//! `stop.json` in the route's folder has the time and the reason, and brings the stop back when nginx
//! starts again. On a cluster that is the key `NAME.stop` of the ConfigMap; `ramp follow` makes the file
//! beside each nginx.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use route::Share;

use crate::change::{change, is_at};
use crate::lock::Lock;
use crate::log::{Decision, record};
use crate::nginx::{At, Nginx, prepared, route_dir};
use crate::split::{self, Wanted, current};
use crate::{files, metrics};

/// nginx looks at the file with each request, so this is generous.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(5);
/// A follower asks the cluster twice a second; a pod that is new may take longer.
const IN_FORCE_IN_CLUSTER: Duration = Duration::from_secs(60);
/// Answers in a row that say so, each over a new connection: any worker may take it.
const ANSWERS: usize = 8;
/// How long a stop waits for the disk that keeps it over a restart.
const KEPT_WITHIN: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// Why and since when a route is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// When it was stopped, as RFC 3339.
    pub time: String,
    /// Why, in words.
    pub reason: String,
}

impl Stop {
    pub(crate) fn now(reason: &str) -> Self {
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Stop { time, reason: reason.to_owned() }
    }

    /// The stop that [`Stop::text`] described. Any other text is a reason: somebody may have written it
    /// with kubectl.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text)
            .unwrap_or_else(|_| Stop { time: String::new(), reason: text.trim().to_owned() })
    }

    /// Since when and why, for people. A full disk takes no reason, and one that is slow has none yet.
    pub fn said(&self) -> String {
        let reason =
            if self.reason.is_empty() { "no reason is written down" } else { &self.reason };
        match &*self.time {
            "" => format!("stopped: {reason}"),
            time => format!("stopped since {time}: {reason}"),
        }
    }

    /// The text in `stop.json` and in the ConfigMap.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// nginx' folder of stops.
pub(crate) fn folder(nginx_dir: &Path) -> PathBuf {
    nginx_dir.join("stop")
}

/// The file that nginx looks for.
fn file(nginx_dir: &Path, route: &str) -> PathBuf {
    folder(nginx_dir).join(route)
}

fn kept_file(route_dir: &Path) -> PathBuf {
    route_dir.join("stop.json")
}

/// Whether the file is there, beside this nginx.
pub(crate) fn is_here(nginx_dir: &Path, route: &str) -> bool {
    file(nginx_dir, route).exists()
}

/// Since when this nginx has been stopped; `None` if it is not. A file in memory is younger than its stop
/// after a restart, so the one on disk counts where it is there.
pub(crate) fn since(nginx_dir: &Path, route: &str) -> Option<SystemTime> {
    let modified = |file: PathBuf| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let here = modified(file(nginx_dir, route))?;
    Some(modified(kept_file(&route_dir(nginx_dir, route))).unwrap_or(here))
}

/// The stop that is in force; `None` if there is none.
///
/// # Errors
/// If the cluster does not answer.
pub fn in_force(nginx: &Nginx) -> anyhow::Result<Option<Stop>> {
    match &nginx.at {
        At::Here(_) if !is_here(&nginx.dir, &nginx.route) => Ok(None),
        At::Here(_) => {
            let kept = fs::read_to_string(kept_file(&nginx.route_dir())).unwrap_or_default();
            Ok(Some(Stop::read(&kept)))
        }
        At::Cluster(cluster) => cluster.stop(&nginx.route),
    }
}

/// Refuses what must not happen while a route is stopped.
///
/// # Errors
/// If it is stopped; says since when and why.
pub(crate) fn refuse(nginx: &Nginx) -> anyhow::Result<()> {
    if let Some(stop) = in_force(nginx)? {
        bail!("{} is {}; `ramp clear --reason WHY` ends that", nginx.route, stop.said());
    }
    Ok(())
}

/// Makes the folder of stops before nginx starts, as a link to `place` where one is given, and puts the
/// stops back that were in force.
///
/// # Errors
/// If the folder cannot be made.
pub fn prepare(nginx_dir: &Path, place: Option<&Path>) -> anyhow::Result<()> {
    let folder = folder(nginx_dir);
    let name = || folder.display().to_string();
    match place {
        Some(place) => {
            fs::create_dir_all(place).with_context(|| place.display().to_string())?;
            match fs::read_link(&folder) {
                Ok(there) if there == place => {}
                Ok(_) => fs::remove_file(&folder).with_context(name)?,
                Err(_) if folder.is_dir() => fs::remove_dir_all(&folder).with_context(name)?,
                Err(_) => {}
            }
            if !folder.is_symlink() {
                std::os::unix::fs::symlink(place, &folder).with_context(name)?;
            }
        }
        None if folder.is_symlink() => {
            fs::remove_file(&folder).with_context(name)?;
            fs::create_dir_all(&folder).with_context(name)?;
        }
        None => fs::create_dir_all(&folder).with_context(name)?,
    }
    for route in prepared(nginx_dir) {
        put(nginx_dir, &route, kept_file(&route_dir(nginx_dir, &route)).exists())?;
    }
    Ok(())
}

/// Makes or removes the file that nginx looks for.
pub(crate) fn put(nginx_dir: &Path, route: &str, is_stopped: bool) -> anyhow::Result<()> {
    let file = file(nginx_dir, route);
    let done = match (is_stopped, file.exists()) {
        (true, false) => File::create(&file)
            .or_else(|_| {
                // The folder in memory is gone.
                let folder = folder(nginx_dir);
                fs::create_dir_all(fs::read_link(&folder).unwrap_or(folder))?;
                File::create(&file)
            })
            .map(drop),
        (false, true) => fs::remove_file(&file),
        _ => return Ok(()),
    };
    done.with_context(|| file.display().to_string())
}

/// Stops a route before nginx starts, since the cluster says so.
///
/// # Errors
/// If the file cannot be made.
pub fn keep(nginx_dir: &Path, route: &str) -> anyhow::Result<()> {
    put(nginx_dir, route, true)
}

/// Stops a route: returns once every nginx sends each new request of it to the old side, which takes
/// milliseconds here, and about a second on a cluster. Gives a warning if the stop is in force, but will
/// not outlast a restart.
///
/// # Errors
/// If nginx does not say that the route is stopped.
pub fn stop(nginx: &Nginx, reason: &str) -> anyhow::Result<Option<String>> {
    let stop = Stop::now(reason);
    match &nginx.at {
        At::Here(admin) => {
            put(&nginx.dir, &nginx.route, true)?;
            let served = || split::is_stopped(*admin, &nginx.route);
            wait(IN_FORCE_WITHIN, ANSWERS, served)
                .context("the file that stops it is there, but")?;
            Ok(keep_over_restart(nginx, stop))
        }
        At::Cluster(cluster) => {
            cluster.publish_stop(&nginx.route, Some(&stop))?;
            let served = || cluster.is_stopped(&nginx.route);
            wait(IN_FORCE_IN_CLUSTER, 2, served).context("the ConfigMap says stop, but")?;
            Ok(None)
        }
    }
}

fn wait(
    patience: Duration,
    answers: usize,
    is_stopped: impl Fn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + patience;
    let mut in_a_row = 0;
    while in_a_row < answers {
        let answer = is_stopped();
        if answer.as_ref().is_ok_and(|stopped| *stopped) {
            in_a_row += 1;
            continue;
        }
        in_a_row = 0;
        if Instant::now() > deadline {
            answer?;
            bail!("nginx does not stop the route");
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Keeps a stop over a restart, and logs it. A disk that hangs must not hold up a stop, so a thread of its
/// own writes, and is left behind where it takes too long.
fn keep_over_restart(nginx: &Nginx, stop: Stop) -> Option<String> {
    let nginx = nginx.clone();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let dir = nginx.route_dir();
        let kept = files::replace(&kept_file(&dir), &stop.text());
        let _ = sender.send(kept.map_err(|error| format!("{error:#}")));
        let share_percent = current(&dir).map_or(Share::NONE, |split| split.share_percent);
        let reason = &stop.reason;
        let decision =
            Decision { event: "stopped", run: None, step: None, share_percent, reason, gates: &[] };
        let _ = record(&dir, &decision).and_then(|()| metrics::write(&nginx.dir));
        let _ = sender.send(Ok(()));
    });
    let problem = match receiver.recv_timeout(KEPT_WITHIN) {
        Ok(Ok(())) => {
            let _ = receiver.recv_timeout(KEPT_WITHIN);
            return None;
        }
        Ok(Err(problem)) => problem,
        Err(_) => "the disk does not answer".to_owned(),
    };
    Some(format!("the stop is in force, but a restart of the machine would end it: {problem}"))
}

/// Ends a stop. The share becomes 0 first, so that this moves no request.
///
/// # Errors
/// If the route is not stopped, or the share cannot be set.
pub fn clear(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<Stop> {
    ensure!(!reason.trim().is_empty(), "--reason: say why the route may be split again");
    let stop = in_force(nginx)?.with_context(|| format!("{} is not stopped", nginx.route))?;
    lift(nginx, lock, reason)?;
    Ok(stop)
}

/// Does what [`clear`] does, whether the route is stopped or not.
pub(crate) fn lift(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<()> {
    let dir = nginx.route_dir();
    if !is_at(nginx, Share::NONE)? {
        let uninterrupted = std::sync::atomic::AtomicBool::new(false);
        change(nginx, lock, &Wanted::share(Share::NONE), &uninterrupted)?;
    }
    match &nginx.at {
        At::Here(_) => {
            let kept = kept_file(&dir);
            if kept.exists() {
                fs::remove_file(&kept).with_context(|| kept.display().to_string())?;
            }
            put(&nginx.dir, &nginx.route, false)?;
        }
        At::Cluster(cluster) => cluster.publish_stop(&nginx.route, None)?,
    }
    let decision = Decision {
        event: "cleared",
        run: None,
        step: None,
        share_percent: Share::NONE,
        reason,
        gates: &[],
    };
    record(&dir, &decision)?;
    metrics::write(&nginx.dir)
}
