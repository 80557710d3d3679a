//! The folder of a route below nginx' prefix, and the files that it needs before nginx starts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use route::{Route, Share};

use crate::files;
use crate::split::{self, Split};

/// The copy of the route file in the route's folder.
const ROUTE_FILE: &str = "route.toml";

/// The folder of a route below nginx' prefix.
pub fn route_dir(nginx_dir: &Path, route: &str) -> PathBuf {
    nginx_dir.join("routes").join(route)
}

/// The routes that were prepared below nginx' prefix, by name.
pub fn prepared(nginx_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(nginx_dir.join("routes")).into_iter().flatten().flatten();
    let routes = entries.filter(|entry| split::path(&entry.path()).is_file());
    let mut names: Vec<String> =
        routes.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Gives a route's folder a share file or a split.conf, depending on whether it is a route of sessions.
pub(crate) fn become_kind(dir: &Path, route: &Route) -> anyhow::Result<()> {
    if route.is_session() == split::is_of_sessions(dir) {
    } else if route.is_session() {
        files::replace(&split::share_path(dir), &Split::first(route).share_file())?;
        let _ = fs::remove_file(split::conf_path(dir)); // nginx would include it
    } else {
        fs::remove_file(split::share_path(dir)).with_context(|| dir.display().to_string())?;
    }
    Ok(())
}

/// The route file in the route's folder, as it was prepared.
pub(crate) fn route_file(route_dir: &Path) -> anyhow::Result<Route> {
    let file = route_dir.join(ROUTE_FILE);
    let name = route_dir.file_name().unwrap_or_default().to_string_lossy();
    Route::parse(&name, &files::read(&file)?).with_context(|| file.display().to_string())
}

/// The share to mirror if the file's is another than that of the folder's copy, which [`keep_route`] replaces; `None` if
/// it is the same, so that the share of `carve split --mirror` stays.
pub(crate) fn other_mirror(route_dir: &Path, route: &Route) -> Option<Share> {
    let before = Split::first(&route_file(route_dir).ok()?).mirror_percent;
    Some(Split::first(route).mirror_percent).filter(|mirror| *mirror != before)
}

/// Keeps a copy of a route file in the route's folder.
pub(crate) fn keep_route(route_dir: &Path, route: &Route) -> anyhow::Result<()> {
    files::replace(&route_dir.join(ROUTE_FILE), &route.text)
}

/// Writes a route's file and split below `nginx_dir`, and creates the folders if needed.
pub(crate) fn copy_to(nginx_dir: &Path, route: &Route, split: &Split) -> anyhow::Result<()> {
    let dir = route_dir(nginx_dir, &route.name);
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    keep_route(&dir, route)?;
    become_kind(&dir, route)?;
    write(nginx_dir, &route.name, split)
}

/// As [`write`], unless the folder has this split already. Returns whether it had another one.
pub(crate) fn rewrite(nginx_dir: &Path, route: &str, split: &Split) -> anyhow::Result<bool> {
    let is_other = split::current(&route_dir(nginx_dir, route))? != *split;
    if is_other {
        write(nginx_dir, route, split)?;
    }
    Ok(is_other)
}

/// Writes a prepared route's split: before nginx starts, or for homes, which reread the file by themselves. The text is
/// rendered from the values, so nothing but a split enters nginx' configuration.
pub fn write(nginx_dir: &Path, route: &str, split: &Split) -> anyhow::Result<()> {
    let dir = route_dir(nginx_dir, route);
    files::replace(&split::path(&dir), &split::text(split, route, &dir))
}
