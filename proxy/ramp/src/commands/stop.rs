//! `ramp stop` and `ramp clear`.

use std::process::ExitCode;

use anstream::{eprintln, println};
use clap::Args;
use ramp::Nginx;

#[derive(Args, Debug)]
pub(super) struct Stop {
    /// Why, for the log and for who clears it
    #[arg(long, default_value = "by hand", value_name = "WHY")]
    reason: String,
}

impl Stop {
    pub(super) fn run(self, nginx: &Nginx) -> anyhow::Result<ExitCode> {
        let warning = ramp::stop(nginx, &self.reason)?;
        println!(
            "{} is stopped: every new request of it goes to the old side. `ramp clear --reason WHY` ends \
             that.",
            nginx.route
        );
        if let Some(warning) = warning {
            eprintln!("ramp: {warning}");
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
pub(super) struct Clear {
    /// Why the route may be split again, for the log
    #[arg(long, value_name = "WHY")]
    reason: String,
}

impl Clear {
    pub(super) fn run(self, nginx: &Nginx) -> anyhow::Result<ExitCode> {
        let lock = ramp::take(nginx)?;
        let ended = ramp::clear(nginx, &lock, &self.reason)?;
        println!("{} was {}. Now 0% of it goes to the new side.", nginx.route, ended.said());
        Ok(ExitCode::SUCCESS)
    }
}
