//! Compares qr-core with other libraries. All functions take turns in each round, so if the machine gets
//! slower, it does for all of them. Prints a table of medians and writes `target/bench/core.json`.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use anstream::println;
use clap::Parser;
use qr_bench::files::write_json;
use qr_bench::inputs::INPUTS;
use qr_bench::makers::{self, Maker};
use qr_bench::turns::{Row, print_table, take_turns, time};

/// Measures text to PNG by qr-core and by other libraries.
#[derive(Parser)]
struct Arguments {
    /// Rounds; each function has one turn per round
    #[arg(long, default_value_t = 31)]
    rounds: usize,
    /// Minimum time of a turn, in milliseconds
    #[arg(long, default_value_t = 4)]
    turn_ms: u64,
    /// Measure only functions whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// File for the figures
    #[arg(long, default_value = "target/bench/core.json")]
    out: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut makers = makers::makers();
    makers.retain(|m| arguments.only.as_ref().is_none_or(|only| m.name.contains(only.as_str())));
    let mut rows = Vec::new();
    for input in &INPUTS {
        rows.extend(measure(&mut makers, input.name, &input.texts(), &arguments)?);
    }
    print_table(&rows);
    write_json(&arguments.out, &rows)?;
    println!("\n{}", arguments.out.display());
    Ok(())
}

/// Measures all makers on one kind of text, in turn, round by round.
fn measure(
    makers: &mut [Maker],
    input: &'static str,
    texts: &[String],
    arguments: &Arguments,
) -> anyhow::Result<Vec<Row>> {
    let least = Duration::from_millis(arguments.turn_ms);
    let mut out = Vec::new();
    let times = take_turns(makers, arguments.rounds, |maker| {
        Ok(time(least, texts, |text| {
            black_box((maker.make)(text, &mut out));
        }))
    })?;
    let row = |(maker, quartiles): (&Maker, [f64; 3])| {
        let sizes = texts.iter().filter_map(|text| (maker.make)(text, &mut Vec::new()));
        Row::new(("png", maker.name, input), quartiles, sizes)
    };
    Ok(makers.iter().zip(times).map(row).collect())
}
