//! The file that lists the parts: `parts.toml`, and its copy in the run folder with this stack's addresses and paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::settings::Part;

/// The parts of one run folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Parts {
    /// The supervisor's socket.
    #[serde(default)]
    pub(crate) socket: PathBuf,
    pub(crate) part: Vec<PartSpec>,
}

/// How a part is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartSpec {
    pub(crate) name: Part,
    pub(crate) command: Vec<String>,
    /// URL that answers 200 when the part is ready.
    pub(crate) ready: String,
    /// Whether the part stops before those without this.
    #[serde(default)]
    pub(crate) is_edge: bool,
    /// Whether the part waits after the first signal to end, and ends at a second one.
    #[serde(default)]
    pub(crate) ends_at_second_signal: bool,
    #[serde(default)]
    stop_signal: StopSignal,
    pub(crate) metrics: Option<Metrics>,
    /// Variables to set, in addition to the inherited ones. An empty value leaves a variable as it is.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
}

/// Where Prometheus scrapes a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metrics {
    pub(crate) job: String,
    pub(crate) url: String,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum StopSignal {
    #[default]
    Term,
    Quit,
}

impl PartSpec {
    pub(crate) fn stop_signal(&self) -> Signal {
        match self.stop_signal {
            StopSignal::Term => Signal::TERM,
            StopSignal::Quit => Signal::QUIT,
        }
    }
}

impl Parts {
    /// The parts that `runs` names, with each `{word}` replaced by its value in `words`. Fails if a word has no value.
    pub(crate) fn fill(
        socket: PathBuf,
        runs: &[Part],
        words: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let mut parts: Parts = toml::from_str(include_str!("parts.toml"))?;
        parts.socket = socket;
        parts.part.retain(|part| runs.contains(&part.name));
        for part in &mut parts.part {
            let metrics = part.metrics.iter_mut().map(|metrics| &mut metrics.url);
            let texts = part.command.iter_mut().chain(part.environment.values_mut());
            for text in texts.chain(metrics).chain([&mut part.ready]) {
                *text = filled(text, words)?;
            }
            part.environment.retain(|_, value| !value.is_empty());
        }
        Ok(parts)
    }

    /// Reads the parts of a run folder. An error names the file.
    pub(crate) fn read(run_dir: &Path) -> anyhow::Result<Self> {
        let file = file_in(run_dir);
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// Writes them where [`Parts::read`] finds them.
    pub(crate) fn write(&self, run_dir: &Path) -> anyhow::Result<()> {
        let file = file_in(run_dir);
        fs::write(&file, toml::to_string(self)?).with_context(|| file.display().to_string())
    }

    /// Prometheus' targets as JSON (`file_sd_configs`). For edge and shadow, whose metrics the gates read, the same
    /// ports of the `others` are targets too.
    pub(crate) fn targets(&self, others: &[String]) -> anyhow::Result<String> {
        let target = |Metrics { job, url }: &Metrics| {
            let (address, path) = url.strip_prefix("http://")?.split_once('/')?;
            let labels = json!({ "job": job, "__metrics_path__": format!("/{path}") });
            let port = address.rsplit_once(':')?.1;
            let is_counted = matches!(job.as_str(), "edge" | "shadow");
            let others = others.iter().filter(|_| is_counted).map(|host| format!("{host}:{port}"));
            let targets: Vec<_> = std::iter::once(address.to_owned()).chain(others).collect();
            Some(json!({ "labels": labels, "targets": targets }))
        };
        let targets: Option<Value> =
            self.part.iter().flat_map(|part| &part.metrics).map(target).collect();
        Ok(targets.context("parts.toml: metrics must be at http://HOST:PORT/PATH")?.to_string())
    }
}

fn file_in(run_dir: &Path) -> PathBuf {
    run_dir.join("parts.toml")
}

fn filled(text: &str, words: &[(&str, String)]) -> anyhow::Result<String> {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.split_once('}').and_then(|(name, rest)| {
            let (_, value) = words.iter().find(|(word, _)| *word == name)?;
            Some((value, rest))
        });
        let Some((value, rest)) = word else { bail!("parts.toml: no value for {{{part}") };
        filled += value;
        filled += rest;
    }
    Ok(filled)
}
