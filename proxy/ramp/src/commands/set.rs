//! `ramp set`.

use std::process::ExitCode;

use anstream::{eprintln, println};
use clap::Args;
use ramp::{Changed, Key, Nginx, Share, Wanted};

use super::signals::Signals;

#[derive(Args, Debug)]
pub(super) struct Set {
    /// The new side's share: 0 to 100, in steps of 0.01
    #[arg(required_unless_present_any = ["key", "mirror"])]
    percent: Option<Share>,
    /// The value that assigns a request to a side: request, client, query,
    /// parameter:NAME, header:NAME or cookie:NAME [default: unchanged]
    #[arg(long)]
    key: Option<Key>,
    /// The share of the route's requests that nginx mirrors to the shadow: 0 to 100 [default: unchanged]
    #[arg(long, value_name = "PERCENT")]
    mirror: Option<Share>,
}

impl Set {
    pub(super) fn run(self, nginx: &Nginx) -> anyhow::Result<ExitCode> {
        let signals = Signals::watch()?;
        let wanted = Wanted { share: self.percent, key: self.key, mirror: self.mirror, held: None };
        match ramp::set(nginx, &wanted, &signals.received) {
            Ok(Changed { stopped: Some(why), .. }) => {
                println!(
                    "{} is stopped: every new request of it goes to the old side. The share could not be \
                     set: {why}. `ramp clear --reason WHY` ends the stop.",
                    nginx.route
                );
                Ok(ExitCode::SUCCESS)
            }
            Ok(Changed { split, superseded, .. }) => {
                if let Some(run) = superseded {
                    println!("This discards the unfinished run ({run}).");
                }
                println!("{}% of {} goes to the new side.", split.share_percent, nginx.route);
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                let Some(code) = signals.exit_code() else { return Err(error) };
                eprintln!("ramp: {error:#}");
                Ok(code)
            }
        }
    }
}
