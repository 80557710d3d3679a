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
use qr_bench::turns::{take_turns, time};
use serde::Serialize;

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

/// One figure of `core.json`.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    input: &'static str,
    /// Median over the rounds, in nanoseconds per call.
    ns_per_op: f64,
    /// First and third quartile over the rounds.
    ns_spread: [f64; 2],
    /// Median size of the PNG; `None` for an encoder without PNG.
    bytes: Option<usize>,
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
    let row = |(maker, quartile): (&Maker, [f64; 3])| {
        let mut bytes: Vec<_> =
            texts.iter().filter_map(|t| (maker.make)(t, &mut Vec::new())).collect();
        bytes.sort_unstable();
        Row {
            name: maker.name,
            input,
            ns_per_op: quartile[1],
            ns_spread: [quartile[0], quartile[2]],
            bytes: bytes.get(bytes.len() / 2).copied(),
        }
    };
    Ok(makers.iter().zip(times).map(row).collect())
}

fn print_table(rows: &[Row]) {
    println!("µs per call, median (quartiles); bytes of the PNG; ratio to the first row\n");
    for input in &INPUTS {
        println!("{}", input.name);
        let of_input = || rows.iter().filter(|row| row.input == input.name);
        let first = of_input().next().map_or(1.0, |row| row.ns_per_op);
        for row in of_input() {
            println!(
                "  {:<22} {:>9.2}  ({:>8.2} - {:>8.2}) {:>6}  {:>7.1}x",
                row.name,
                row.ns_per_op / 1e3,
                row.ns_spread[0] / 1e3,
                row.ns_spread[1] / 1e3,
                row.bytes.map_or(String::new(), |bytes| bytes.to_string()),
                row.ns_per_op / first,
            );
        }
    }
}
