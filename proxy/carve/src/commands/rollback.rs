//! `carve rollback` and `carve clear`.

use anstream::{eprintln, println};
use clap::Args;

use crate::place::{OnRoute, ReasonArgs};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve rollback qrcode --reason 'wrong pictures'")]
pub(crate) struct Rollback {
    /// Why, for the log and for whoever clears it
    #[arg(long, default_value = "by hand", value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    on: OnRoute,
}

impl Rollback {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let nginx = self.on.nginx_to_stop()?;
        let warning = rollout::stop(&nginx, &self.reason)?;
        println!(
            "{} is stopped: every new request of it goes to the old side. `carve clear {0} --reason WHY` \
             ends the stop.",
            nginx.route
        );
        if let Some(warning) = warning {
            eprintln!("carve: {warning}");
        }
        Ok(())
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve clear qrcode --reason 'pictures are right again'")]
pub(crate) struct Clear {
    /// Why the route may be split again, for the log
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    on: OnRoute,
}

impl Clear {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let nginx = self.on.nginx_because(&ReasonArgs::default())?;
        let lock = rollout::take(&nginx)?;
        let ended = rollout::clear(&nginx, &lock, &self.reason)?;
        println!("{} was {}. Its share is now 0%.", nginx.route, ended.said());
        Ok(())
    }
}
