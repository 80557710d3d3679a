//! A folder of route files.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::carve_file::{CARVE_FILE, CarveFile};
use crate::file::Route;

/// Reads every route file of a folder, sorted by name: all `*.toml` but `carve.toml`.
///
/// # Errors
/// One line for each file that is invalid or has the path of another one; or a folder without a route.
pub fn load(folder: &Path) -> anyhow::Result<Vec<Route>> {
    let shown = folder.display();
    let entries = fs::read_dir(folder).with_context(|| shown.to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| shown.to_string())?.path();
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        if is_toml && path.file_name().is_none_or(|name| name != CARVE_FILE) {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "{shown} has no route file (NAME.toml)");
    let mut routes: Vec<Route> = Vec::new();
    let mut mistakes = Vec::new();
    for file in &files {
        match Route::read(file).and_then(|route| differs(&route, &routes, file).map(|()| route)) {
            Ok(route) => routes.push(route),
            Err(error) => mistakes.push(format!("{error:#}")),
        }
    }
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    Ok(routes)
}

/// Reads the whole folder: `carve.toml` and every route file.
///
/// # Errors
/// One line for each mistake of all files.
pub fn load_all(folder: &Path) -> anyhow::Result<(CarveFile, Vec<Route>)> {
    match (CarveFile::of(folder), load(folder)) {
        (Ok(carve), Ok(routes)) => Ok((carve, routes)),
        (Err(mistakes), Err(more)) => anyhow::bail!("{mistakes:#}\n{more:#}"),
        (Err(mistakes), _) | (_, Err(mistakes)) => Err(mistakes),
    }
}

/// Checks that a route is another one than these.
fn differs(route: &Route, others: &[Route], file: &Path) -> anyhow::Result<()> {
    let shown = file.display();
    for other in others {
        ensure!(
            other.file.path != route.file.path,
            "{shown} and {}.toml have the same path, {}",
            other.name,
            route.file.path
        );
        ensure!(
            other.variable() != route.variable(),
            "{shown} and {}.toml differ only in hyphens",
            other.name
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
