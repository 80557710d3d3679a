//! `carve retire`.

use std::process::ExitCode;

use anstream::println;
use clap::Args;
use rollout::judge;

use crate::place::OnRoute;

const EXAMPLES: &str = "\
Example:
  carve retire qrcode

Exit codes: 0 nothing reaches the old side; 4 something does";
const STILL_NEEDED: u8 = 4;

/// How requests of a route reach the old side, as arm and side of the edge's counts.
const WAYS: [(&str, &[&str]); 5] = [
    ("by the split or a rollback", &["old/old"]),
    ("since the new side failed", &["new/fallback", "chosen/fallback"]),
    ("since the new side declined", &["new/declined", "chosen/declined"]),
    ("since their client chose the side", &["chosen/old"]),
    (
        "since their method or spelling is not the route's, such as //PATH, /PATH/ or other cases",
        &["none/old"],
    ),
];

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Retire {
    /// How far back to look
    #[arg(long, default_value = "1d", value_name = "TIME")]
    past: humantime::Duration,
    #[command(flatten)]
    on: OnRoute,
}

impl Retire {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let nginx = &*self.on.nginx()?;
        let prometheus = self.on.place.prometheus()?;
        let (known, ways, spellings) = judge::ways(&prometheus, &nginx.route, *self.past)?;
        let time = humantime::format_duration(known);
        let count = |some: &[&str]| some.iter().filter_map(|way| ways.get(*way)).sum::<f64>();
        let new = count(&["new/new", "chosen/new", "old/rescue"]);
        println!("In the last {time}, the new side answered {new:.0} requests of {}.", nginx.route);
        let mut all = 0.0;
        for (why, some) in WAYS {
            let count = count(some).ceil();
            all += count;
            println!("{count:>10.0}  reached the old side {why}");
        }
        for (spelling, count) in spellings.iter().filter(|(_, count)| **count > 0.0) {
            println!("{:>10.0}    of the latter: {spelling}", count.ceil());
        }
        if all == 0.0 && new > 0.0 && known >= *self.past {
            println!("Nothing needs the old side's code of {}: it can be deleted.", nginx.route);
            return Ok(ExitCode::SUCCESS);
        }
        let why = match all {
            0.0 if new > 0.0 => format!("Prometheus knows only {time}"),
            0.0 => "there were no requests".to_owned(),
            _ => "these requests need it".to_owned(),
        };
        println!("Keep the old side's code: {why}.");
        Ok(ExitCode::from(STILL_NEEDED))
    }
}
