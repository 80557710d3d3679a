//! `carve plan`.

use std::process::ExitCode;
use std::time::Duration;

use anstream::println;
use clap::Args;
use evidence::plan::{Pace, lengths, within};
use rollout::{Share, judge};

use route::Ramp;

use super::ramp::{Steps, parse_steps};
use crate::place::OnRoute;

const EXAMPLES: &str = "\
Examples:
  carve plan qrcode
  carve plan qrcode --within 2h

Exit codes: 0 the steps end; 4 one of them never does";
const NEVER_ENDS: u8 = 4;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Plan {
    /// The share of each step [default: those of the route file, else 1,5,25,50,100]
    #[arg(long, value_parser = parse_steps, value_name = "PERCENT,PERCENT...")]
    steps: Option<Steps>,
    /// The shortest time to hold each step [default: that of the route file, else 60s]
    #[arg(long, value_name = "TIME")]
    hold: Option<humantime::Duration>,
    /// Propose steps that together take at most this long
    #[arg(long, value_name = "TIME")]
    within: Option<humantime::Duration>,
    /// How far back to measure the traffic
    #[arg(long, default_value = "1d", value_name = "TIME")]
    past: humantime::Duration,
    /// The gates [default: those of proxy/evidence/gates.toml, which are built in]
    #[arg(long, value_name = "FILE")]
    gates: Option<std::path::PathBuf>,
    #[command(flatten)]
    on: OnRoute,
}

impl Plan {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let nginx = &*self.on.nginx()?;
        let file = nginx.route_file()?;
        let gates = judge::gates(self.gates.as_deref(), &file)?;
        let split = rollout::current(&nginx.route_dir())?;
        if file.file.gateway.is_some() {
            println!(
                "A gateway's counters show no outages and no slow or empty answers: none is judged."
            );
        }
        if !file.mirrors() {
            println!("The shadow gets no requests: no answers are compared.");
        }
        let prometheus = self.on.place.prometheus()?;
        let pace = judge::pace(&gates, &prometheus, &nginx.route, &split, *self.past)?;
        let Pace { requests, compared, .. } = pace;
        println!(
            "In the last {}, {} had {requests:.2} requests a second, and the shadow compared {compared:.2}.",
            self.past, nginx.route
        );
        file.warnings().iter().for_each(|warning| println!("  warning: {warning}"));
        let Ramp { steps, hold, .. } = file.file.ramp;
        let (steps, hold) =
            (&self.steps.map_or(steps, |it| it.0), self.hold.map_or(hold.0, Into::into));
        let lengths = lengths(&gates, &pace, steps, hold);
        for (share, length) in steps.iter().zip(&lengths) {
            println!(
                "{:>6}  {}",
                format!("{share}%"),
                length.map_or("never ends".to_owned(), time)
            );
        }
        let all: Option<Duration> = lengths.into_iter().sum();
        println!("   all  {}", all.map_or("never ends".to_owned(), time));
        let Some(limit) = self.within else {
            return Ok(if all.is_some() { ExitCode::SUCCESS } else { ExitCode::from(NEVER_ENDS) });
        };
        let Some((steps, hold)) = within(&gates, &pace, steps, hold, *limit) else {
            println!("No steps end within {limit}: there are too few requests or comparisons.");
            return Ok(ExitCode::from(NEVER_ENDS));
        };
        let steps: Vec<String> = steps.iter().map(Share::to_string).collect();
        let (route, steps, hold) = (&nginx.route, steps.join(","), time(hold));
        println!("Within {limit}: carve ramp {route} --steps {steps} --hold '{hold}'");
        Ok(ExitCode::SUCCESS)
    }
}

fn time(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs())).to_string()
}
