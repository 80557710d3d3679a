//! `carve contract http://host:port` checks a server against the contract of GET /qrcode, or against the cases
//! of another route.

use std::path::PathBuf;
use std::process::ExitCode;

use anstream::println;
use anyhow::ensure;
use clap::Args;
use contract::{Options, Report, Target, case, relay, run};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve contract http://127.0.0.1:8080 --served-by qr-service")]
pub(crate) struct Contract {
    /// The server, as http://host:port
    #[arg(required_unless_present = "list")]
    base: Option<String>,
    /// Run the cases of another route: every *.json file of this folder
    #[arg(long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    /// Play the relay's scenarios instead
    #[arg(long, conflicts_with = "cases")]
    relay: bool,
    /// With --relay: leave out the scenarios that hold only without a proxy in front
    #[arg(long, requires = "relay")]
    proxied: bool,
    /// Run only the cases whose name contains this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print the names of the cases and run none
    #[arg(long)]
    list: bool,
    /// QR_ENGINE of the service; with "reference", size and modules are not checked
    #[arg(long, default_value = "default", value_parser = ["default", "reference"])]
    engine: String,
    /// Allowed values of X-Served-By [default: it is not checked]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    served_by: Vec<String>,
    /// Number of cases that run at once
    #[arg(long, default_value_t = 8, value_name = "COUNT")]
    concurrency: usize,
}

impl Contract {
    /// Exits with 1 if a case failed.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let report = if self.relay { self.play()? } else { self.check()? };
        let Some(report) = report else { return Ok(ExitCode::SUCCESS) };
        match self.json {
            true => println!("{}", serde_json::to_string_pretty(&report)?),
            false => println!("{report}"),
        }
        Ok(ExitCode::from(u8::from(report.counts().1 > 0)))
    }

    /// Runs the cases; `None` with `--list`, which only prints their names.
    fn check(&self) -> anyhow::Result<Option<Report>> {
        let cases = self.cases.as_ref().map_or_else(case::all, |folder| case::read(folder))?;
        let Some((target, cases)) = self.chosen(cases, |case| &case.name)? else { return Ok(None) };
        let (reference_engine, served_by) = (self.engine == "reference", self.served_by.clone());
        let options = Options { reference_engine, served_by, concurrency: self.concurrency };
        Ok(Some(run(&target, &cases, &options)))
    }

    /// Plays the relay's scenarios; `None` with `--list`, which only prints their names.
    fn play(&self) -> anyhow::Result<Option<Report>> {
        let chosen = self.chosen(relay::all()?, |scenario| &scenario.name)?;
        Ok(chosen.map(|(target, all)| relay::run(&target, &all, self.concurrency, self.proxied)))
    }

    /// The server, and those of `all` that `--only` selects; `None` with `--list`, which only prints their names.
    fn chosen<T>(
        &self,
        mut all: Vec<T>,
        name: fn(&T) -> &String,
    ) -> anyhow::Result<Option<(Target, Vec<T>)>> {
        if let Some(only) = &self.only {
            all.retain(|one| name(one).contains(only));
            ensure!(!all.is_empty(), "no case's name contains {only:?}; --list prints them");
        }
        if self.list {
            all.iter().for_each(|one| println!("{}", name(one)));
            return Ok(None);
        }
        Ok(Some((Target::new(self.base.as_deref().unwrap_or_default())?, all)))
    }
}
