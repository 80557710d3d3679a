//! Writes the derived tables of `docs/capacity.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use loadtest::capacity::{Costs, into_page};
use loadtest::{exit_code, write};
use serde::de::DeserializeOwned;
use stack::settings::repository;

/// Writes the tables of docs/capacity.md from the last runs of `make ladder`, `make way ARGS='--rounds 7'` and
/// `make way ARGS='--idle 2000'`.
#[derive(Parser)]
#[command(name = "capacity")]
struct Arguments {
    /// Folder of the ladder's figures
    #[arg(long, default_value = "target/ladder")]
    ladder: PathBuf,
    /// Folder of the figures of `make way`
    #[arg(long, default_value = "target/way")]
    way: PathBuf,
}

fn main() -> ExitCode {
    exit_code("capacity", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let ladder = read(&arguments.ladder.join("ladder.json"), "make ladder")?;
    let way: Vec<_> = read(&arguments.way.join("way.json"), "make way ARGS='--rounds 7'")?;
    let idle: Vec<_> = read(&arguments.way.join("idle.json"), "make way ARGS='--idle 2000'")?;
    let costs = Costs::new(&ladder, &way, &idle)?;
    let file = repository().join("docs/capacity.md");
    let page = fs::read_to_string(&file).context("docs/capacity.md")?;
    write(&file, &into_page(&page, &costs)?)
}

fn read<T: DeserializeOwned>(file: &Path, first: &str) -> anyhow::Result<T> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("{shown} (run {first} first)"))?;
    serde_json::from_str(&text).with_context(|| shown.to_string())
}
