//! `ramp simulate`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ramp::Route;
use ramp::gates::Gates;
use ramp::simulate::{equal, simulate, worse};

#[derive(Args, Debug)]
pub(super) struct Simulate {
    /// Ramps of each kind
    #[arg(long, default_value_t = 10_000, value_name = "COUNT")]
    ramps: usize,
    /// The tests [default: those of proxy/ramp/gates.toml, which are built in]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
}

impl Simulate {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let route = Route::parse("simulated", "path = \"/simulated\"")?;
        let gates = Gates::load(self.gates.as_deref(), &route)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "| both sides equal | failing | shares | rolled back | |")?;
        writeln!(out, "| --- | --- | --- | --- | --- |")?;
        for scenario in equal() {
            writeln!(out, "{}", simulate(&gates, scenario, self.ramps))?;
        }
        writeln!(out, "\n| the new side is worse | failing | shares | caught | median / p90 |")?;
        writeln!(out, "| --- | --- | --- | --- | --- |")?;
        for scenario in worse() {
            writeln!(out, "{}", simulate(&gates, scenario, self.ramps))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
