//! `carve contract http://host:port` checks a server against the contract of GET /qrcode, or against the cases
//! of another route.

use std::path::PathBuf;
use std::process::ExitCode;

use anstream::println;
use clap::Args;
use contract::{Case, Options, Report, Target, case, relay, run};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve contract http://127.0.0.1:8080 --served-by qr-service")]
pub(crate) struct Contract {
    /// The server, as http://host:port
    #[arg(required_unless_present = "list")]
    base: Option<String>,
    /// Run the cases of another route: the *.json of a folder
    #[arg(long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    /// Play the relay's scenarios instead
    #[arg(long, conflicts_with = "cases")]
    relay: bool,
    /// With --relay: leave out what only holds without a proxy in front
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
    /// X-Served-By must be this, or one of these [default: it is not checked]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    served_by: Vec<String>,
    /// Cases under way at once
    #[arg(long, default_value_t = 8, value_name = "COUNT")]
    concurrency: usize,
}

impl Contract {
    /// Exits with 1 if a case failed.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        Ok(if check(&self)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Whether all cases passed.
fn check(arguments: &Contract) -> anyhow::Result<bool> {
    if arguments.relay {
        return check_relay(arguments);
    }
    let cases = chosen(arguments)?;
    if arguments.list {
        cases.iter().for_each(|case| println!("{}", case.name));
        return Ok(true);
    }
    let target = Target::new(arguments.base.as_deref().unwrap_or_default())?;
    let reference_engine = arguments.engine == "reference";
    let served_by = arguments.served_by.clone();
    let options = Options { reference_engine, served_by, concurrency: arguments.concurrency };
    print(&run(&target, &cases, &options), arguments.json)
}

/// Whether all scenarios of the relay passed.
fn check_relay(arguments: &Contract) -> anyhow::Result<bool> {
    let mut scenarios = relay::all()?;
    if let Some(only) = &arguments.only {
        scenarios.retain(|scenario| scenario.name.contains(only.as_str()));
        anyhow::ensure!(!scenarios.is_empty(), "no scenario's name contains {only:?}");
    }
    if arguments.list {
        scenarios.iter().for_each(|scenario| println!("{}", scenario.name));
        return Ok(true);
    }
    let target = Target::new(arguments.base.as_deref().unwrap_or_default())?;
    let report = relay::run(&target, &scenarios, arguments.concurrency, arguments.proxied);
    print(&report, arguments.json)
}

/// Prints the report; returns whether nothing failed.
fn print(report: &Report, json: bool) -> anyhow::Result<bool> {
    if json {
        println!("{}", serde_json::to_string_pretty(report)?);
    } else {
        println!("{report}");
    }
    Ok(report.counts().1 == 0)
}

fn chosen(arguments: &Contract) -> anyhow::Result<Vec<Case>> {
    let mut cases = match &arguments.cases {
        Some(folder) => case::read(folder)?,
        None => case::all()?,
    };
    if let Some(only) = &arguments.only {
        cases.retain(|case| case.name.contains(only.as_str()));
        anyhow::ensure!(!cases.is_empty(), "no case's name contains {only:?}; --list prints them");
    }
    Ok(cases)
}
