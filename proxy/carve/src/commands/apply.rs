//! `carve apply`.

use anstream::println;
use carve::local::apply::apply;
use clap::Args;

use crate::place::RunDir;

const EXAMPLES: &str = "\
Example:
  carve apply

Existing routes keep their share, and the share of --mirror unless shadow.percent has changed. The sides' addresses and the set of parts stay as `carve up` started them.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Apply {
    #[command(flatten)]
    run: RunDir,
}

impl Apply {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let exchanged = apply(&self.run.started()?)?;
        for (routes, what) in [
            (&exchanged.added, "new"),
            (&exchanged.changed, "changed"),
            (&exchanged.removed, "removed"),
        ] {
            routes.iter().for_each(|route| println!("  route {route:<6} {what}"));
        }
        let is_same = exchanged == rollout::Changes::default();
        println!("{}", if is_same { "Nothing has changed." } else { "In force." });
        Ok(())
    }
}
