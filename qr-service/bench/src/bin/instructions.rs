//! Counts instructions per call with callgrind. Unlike times, the counts are reproducible, so commits can be compared.
//!
//! The program runs itself under valgrind with `N` and with `2 N` calls; the difference is `N` calls
//! without the startup. It compares the counts with `instructions.json`, which `--record` writes, and fails if one has
//! grown.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::process::Command;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Parser;
use qr_bench::inputs::INPUTS;
use qr_bench::makers::{Maker, makers};

/// Calls of one run; a multiple of the number of texts of an input.
const CALLS: usize = 128;
/// A count that has grown by more than this, in per cent, is an error. Another compiler changes counts by less.
const GROWTH_PERCENT: f64 = 3.0;
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.json");

/// Counts the instructions of qr-core and compares them with the recorded counts.
#[derive(Parser)]
struct Arguments {
    /// Record these counts for later comparisons
    #[arg(long)]
    record: bool,
    /// Run under valgrind: MAKER INPUT CALLS
    #[arg(long, hide = true, num_args = 3)]
    call: Option<Vec<String>>,
}

/// Instructions per call, by maker and input.
type Figures = BTreeMap<String, u64>;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some([maker, input, calls]) = arguments.call.as_deref() {
        return call(maker, input, calls.parse()?);
    }
    let before: Figures = match fs::read_to_string(RECORDED) {
        Ok(text) => serde_json::from_str(&text).context(RECORDED)?,
        Err(_) => Figures::new(),
    };
    let mut now = Figures::new();
    let mut grown = Vec::new();
    println!("{:<24} {:>12} {:>12} {:>9}", "instructions per call", "recorded", "now", "change");
    for name in ["qr-core", "qr-core-encode"] {
        for input in &INPUTS {
            let key = format!("{name} {}", input.name);
            let count = count(name, input.name, 2 * CALLS)? - count(name, input.name, CALLS)?;
            let count = count / CALLS as u64;
            // A new input has no growth, and is recorded.
            let recorded = before.get(&key).copied().unwrap_or(count);
            let growth_percent = 100.0 * (count as f64 / recorded as f64 - 1.0);
            println!("{key:<24} {recorded:>12} {count:>12} {growth_percent:>+7.2} %");
            if growth_percent > GROWTH_PERCENT {
                grown.push(key.clone());
            }
            now.insert(key, count);
        }
    }
    if arguments.record {
        fs::write(RECORDED, serde_json::to_string_pretty(&now)? + "\n").context(RECORDED)?;
        return Ok(());
    }
    let grown = grown.join(", ");
    ensure!(
        grown.is_empty(),
        "more than {GROWTH_PERCENT} % more instructions: {grown}. If that is meant, --record them"
    );
    Ok(())
}

fn maker(name: &str) -> anyhow::Result<Maker> {
    makers().into_iter().find(|maker| maker.name == name).with_context(|| name.to_owned())
}

/// Makes the calls of a run, under valgrind.
fn call(name: &str, input: &str, calls: usize) -> anyhow::Result<()> {
    let maker = maker(name)?;
    let input = INPUTS.iter().find(|it| it.name == input).with_context(|| input.to_owned())?;
    let texts = input.texts();
    let mut out = Vec::new();
    for text in texts.iter().cycle().take(calls) {
        black_box((maker.make)(text, &mut out));
    }
    Ok(())
}

/// Instructions of a whole run of the program.
fn count(maker: &str, input: &str, calls: usize) -> anyhow::Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(std::env::current_exe()?);
    valgrind.args(["--call", maker, input, &calls.to_string()]);
    let output = valgrind.output().context("valgrind (make setup installs it)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind: {said}");
    let count = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.with_context(|| format!("valgrind printed no count: {said}"))?;
    count.trim().parse().context("valgrind's count")
}
