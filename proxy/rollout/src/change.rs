//! Changes the split of one route completely or not at all.
//!
//! 1. `split.conf` is copied to `split.conf.before`. While that file exists, a change is in
//!    progress, or a kill interrupted one.
//! 2. The new split.conf is written beside the old one and renamed. On a cluster it is published.
//! 3. The [`Traffic`](crate::traffic::Traffic) puts it into force: `nginx -t` checks it, nginx reloads, and serves the
//!    new generation while no old worker accepts connections.
//! 4. `split.conf.before` is removed: the change is done.
//!
//! If any step fails, `split.conf.before` is renamed back. If a server may have read the new file, the old split is put
//! into force again.
//!
//! A route of sessions has a share file instead of split.conf. Its homes read that file, so nginx is not reloaded.
//!
//! Each route has its own files and its own lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anstream::eprintln;
use anyhow::Context;

use route::{Route, Share};

use crate::folder::{become_kind, keep_route, other_mirror, prepared, route_dir};
use crate::lock::Lock;
use crate::nginx::Nginx;
use crate::split::{self, Split, SplitChange, current};
use crate::{files, metrics};

fn before_file(route_dir: &Path) -> PathBuf {
    let mut path = split::path(route_dir).into_os_string();
    path.push(".before");
    path.into()
}

/// The split before a change that is in progress or was interrupted.
pub fn pending(route_dir: &Path) -> Option<Split> {
    split::read(&before_file(route_dir)).ok()
}

/// Takes the route's lock and undoes an interrupted change. On a cluster, it first copies the route's state and makes
/// sure that no other process holds its run. If another process holds the lock, the error names it.
pub fn take(nginx: &Nginx) -> anyhow::Result<Lock> {
    nginx.store.claim().map_or(Ok(()), |claim| claim.take())?;
    take_folder(&nginx.route_dir())
}

/// Takes the lock of a route's folder, undoes what a killed change left behind, and reports that on stderr.
pub(crate) fn take_folder(route_dir: &Path) -> anyhow::Result<Lock> {
    let lock = Lock::take(route_dir)?;
    if let Some(split) = repair(route_dir, &lock)? {
        eprintln!(
            "An earlier change was interrupted; {} is back at {}%.",
            split::path(route_dir).file_name().unwrap_or_default().display(),
            split.share_percent
        );
    }
    Ok(lock)
}

/// Puts the old file back if a change was killed, and returns its split; `None` if none was. nginx reads the file at
/// the next change.
fn repair(route_dir: &Path, _lock: &Lock) -> anyhow::Result<Option<Split>> {
    let before = before_file(route_dir);
    if !before.exists() {
        return Ok(None);
    }
    files::rename(&before, &split::path(route_dir))?;
    current(route_dir).map(Some)
}

/// Writes every route's split.conf before nginx starts. Each value comes from `wanted`, else from the existing file,
/// else from the route file, as does a mirrored share that the route file has changed. An unchanged split keeps its
/// generation, since a running nginx may serve it. Removes the folders of routes that no longer exist. Fails if another
/// process holds a route's lock, or a file cannot be written.
pub fn prepare(nginx_dir: &Path, routes: &[Route], wanted: &SplitChange) -> anyhow::Result<()> {
    for name in prepared(nginx_dir) {
        if !routes.iter().any(|route| route.name == name) {
            let gone = route_dir(nginx_dir, &name);
            let _lock = Lock::take(&gone)?;
            fs::remove_dir_all(&gone).with_context(|| gone.display().to_string())?;
        }
    }
    for route in routes {
        let dir = route_dir(nginx_dir, &route.name);
        fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        let mirror = other_mirror(&dir, route);
        keep_route(&dir, route)?;
        let lock = Lock::take(&dir)?;
        become_kind(&dir, route)?;
        let wanted = match route.is_session() {
            true => &SplitChange { key: None, mirror: None, ..wanted.clone() }, // it has neither
            false => wanted,
        };
        repair(&dir, &lock)?;
        let mut before = current(&dir).unwrap_or_else(|_| Split::first(route));
        before.mirror_percent = mirror.unwrap_or(before.mirror_percent);
        // Each proxy of a cluster prepares its own files. All must have the same generation until somebody sets a
        // split, so a new generation alone does not count as a change.
        let mut split = before.with(wanted);
        if (Split { generation: before.generation.clone(), ..split.clone() }) == before {
            split = before;
        }
        let text = split::text(&split, &route.name, &dir);
        if files::read(&split::path(&dir)).ok().as_ref() != Some(&text) {
            files::replace(&split::path(&dir), &text)?;
        }
    }
    metrics::write(nginx_dir)
}

/// Changes the split of the running nginx and returns once nginx serves it. Fails if nginx rejects the split, does
/// not serve it in time, or `interrupted` is set; the old split is then in force again.
pub(crate) fn change(
    nginx: &Nginx,
    lock: &Lock,
    wanted: &SplitChange,
    interrupted: &AtomicBool,
) -> anyhow::Result<Split> {
    let new = current(&nginx.route_dir())?.with(wanted);
    adopt(nginx, lock, &new, interrupted)?;
    Ok(new)
}

/// Makes sure that the new side has this share. A signal does not interrupt it.
pub(crate) fn bring_to(nginx: &Nginx, lock: &Lock, share: Share) -> anyhow::Result<()> {
    // The file and the split that nginx serves differ if a change was killed after nginx had read the new file:
    // `take` puts the old file back, but nginx has not read it since.
    if current(&nginx.route_dir())?.share_percent == share
        && nginx.served().is_ok_and(|served| served.share_percent == share)
    {
        return Ok(());
    }
    change(nginx, lock, &SplitChange::share(share), &AtomicBool::new(false)).map(drop)
}

/// As [`change`], but takes a complete split and keeps its generation.
pub(crate) fn adopt(
    nginx: &Nginx,
    _lock: &Lock,
    new: &Split,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    nginx.traffic.find()?;
    nginx.traffic.alone(&mut || exchange(nginx, new, interrupted))?;
    // A full disk must neither undo the change nor end the run.
    if let Err(problem) = metrics::write(&nginx.dir) {
        eprintln!("carve: {problem:#}");
    }
    Ok(())
}

/// Writes the new file and puts it into force, or else the old one again.
fn exchange(nginx: &Nginx, new: &Split, interrupted: &AtomicBool) -> anyhow::Result<()> {
    let dir = nginx.route_dir();
    let (file, before) = (split::path(&dir), before_file(&dir));
    let old = split::read(&file)?;
    files::replace(&before, &files::read(&file)?)?;
    let mut reached = false;
    let outcome = files::replace(&file, &split::text(new, &nginx.route, &dir))
        .and_then(|()| publish(nginx, &mut reached))
        .and_then(|()| nginx.traffic.apply(new, interrupted, &mut reached));
    if let Err(error) = outcome {
        put_back(nginx, &old, reached).with_context(|| format!("{error:#}; and then"))?;
        return Err(error.context(format!("the split stays at {}%", old.share_percent)));
    }
    fs::remove_file(&before).with_context(|| before.display().to_string())
}

/// On a cluster, publishes the folder's split for the proxies. Sets `reached`, since they may read it at once.
fn publish(nginx: &Nginx, reached: &mut bool) -> anyhow::Result<()> {
    let Some(claim) = nginx.store.claim() else { return Ok(()) };
    claim.publish()?;
    *reached = true;
    Ok(())
}

fn put_back(nginx: &Nginx, old: &Split, reached: bool) -> anyhow::Result<()> {
    let dir = nginx.route_dir();
    files::rename(&before_file(&dir), &split::path(&dir))?;
    if !reached {
        return Ok(());
    }
    publish(nginx, &mut true)?;
    nginx.traffic.put_back(old)
}
