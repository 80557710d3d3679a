//! `carve split`.

use std::process::ExitCode;

use anstream::{eprintln, println};
use clap::Args;
use rollout::{Changed, Key, Share, SplitChange};
use service_kit::arguments::Usage;

use crate::place::{OnRoute, ReasonArgs};
use crate::signals::Signals;

const EXAMPLES: &str = "\
Examples:
  carve split qrcode 25
  carve split 12.5 --mirror 5
  carve split qrcode --key cookie:user";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Split {
    /// The new side's share: 0 to 100, in steps of 0.01 [default: unchanged]
    #[arg(index = 2)]
    percent: Option<Share>,
    /// The value that assigns a request to a side: request, client, query,
    /// parameter:NAME, header:NAME or cookie:NAME [default: unchanged]
    #[arg(long)]
    key: Option<Key>,
    /// The share of the route's requests that nginx mirrors to the shadow: 0 to 100 [default: unchanged]
    #[arg(long, value_name = "PERCENT")]
    mirror: Option<Share>,
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    on: OnRoute,
}

impl Split {
    pub(crate) fn run(mut self) -> anyhow::Result<ExitCode> {
        let share;
        (self.on.route, share) = told_apart(self.on.route, self.percent)?;
        if share.is_none() && self.key.is_none() && self.mirror.is_none() {
            return Err(Usage("<PERCENT>, --key or --mirror is missing".to_owned()).into());
        }
        let nginx = self.on.nginx_because(&self.why)?;
        let signals = Signals::watch()?;
        let wanted = SplitChange { share, key: self.key, mirror: self.mirror, held: None };
        match rollout::set(&nginx, &wanted, &signals.received) {
            Ok(Changed { stopped: Some(why), .. }) => {
                println!(
                    "{} is stopped: every new request of it goes to the old side. The share could not be \
                     set: {why}. `carve clear {0} --reason WHY` ends the stop.",
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
                eprintln!("carve: {error:#}");
                Ok(code)
            }
        }
    }
}

/// Tells a single argument apart: one that does not begin with a letter is the share, since the names of routes do.
/// Fails if such a share is not valid.
fn told_apart(
    route: Option<String>,
    share: Option<Share>,
) -> Result<(Option<String>, Option<Share>), Usage> {
    match route {
        Some(word) if share.is_none() && !word.starts_with(|c: char| c.is_alphabetic()) => {
            let share = word.parse();
            Ok((None, Some(share.map_err(|problem| Usage(format!("PERCENT: {problem}")))?)))
        }
        route => Ok((route, share)),
    }
}
