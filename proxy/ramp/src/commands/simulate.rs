//! `ramp simulate`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ramp::Route;
use ramp::gates::Gates;
use ramp::simulate::{Scenario, equal, simulate, worse};

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
        let gates = |rest: &str| {
            let route = Route::parse("simulated", &format!("path = \"/simulated\"\n{rest}"))?;
            Gates::load(self.gates.as_deref(), &route)
        };
        let (plain, with_noise) = (gates("")?, gates("shadow.noise = 20")?);
        let outcome = |scenario: Scenario| {
            let gates = if scenario.has_noise() { &with_noise } else { &plain };
            simulate(gates, scenario, self.ramps)
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "| both sides equal | failing | shares | rolled back | |")?;
        writeln!(out, "| --- | --- | --- | --- | --- |")?;
        for scenario in equal() {
            writeln!(out, "{}", outcome(scenario))?;
        }
        writeln!(out, "\n| the new side is worse | failing | shares | caught | median / p90 |")?;
        writeln!(out, "| --- | --- | --- | --- | --- |")?;
        for scenario in worse() {
            writeln!(out, "{}", outcome(scenario))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
