//! The files of the repository that a stack needs, embedded so that the program runs without the repository.
//!
//! A debug build reads them at run time, so that a change needs no new build.

use std::fs;
use std::path::Path;

use anyhow::Context;
use rust_embed::RustEmbed;

/// nginx' files.
#[derive(RustEmbed)]
#[folder = "../../proxy"]
#[include = "*.conf"]
pub(crate) struct Proxy;

#[derive(RustEmbed)]
#[folder = "../../dashboards/prometheus"]
#[include = "prometheus.yml"]
#[include = "rules/*.yml"]
pub(crate) struct Prometheus;

/// The live page.
#[derive(RustEmbed)]
#[folder = "../../dashboards/live"]
#[include = "*.css"]
#[include = "*.html"]
#[include = "*.js"]
#[include = "*.svg"]
#[include = "queries.json"]
#[exclude = "test/*"]
#[exclude = "node_modules/*"]
struct LivePage;

/// The library that draws the live page's charts.
#[derive(RustEmbed)]
#[folder = "../../dashboards/live/node_modules/uplot"]
#[allow_missing = true]
#[include = "dist/*"]
#[include = "LICENSE"]
struct Charts;

/// The text of an embedded file. Fails if there is none of this name.
pub(crate) fn text<Files: RustEmbed>(name: &str) -> anyhow::Result<String> {
    let file = Files::get(name).with_context(|| format!("{name} is not part of this program"))?;
    Ok(String::from_utf8(file.data.into_owned())?)
}

/// Writes Prometheus' rules below `prometheus`, and the live page into `live_page`. An error names the file.
pub(crate) fn write_folders(prometheus: &Path, live_page: &Path) -> anyhow::Result<()> {
    write_all::<Prometheus>(prometheus, |name| name.starts_with("rules/"))?;
    write_all::<LivePage>(live_page, |_| true)?;
    write_all::<Charts>(&live_page.join("node_modules/uplot"), |_| true)
}

fn write_all<Files: RustEmbed>(to: &Path, is_wanted: fn(&str) -> bool) -> anyhow::Result<()> {
    for name in Files::iter().filter(|name| is_wanted(name)) {
        let file = to.join(&*name);
        let content = Files::get(&name).with_context(|| name.to_string())?;
        let write = || {
            fs::create_dir_all(file.parent().unwrap_or(to))?;
            fs::write(&file, &content.data)
        };
        write().with_context(|| file.display().to_string())?;
    }
    Ok(())
}
