//! The stop of a route, set by `carve rollback`. While it is in force, every new request of the route goes to its old
//! side.
//!
//! nginx looks for the file `stop/NAME` before it splits a request and before it honours a header, so a stop needs no
//! reload, no lock, no run and no Prometheus. The folder `stop` may be on a file system of its own, preferably in
//! memory, so that a full or hung disk cannot delay a stop. A spare file `stop/.NAME` exists in advance: stopping
//! renames it, which needs no disk space.
//!
//! A run or watcher that rolls back also creates the file first, and removes it once the share is back. This is called
//! a brake. The file's mode tells a brake from a stop by hand, which only `carve clear` removes.
//!
//! `stop.json` in the route's folder has the time and the reason, and restores the stop when nginx starts again. On a
//! cluster, the key `NAME.stop` of the ConfigMap does both, and `carve follow` creates the file beside each nginx.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anstream::eprintln;
use anyhow::Context;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::folder::{prepared, route_dir};

/// Why and since when a route is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// When it was stopped, as RFC 3339.
    pub time: String,
    /// Why, in words.
    pub reason: String,
    /// Who stopped it, as far as that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// Whether the stop is part of a rollback and ends once the share is back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_brake: bool,
}

/// The modes of the file. nginx only checks whether it exists.
const BRAKE: u32 = 0o600;
const STOP: u32 = 0o644;

impl Stop {
    pub(crate) fn now(actor: &str, reason: &str) -> Self {
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Stop { time, reason: reason.to_owned(), actor: actor.to_owned(), is_brake: false }
    }

    /// Parses the text of [`Stop::text`]. Any other text becomes the reason, since somebody may have written it with
    /// kubectl.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| {
            let reason = text.trim().to_owned();
            Stop { time: String::new(), reason, actor: String::new(), is_brake: false }
        })
    }

    /// Describes since when and why the route is stopped. The reason may be missing: a full disk does not store it, and
    /// a slow disk may not have stored it yet.
    pub fn said(&self) -> String {
        let reason = if self.reason.is_empty() { "no reason is recorded" } else { &self.reason };
        let by = if self.actor.is_empty() { String::new() } else { format!(" by {}", self.actor) };
        match &*self.time {
            "" => format!("stopped{by}: {reason}"),
            time => format!("stopped since {time}{by}: {reason}"),
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

/// The spare file while the route is not stopped. No route's name begins with a dot.
fn spare(nginx_dir: &Path, route: &str) -> PathBuf {
    folder(nginx_dir).join(format!(".{route}"))
}

pub(crate) fn kept_file(route_dir: &Path) -> PathBuf {
    route_dir.join("stop.json")
}

/// Whether the route is stopped at this nginx, by hand or by a brake.
pub(crate) fn is_here(nginx_dir: &Path, route: &str) -> bool {
    file(nginx_dir, route).exists()
}

/// Since when the route has been stopped at this nginx; `None` if it is not. After a restart the file in memory is
/// younger than the stop, so `stop.json` counts if it exists.
pub(crate) fn since(nginx_dir: &Path, route: &str) -> Option<SystemTime> {
    let modified = |file: PathBuf| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let here = modified(file(nginx_dir, route))?;
    Some(modified(kept_file(&route_dir(nginx_dir, route))).unwrap_or(here))
}

/// Creates the folder of stops before nginx starts, as a link to `place` if given and nobody else may write there, and
/// restores the stops that were in force. An error names the file or folder.
pub fn prepare(nginx_dir: &Path, place: Option<&Path>) -> anyhow::Result<()> {
    let folder = folder(nginx_dir);
    let name = || folder.display().to_string();
    if let Some(place) = place {
        fs::create_dir_all(place).with_context(|| place.display().to_string())?;
    }
    match place.filter(|place| is_ours(place)) {
        Some(place) => {
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
        None => {
            if let Some(place) = place {
                let place = place.display();
                eprintln!("carve: others may write to {place}: stops are kept in {}", name());
            }
            if folder.is_symlink() {
                fs::remove_file(&folder).with_context(name)?;
            }
            fs::create_dir_all(&folder).with_context(name)?;
        }
    }
    for route in prepared(nginx_dir) {
        put(nginx_dir, &route, kept_file(&route_dir(nginx_dir, &route)).exists())?;
        reserve(nginx_dir, &route)?;
    }
    Ok(())
}

/// Whether this is a folder that nobody else may write to. Anybody may make one of any name in /dev/shm.
fn is_ours(place: &Path) -> bool {
    let is_alone = |it: &fs::Metadata| it.uid() == geteuid().as_raw() && it.mode() & 0o022 == 0;
    place.symlink_metadata().is_ok_and(|it| it.is_dir() && is_alone(&it))
}

/// Creates the spare file for a later stop.
pub(crate) fn reserve(nginx_dir: &Path, route: &str) -> anyhow::Result<()> {
    let spare = spare(nginx_dir, route);
    if spare.exists() || is_here(nginx_dir, route) {
        return Ok(());
    }
    File::create(&spare).map(drop).with_context(|| spare.display().to_string())
}

/// Creates or removes the file that nginx looks for.
pub fn put(nginx_dir: &Path, route: &str, is_stopped: bool) -> anyhow::Result<()> {
    put_as(nginx_dir, route, is_stopped.then_some(STOP))
}

/// Creates, changes or removes the file to match `stop`. Returns whether that changed anything.
pub(crate) fn follow(nginx_dir: &Path, route: &str, stop: Option<&Stop>) -> anyhow::Result<bool> {
    let wanted = stop.map(|stop| if stop.is_brake { BRAKE } else { STOP });
    if mode(&file(nginx_dir, route)) == wanted {
        return Ok(false);
    }
    put_as(nginx_dir, route, wanted)?;
    Ok(true)
}

fn put_as(nginx_dir: &Path, route: &str, wanted: Option<u32>) -> anyhow::Result<()> {
    let (file, spare) = (file(nginx_dir, route), spare(nginx_dir, route));
    let done = match wanted {
        Some(mode) => {
            let set = |file: &Path| fs::set_permissions(file, Permissions::from_mode(mode));
            // Sets the mode before the rename, so that nobody sees a brake as a stop.
            let _ = set(&spare);
            // Setting the mode fails if the file was a brake that was released just now; the second try creates it.
            let put = || place(nginx_dir, route).and_then(|()| set(&file));
            put().or_else(|_| put())
        }
        None if file.exists() => fs::rename(&file, spare),
        None => Ok(()),
    };
    done.with_context(|| file.display().to_string())
}

/// Creates the file as a brake, unless the route is already stopped.
pub(crate) fn brake(nginx_dir: &Path, route: &str) -> anyhow::Result<()> {
    if is_here(nginx_dir, route) {
        return Ok(());
    }
    // Sets the mode before the rename: after it, somebody may already have turned the brake into a stop.
    let _ = fs::set_permissions(spare(nginx_dir, route), Permissions::from_mode(BRAKE));
    place(nginx_dir, route).with_context(|| file(nginx_dir, route).display().to_string())
}

/// Removes a brake. Leaves a stop by hand in place.
pub(crate) fn release(nginx_dir: &Path, route: &str) -> anyhow::Result<()> {
    let (file, spare) = (file(nginx_dir, route), spare(nginx_dir, route));
    if mode(&file) != Some(BRAKE) {
        return Ok(());
    }
    put(nginx_dir, route, false)?;
    // Somebody may have turned the brake into a stop between the check and the removal.
    if mode(&spare) == Some(STOP) { put(nginx_dir, route, true) } else { Ok(()) }
}

/// Whether a route is stopped here by a brake.
pub(crate) fn is_brake(nginx_dir: &Path, route: &str) -> bool {
    mode(&file(nginx_dir, route)) == Some(BRAKE)
}

fn mode(file: &Path) -> Option<u32> {
    file.metadata().ok().map(|metadata| metadata.permissions().mode() & 0o777)
}

/// Makes sure that the file exists: by renaming the spare file, or else by creating it.
fn place(nginx_dir: &Path, route: &str) -> io::Result<()> {
    let file = file(nginx_dir, route);
    if file.exists() {
        return Ok(());
    }
    if fs::rename(spare(nginx_dir, route), &file).is_err() {
        let make = || File::options().write(true).create_new(true).mode(BRAKE).open(&file);
        let made = make().or_else(|_| {
            // The folder in memory may be gone, so create it and try again.
            let folder = folder(nginx_dir);
            fs::create_dir_all(fs::read_link(&folder).unwrap_or(folder))?;
            make()
        });
        made.map(drop).or_else(|problem| if file.exists() { Ok(()) } else { Err(problem) })?;
    }
    // Only the metrics need the time.
    let _ = File::open(&file).and_then(|file| file.set_modified(SystemTime::now()));
    Ok(())
}

#[cfg(test)]
mod tests;
