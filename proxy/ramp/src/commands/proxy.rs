//! The commands that run in the pods of the proxies: `ramp prepare` and `ramp follow`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::place::Place;
use super::signals::Signals;

#[derive(Args, Debug)]
pub(super) struct Prepare {
    /// The cluster's split.conf, as mounted
    file: PathBuf,
}

impl Prepare {
    pub(super) fn run(self, place: &Place) -> anyhow::Result<ExitCode> {
        ramp::copy(&self.file, &place.nginx_dir)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
pub(super) struct Follow {
    /// The time between two requests to Kubernetes
    #[arg(long, default_value = "1s", value_name = "TIME")]
    every: humantime::Duration,
}

impl Follow {
    pub(super) fn run(self, place: &Place) -> anyhow::Result<ExitCode> {
        let signals = Signals::watch()?;
        let (nginx, cluster) = (place.local_nginx()?, place.cluster()?);
        ramp::follow(&nginx, &cluster, *self.every, &signals.received)?;
        Ok(ExitCode::SUCCESS)
    }
}
