//! `carve plan`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use evidence::simulate::{Scenario, equal, simulate, worse};
use rollout::{Route, Share};

use crate::place::Place;

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve plan qrcode --ramps 1000")]
pub(crate) struct Plan {
    /// The route whose gates are played [default: those that every route begins with]
    route: Option<String>,
    /// Ramps of each kind
    #[arg(long, default_value_t = 10_000, value_name = "COUNT")]
    ramps: usize,
    /// The tests [default: those of proxy/evidence/gates.toml, which are built in]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Plan {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let route = match &self.route {
            Some(name) => self.place.nginx(Some(name))?.route_file()?,
            None => Route::parse("simulated", "path = \"/simulated\"\n")?,
        };
        let gates = |noise: Share| {
            let mut route = route.clone();
            route.file.shadow.noise = noise;
            rollout::judge::gates(self.gates.as_deref(), &route)
        };
        let (plain, with_noise) = (gates(Share::NONE)?, gates(Share::percent(20)?)?);
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
