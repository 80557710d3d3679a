//! A folder of route files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::carve_file::{CARVE_FILE, CarveFile};
use crate::file::Route;
use crate::hosts::settle;

/// Reads every route file of a folder, sorted by name: all `*.toml` but `carve.toml`.
fn routes(folder: &Path) -> anyhow::Result<Vec<Route>> {
    let shown = folder.display();
    let all = fs::read_dir(folder).and_then(|all| all.map(|entry| Ok(entry?.path())).collect());
    let mut files: Vec<PathBuf> = all.with_context(|| shown.to_string())?;
    files.retain(|it| it.extension().is_some_and(|it| it == "toml") && !it.ends_with(CARVE_FILE));
    files.sort();
    ensure!(!files.is_empty(), "{shown} has no route file (NAME.toml)");
    let mut routes: Vec<Route> = Vec::new();
    let mut mistakes = Vec::new();
    for file in &files {
        match Route::read(file) {
            Ok(route) => routes.push(route),
            Err(error) => mistakes.push(format!("{error:#}")),
        }
    }
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    Ok(routes)
}

/// Reads the whole folder: `carve.toml` and every route file, sorted by name. An error has one line for each mistake in
/// all files. Fails also if the folder has no route file.
pub fn load(folder: &Path) -> anyhow::Result<(CarveFile, Vec<Route>)> {
    let (carve, mut routes) = match (CarveFile::of(folder), routes(folder)) {
        (Ok(carve), Ok(routes)) => (carve, routes),
        (Err(mistakes), Err(more)) => bail!("{mistakes:#}\n{more:#}"),
        (Err(mistakes), _) | (_, Err(mistakes)) => return Err(mistakes),
    };
    settle(&carve, &mut routes).map_err(|mistakes| {
        let lines = mistakes.to_string();
        let lines: Vec<_> = lines.lines().map(|it| folder.join(it).display().to_string()).collect();
        anyhow::anyhow!(lines.join("\n"))
    })?;
    Ok((carve, routes))
}

#[cfg(test)]
mod tests;
