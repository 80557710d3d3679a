//! Replaces the routes of a running nginx and the files that it includes, completely or not at all.
//!
//! The new files replace the old ones, `nginx -t` checks them, and nginx reloads. If any of this fails, the old files
//! are put back, and nginx still serves them. No other change reloads nginx meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use route::Route;

use crate::folder::{become_kind, keep_route, other_mirror, prepared, route_dir};
use crate::lock::Lock;
use crate::machine::Machine;
use crate::split::{self, Split, SplitChange, current};
use crate::{files, metrics};

/// The routes that [`exchange`] added, changed and removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Routes that are new.
    pub added: Vec<String>,
    /// Routes whose files have changed.
    pub changed: Vec<String>,
    /// Routes that no longer exist.
    pub removed: Vec<String>,
    /// Whether only other files have changed, such as those made from `carve.toml`.
    pub others: bool,
}

/// Makes `nginx` serve the routes that `read` returns, with the names, below nginx' folder, and the texts of the files
/// that it includes. Reads them when it is its turn, so that what another process has just exchanged stays. Existing
/// routes keep their share, and the mirrored one unless the file's changes. Reloads even if no file changes, since a
/// certificate or an address may have. Fails, and changes nothing, if another process holds the lock of a changed route,
/// nginx refuses the files, or it does not load them in time.
pub fn exchange(
    nginx: &Machine,
    read: impl FnOnce() -> anyhow::Result<(Vec<Route>, Vec<(String, String)>)>,
) -> anyhow::Result<Changes> {
    let _turn = nginx.turn()?;
    let (routes, rendered) = read()?;
    let (exchanged, mut locks) = (difference(&nginx.dir, &routes, &rendered), Vec::new());
    for route in exchanged.changed.iter().chain(&exchanged.removed) {
        locks.push(Lock::take(&route_dir(&nginx.dir, route)).with_context(|| route.clone())?);
    }
    let mut kept = Backup { dir: nginx.dir.clone(), ..Backup::default() };
    let outcome = write(&mut kept, &exchanged, &routes, &rendered)
        .and_then(|()| nginx.check())
        .and_then(|()| nginx.reload()?.finish());
    if let Err(error) = outcome {
        kept.put_back().with_context(|| format!("{error:#}; and then"))?;
        return Err(error.context("nothing has changed"));
    }
    kept.forget()?;
    metrics::write(&nginx.dir)?;
    Ok(exchanged)
}

fn difference(dir: &Path, routes: &[Route], rendered: &[(String, String)]) -> Changes {
    let before = prepared(dir);
    let mut exchanged = Changes::default();
    for route in routes {
        let there = fs::read_to_string(route_dir(dir, &route.name).join("route.toml"));
        if !before.contains(&route.name) {
            exchanged.added.push(route.name.clone());
        } else if there.ok().as_ref() != Some(&route.text) {
            exchanged.changed.push(route.name.clone());
        }
    }
    let is_gone = |name: &String| !routes.iter().any(|route| route.name == *name);
    exchanged.removed = before.into_iter().filter(is_gone).collect();
    let is_other = |(name, text): &(String, String)| {
        fs::read_to_string(dir.join(name)).ok().as_ref() != Some(text)
    };
    let Changes { added, changed, removed, .. } = &exchanged;
    let keeps_routes = added.is_empty() && changed.is_empty() && removed.is_empty();
    exchanged.others = keeps_routes && rendered.iter().any(is_other);
    exchanged
}

fn write(
    kept: &mut Backup,
    exchanged: &Changes,
    routes: &[Route],
    rendered: &[(String, String)],
) -> anyhow::Result<()> {
    let dir = kept.dir.clone();
    for (name, text) in rendered {
        kept.keep(&dir.join(name))?;
        files::replace(&dir.join(name), text)?;
    }
    for name in &exchanged.removed {
        kept.remove(name)?;
    }
    let is_other = |route: &&Route| {
        exchanged.added.contains(&route.name) || exchanged.changed.contains(&route.name)
    };
    for route in routes.iter().filter(is_other) {
        let dir = route_dir(&dir, &route.name);
        if exchanged.added.contains(&route.name) {
            kept.added.push(dir.clone());
        }
        fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        for file in ["route.toml", "split.conf", "share"] {
            kept.keep(&dir.join(file))?;
        }
        let mirror = other_mirror(&dir, route);
        keep_route(&dir, route)?;
        become_kind(&dir, route)?;
        let split = match current(&dir) {
            Ok(split) if mirror.is_some() => {
                split.with(&SplitChange { mirror, ..SplitChange::default() })
            }
            Ok(split) => split,
            Err(_) => Split::first(route),
        };
        files::replace(&split::path(&dir), &split::text(&split, &route.name, &dir))?;
    }
    Ok(())
}

/// The old files and folders, to put them back.
#[derive(Default)]
struct Backup {
    dir: PathBuf,
    /// The old texts of files; `None` for a file that did not exist.
    files: Vec<(PathBuf, Option<String>)>,
    /// Folders of routes that are new.
    added: Vec<PathBuf>,
    /// The folders of removed routes: where they were moved to, and where they were.
    removed: Vec<(PathBuf, PathBuf)>,
}

impl Backup {
    fn keep(&mut self, file: &Path) -> anyhow::Result<()> {
        self.files.push((file.to_owned(), files::read_if_there(file)?));
        Ok(())
    }

    /// Moves the route's folder out of `routes/`, since nginx includes the splits of all folders there.
    fn remove(&mut self, route: &str) -> anyhow::Result<()> {
        let (from, to) = (route_dir(&self.dir, route), self.dir.join(format!("removed-{route}")));
        files::gone(&to, fs::remove_dir_all(&to))?;
        files::rename(&from, &to)?;
        self.removed.push((to, from));
        Ok(())
    }

    fn put_back(self) -> anyhow::Result<()> {
        for (file, text) in self.files.into_iter().rev() {
            match text {
                Some(text) => files::replace(&file, &text)?,
                None => files::gone(&file, fs::remove_file(&file))?,
            }
        }
        for folder in &self.added {
            files::gone(folder, fs::remove_dir_all(folder))?;
        }
        self.removed.iter().try_for_each(|(to, from)| files::rename(to, from))
    }

    fn forget(self) -> anyhow::Result<()> {
        let gone = |(folder, _): &(PathBuf, _)| files::gone(folder, fs::remove_dir_all(folder));
        self.removed.iter().try_for_each(gone)
    }
}
