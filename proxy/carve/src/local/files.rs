//! The files of the repository that a stack needs, embedded so that the program runs without the repository.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Names, relative to a folder, and contents.
pub(super) type Files = &'static [(&'static str, &'static [u8])];

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of an embedded file. Fails if there is none of this name.
pub(super) fn text(files: Files, name: &str) -> anyhow::Result<String> {
    let file = files.iter().find(|(found, _)| *found == name);
    let (_, content) = file.with_context(|| format!("{name} is not part of this program"))?;
    Ok(String::from_utf8(content.to_vec())?)
}

/// Writes Prometheus' rules below `prometheus`, and the live page into `live_page`. An error names the file.
pub(super) fn write_folders(prometheus: &Path, live_page: &Path) -> anyhow::Result<()> {
    let rules = PROMETHEUS.iter().filter(|(name, _)| name.starts_with("rules/"));
    write_all(rules, prometheus)?;
    write_all(LIVE, live_page)?;
    write_all(CHARTS, &live_page.join("node_modules/uplot"))
}

fn write_all<'a>(
    files: impl IntoIterator<Item = &'a (&'static str, &'static [u8])>,
    to: &Path,
) -> anyhow::Result<()> {
    for (name, content) in files {
        let file = to.join(name);
        let write = || {
            fs::create_dir_all(file.parent().unwrap_or(to))?;
            fs::write(&file, content)
        };
        write().with_context(|| file.display().to_string())?;
    }
    Ok(())
}
