//! A change of the split, whole or not at all.
//!
//! 1. What is in force is kept as `split.conf.before`: as long as that file is there, a change is
//!    under way, or was cut short by a kill.
//! 2. The new split.conf is written beside and renamed, checked by `nginx -t`, and nginx reloads.
//! 3. `/split` is asked until nginx serves the new generation, and until no old worker accepts.
//! 4. `split.conf.before` goes; the change is done.
//!
//! Whatever fails in between, `split.conf.before` is renamed back, and nginx reloads once more where
//! it may have seen the new one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::lock::Lock;
use crate::nginx::{Nginx, Reloading};
use crate::split::{Split, Wanted};
use crate::{files, metrics};

/// After this long nginx has read the old file again, or can't.
const STILL_SERVES: Duration = Duration::from_secs(2);

/// `split.conf` of a folder.
pub(crate) fn split_file(nginx_dir: &Path) -> PathBuf {
    nginx_dir.join("split.conf")
}

fn before_file(nginx_dir: &Path) -> PathBuf {
    nginx_dir.join("split.conf.before")
}

/// What the file says now.
///
/// # Errors
/// Where there is none, or none that this tool wrote.
pub fn current(nginx_dir: &Path) -> anyhow::Result<Split> {
    let file = split_file(nginx_dir);
    parse(&file, &files::read(&file)?)
}

fn parse(file: &Path, text: &str) -> anyhow::Result<Split> {
    Split::parse(text).with_context(|| format!("{} is not written by ramp", file.display()))
}

/// What was in force before a change that has not ended, under way or cut short.
pub fn pending(nginx_dir: &Path) -> Option<Split> {
    Split::parse(&fs::read_to_string(before_file(nginx_dir)).ok()?)
}

/// Puts back what an earlier change, killed in the middle, left half done; gives what is in the file
/// then. The next change makes nginx take it over.
///
/// # Errors
/// Where the file can't be put back.
pub(crate) fn repair(nginx_dir: &Path, _lock: &Lock) -> anyhow::Result<Option<Split>> {
    let before = before_file(nginx_dir);
    if !before.exists() {
        return Ok(None);
    }
    files::rename(&before, &split_file(nginx_dir))?;
    current(nginx_dir).map(Some)
}

/// Writes split.conf where nginx does not run yet: what is wanted, what is there, the default; in
/// this order. What stays the same is not touched, since a running nginx may have it.
///
/// # Errors
/// Where somebody else is changing it, or a file can't be written.
pub fn prepare(nginx_dir: &Path, wanted: &Wanted) -> anyhow::Result<Split> {
    let lock = Lock::take(nginx_dir)?;
    repair(nginx_dir, &lock)?;
    let there = current(nginx_dir).ok();
    let split = there.clone().unwrap_or_default().with(wanted);
    let same = there
        .filter(|there| Split { generation: there.generation.clone(), ..split.clone() } == *there);
    let split = match same {
        Some(there) => there,
        None => {
            files::replace(&split_file(nginx_dir), &split.render())?;
            split
        }
    };
    metrics::write_split(nginx_dir, &split)?;
    Ok(split)
}

/// Writes split.conf where nginx does not run yet, as another file has it: made anew of that file's
/// values, so that nothing but a split gets into nginx' configuration.
///
/// # Errors
/// A file that is not there or not written by ramp, or one that can't be written.
pub fn copy(from: &Path, nginx_dir: &Path) -> anyhow::Result<()> {
    let split = parse(from, &files::read(from)?)?;
    files::replace(&split_file(nginx_dir), &split.render())
}

/// Makes the running nginx serve what is wanted; on return it does.
///
/// # Errors
/// What nginx says, or that `interrupted` was set; then the old file is back, and in force.
pub(crate) fn change(
    nginx: &Nginx,
    lock: &Lock,
    wanted: &Wanted,
    interrupted: &AtomicBool,
) -> anyhow::Result<Split> {
    let new = current(&nginx.dir)?.with(wanted);
    adopt(nginx, lock, &new, interrupted)?;
    Ok(new)
}

/// As [`change`], to a split of somebody else's, generation and all.
pub(crate) fn adopt(
    nginx: &Nginx,
    _lock: &Lock,
    new: &Split,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    nginx.find()?;
    let file = split_file(&nginx.dir);
    let text = files::read(&file)?;
    let old = parse(&file, &text)?;
    files::replace(&before_file(&nginx.dir), &text)?;
    let mut told = false;
    let outcome = files::replace(&file, &new.render())
        .and_then(|()| take_over(nginx, new, interrupted, &mut told));
    if let Err(error) = outcome {
        put_back(nginx, &old, told).with_context(|| format!("{error:#}; and then"))?;
        return Err(error.context(format!("the split stays as it was, {}%", old.share_percent)));
    }
    let before = before_file(&nginx.dir);
    fs::remove_file(&before).with_context(|| before.display().to_string())?;
    metrics::write_split(&nginx.dir, new)
}

/// `told` is whether nginx may have read the file.
fn take_over(
    nginx: &Nginx,
    new: &Split,
    interrupted: &AtomicBool,
    told: &mut bool,
) -> anyhow::Result<()> {
    nginx.check()?;
    ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
    let reloading = nginx.reload()?;
    *told = true;
    wait_until_served(nginx, new, &reloading, interrupted)
}

fn put_back(nginx: &Nginx, old: &Split, told: bool) -> anyhow::Result<()> {
    files::rename(&before_file(&nginx.dir), &split_file(&nginx.dir))?;
    if !told {
        return Ok(());
    }
    let reloading = nginx.reload()?;
    let since = Instant::now();
    loop {
        let serves = nginx.served().is_ok_and(|served| served == *old);
        // What kept nginx from the new one may keep it from reloading at all.
        if serves && (reloading.is_over() || since.elapsed() > STILL_SERVES) {
            return Ok(());
        }
        ensure!(since.elapsed() < nginx.patience(), "nginx does not serve the old split again");
        thread::sleep(nginx.poll());
    }
}

fn wait_until_served(
    nginx: &Nginx,
    split: &Split,
    reloading: &Reloading,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let since = Instant::now();
    loop {
        // Old workers first: while they accept as well, an answer says nothing about the next.
        if reloading.is_over() && nginx.served().is_ok_and(|served| served == *split) {
            return Ok(());
        }
        ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
        ensure!(
            since.elapsed() < nginx.patience(),
            "nginx does not serve the new split after {:?}; its log says why",
            nginx.patience()
        );
        thread::sleep(nginx.poll());
    }
}
