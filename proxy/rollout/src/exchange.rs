//! Replaces what a running nginx includes, and its routes: all of it, or nothing.
//!
//! The new files are written in place of the old ones, `nginx -t` checks them, and nginx reloads. If it does not take
//! them over, the old files are back, and it serves what it served. No other change reloads it meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use anyhow::{Context, ensure};
use route::Route;

use crate::folder::{become_kind, keep_route, prepared, route_dir};
use crate::lock::Lock;
use crate::nginx::Nginx;
use crate::split::{self, Split, Wanted, current};
use crate::{files, metrics};

/// What has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// Routes that are new.
    pub added: Vec<String>,
    /// Routes whose files say something else.
    pub changed: Vec<String>,
    /// Routes that are no more.
    pub removed: Vec<String>,
    /// Whether anything else has.
    pub others: bool,
}

impl Exchanged {
    /// Whether the routes are what they were.
    fn keeps_routes(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Makes `nginx` serve these routes by these files, which are named below its folder. A route that was there keeps
/// its share. Reloads even if no file changes: what nginx reads besides may have. Fails if somebody holds the lock of
/// a route that changes, nginx refuses the files, or does not take them over in time. All is as it was then.
pub fn exchange(
    nginx: &Nginx,
    routes: &[Route],
    rendered: &[(String, String)],
) -> anyhow::Result<Exchanged> {
    let _only_reload = nginx.traffic.turn()?;
    let (exchanged, mut locks) = (difference(&nginx.dir, routes, rendered), Vec::new());
    for route in exchanged.changed.iter().chain(&exchanged.removed) {
        locks.push(Lock::take(&route_dir(&nginx.dir, route)).with_context(|| route.clone())?);
    }
    let mut kept = Kept { dir: nginx.dir.clone(), ..Kept::default() };
    let outcome = write(&mut kept, &exchanged, routes, rendered).and_then(|()| take_over(nginx));
    if let Err(error) = outcome {
        kept.put_back().with_context(|| format!("{error:#}; and then"))?;
        return Err(error.context("nothing has changed"));
    }
    kept.forget()?;
    metrics::write(&nginx.dir)?;
    Ok(exchanged)
}

fn difference(dir: &Path, routes: &[Route], rendered: &[(String, String)]) -> Exchanged {
    let before = prepared(dir);
    let mut exchanged = Exchanged::default();
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
    exchanged.others = exchanged.keeps_routes() && rendered.iter().any(is_other);
    exchanged
}

fn write(
    kept: &mut Kept,
    exchanged: &Exchanged,
    routes: &[Route],
    rendered: &[(String, String)],
) -> anyhow::Result<()> {
    let dir = kept.dir.clone();
    for (name, text) in rendered {
        kept.replace(&dir.join(name), text)?;
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
        keep_route(&dir, route)?;
        become_kind(&dir, route, &Wanted::default())?;
        let split = current(&dir).unwrap_or_else(|_| Split::first(route));
        files::replace(&split::path(&dir), &split::text(&split, &route.name, &dir))?;
    }
    Ok(())
}

fn take_over(nginx: &Nginx) -> anyhow::Result<()> {
    nginx.check()?;
    let reloading = nginx.traffic.reload()?;
    let (patience, poll) = nginx.traffic.patience();
    let since = Instant::now();
    while !reloading.is_over() {
        ensure!(
            since.elapsed() < patience,
            "nginx has not taken the files over after {patience:?}; its log shows the reason"
        );
        thread::sleep(poll);
    }
    Ok(())
}

/// What was there before, to put it back.
#[derive(Default)]
struct Kept {
    dir: PathBuf,
    /// Texts of files; `None` for those that were not there.
    files: Vec<(PathBuf, Option<String>)>,
    /// Folders of routes that are new.
    added: Vec<PathBuf>,
    /// Folders of routes that are no more, and where they were.
    removed: Vec<(PathBuf, PathBuf)>,
}

impl Kept {
    fn keep(&mut self, file: &Path) -> anyhow::Result<()> {
        self.files.push((file.to_owned(), files::read_if_there(file)?));
        Ok(())
    }

    fn replace(&mut self, file: &Path, text: &str) -> anyhow::Result<()> {
        self.keep(file)?;
        files::replace(file, text)
    }

    /// nginx includes the splits of all folders in `routes/`.
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
