//! The parts that `parts.toml` and the file of `--parts` list, and their copy in the run folder with this stack's
//! addresses and paths.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A file of parts, and what else that of `--parts` says. Its texts have words in braces: [`filled`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parts {
    /// The supervisor's socket, in a run folder.
    pub(crate) socket: PathBuf,
    /// The folder of route files, unless another one is given.
    pub(crate) routes: String,
    /// The URLs of both sides.
    pub(crate) old: String,
    pub(crate) new: String,
    /// A socket in the run folder where the new side listens too, for nginx. `{new_socket}` is its address after a comma,
    /// or nothing if the path cannot be that of a socket.
    pub(crate) new_socket: Option<String>,
    /// A command that is run in nginx' folder before nginx checks its files.
    pub(crate) before: Vec<String>,
    /// Names and URLs to show to people.
    pub(crate) urls: Vec<(String, String)>,
    pub(crate) part: Vec<PartSpec>,
}

/// The values of the words that stand in braces.
pub(crate) type Words = BTreeMap<String, String>;

/// How a part is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartSpec {
    pub(crate) name: String,
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
    /// Variables to set unless they are inherited.
    #[serde(default)]
    defaults: BTreeMap<String, String>,
    /// Where the part listens, by word, with the default ports.
    #[serde(default)]
    pub(crate) addresses: BTreeMap<String, SocketAddr>,
    /// Programs on PATH, and paths of files and folders, that the part needs, and how to get them.
    #[serde(default)]
    pub(crate) needs: BTreeMap<String, String>,
    /// The part runs only with this route.
    pub(crate) for_route: Option<String>,
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

/// The log of a part.
pub(crate) fn log_in(run_dir: &Path, part: &str) -> PathBuf {
    run_dir.join("log").join(format!("{part}.log"))
}

impl PartSpec {
    pub(crate) fn stop_signal(&self) -> Signal {
        match self.stop_signal {
            StopSignal::Term => Signal::TERM,
            StopSignal::Quit => Signal::QUIT,
        }
    }

    fn fill(&mut self, words: &Words) -> anyhow::Result<()> {
        self.defaults.retain(|variable, _| std::env::var_os(variable).is_none());
        self.environment.append(&mut self.defaults);
        let metrics = self.metrics.iter_mut().map(|metrics| &mut metrics.url);
        let texts = self.command.iter_mut().chain(self.environment.values_mut());
        for text in texts.chain(metrics).chain([&mut self.ready]) {
            *text = filled(text, words)?;
        }
        self.environment.retain(|_, value| !value.is_empty());
        Ok(())
    }
}

impl Parts {
    /// Reads a file of parts. An error names it.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// The parts of a run folder. An error names their file.
    pub(crate) fn here(run_dir: &Path) -> anyhow::Result<Self> {
        Self::read(&file_in(run_dir))
    }

    /// Adds carve's own parts.
    pub(crate) fn with_own(mut self) -> anyhow::Result<Self> {
        let mut own: Parts = toml::from_str(include_str!("parts.toml"))?;
        self.part.append(&mut own.part);
        Ok(self)
    }

    /// The parts and URLs with each word replaced. Fails if a word has no value.
    pub(crate) fn filled(mut self, words: &Words) -> anyhow::Result<Self> {
        for (_, url) in &mut self.urls {
            *url = filled(url, words)?;
        }
        self.urls.retain(|(_, url)| !url.is_empty());
        self.part.iter_mut().try_for_each(|part| part.fill(words))?;
        Ok(self)
    }

    /// The default address of each word of an address.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&String, SocketAddr)> {
        self.part.iter().flat_map(|part| &part.addresses).map(|(word, at)| (word, *at))
    }

    /// Runs the command `before`. If it fails, the error is what it wrote.
    pub(crate) fn run_before(&self, nginx_dir: &Path, words: &Words) -> anyhow::Result<()> {
        let command = self.before.iter().map(|text| filled(text, words));
        let command = command.collect::<anyhow::Result<Vec<_>>>()?;
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        let output = Command::new(program).args(arguments).current_dir(nginx_dir).output();
        let output = output.with_context(|| program.clone())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }

    /// Writes them where [`Parts::here`] finds them.
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

/// The text with each `{word}` replaced by its value in `words`, or else by that of the variable `STACK_WORD`. `{word=DEFAULT}`
/// has a default, and `{route?YES|NO}` depends on whether there is this route. Fails if a word has no value.
pub(crate) fn filled(text: &str, words: &Words) -> anyhow::Result<String> {
    let mut filled = text.to_owned();
    let mut end = filled.len();
    while let Some(open) = filled[..end].rfind('{') {
        let problem = || format!("{text:?} has a word in braces that has no value");
        let close = open + filled[open..].find('}').with_context(problem)?;
        let value = value(&filled[open + 1..close], words).with_context(problem)?;
        filled.replace_range(open..=close, &value);
        end = open;
    }
    Ok(filled)
}

fn value(word: &str, words: &Words) -> Option<String> {
    if let Some((route, values)) = word.split_once('?') {
        let (yes, no) = values.split_once('|')?;
        let is_there = words.get("route_names")?.split(',').any(|name| name == route);
        return Some(if is_there { yes } else { no }.to_owned());
    }
    let (word, default) = match word.split_once('=') {
        Some((word, default)) => (word, Some(default.to_owned())),
        None => (word, None),
    };
    words.get(word).cloned().or_else(|| std::env::var(variable(word)).ok()).or(default)
}

/// The variable that sets a word.
pub(crate) fn variable(word: &str) -> String {
    format!("STACK_{}", word.to_ascii_uppercase())
}
