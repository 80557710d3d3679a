//! A folder of route files.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::file::Route;

/// Reads every `*.toml` of a folder, sorted by name.
///
/// # Errors
/// The first file that is invalid, two files for one path, or a folder without a route.
pub fn load(folder: &Path) -> anyhow::Result<Vec<Route>> {
    let shown = folder.display();
    let entries = fs::read_dir(folder).with_context(|| shown.to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| shown.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "{shown} has no route file (NAME.toml)");
    let mut routes: Vec<Route> = Vec::new();
    for file in &files {
        let route = Route::read(file)?;
        for other in &routes {
            if other.file.path == route.file.path {
                bail!(
                    "{} and {}.toml have the same path, {}",
                    file.display(),
                    other.name,
                    route.file.path
                );
            }
            ensure!(
                other.variable() != route.variable(),
                "{} and {}.toml differ only in hyphens",
                file.display(),
                other.name
            );
        }
        routes.push(route);
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_route_per_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect(name);
        let error = |folder: &Path| format!("{:#}", load(folder).expect_err("no routes"));
        assert!(error(folder.path()).contains("has no route file (NAME.toml)"));
        write("b.toml", "path = \"/b\"");
        write("a.toml", "path = \"/a/*\"");
        write("README.md", "no route");
        let names: Vec<String> =
            load(folder.path()).expect("valid").into_iter().map(|route| route.name).collect();
        assert_eq!(names, ["a", "b"]);
        write("c.toml", "path = \"/b\"");
        assert!(error(folder.path()).contains("c.toml and b.toml have the same path, /b"));
        write("c.toml", "path = \"/c\"\nkey = \"\"");
        assert!(error(folder.path()).contains("c.toml: line 2: key: \"\""));
    }
}
