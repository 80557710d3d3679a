//! The commands that run beside nginx: `ramp prepare`, `ramp watch`, `ramp follow` and `ramp copy`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use ramp::{At, Nginx, Share, Split, Wanted};

use super::place::Place;
use super::signals::Signals;

#[derive(Args, Debug)]
pub(super) struct Prepare {
    /// The folder of route files
    routes: PathBuf,
    /// The cluster's splits, as mounted: NAME.conf for the routes that somebody has moved. A route that
    /// was prepared before keeps its split
    #[arg(long, value_name = "FOLDER")]
    splits: Option<PathBuf>,
    /// The share of routes that are new here, instead of the one in their files
    #[arg(long, env = "RAMP_FIRST_SHARE", value_name = "PERCENT")]
    share: Option<Share>,
    /// Where the stops lie, best in memory: a full or hung disk cannot hold up a stop then
    #[arg(long, value_name = "FOLDER")]
    stops: Option<PathBuf>,
}

impl Prepare {
    pub(super) fn run(self, place: &Place) -> anyhow::Result<ExitCode> {
        let dir = place.dir()?;
        let routes = route::load(&self.routes)?;
        let before = ramp::prepared(&dir);
        let mut splits = Vec::new();
        for route in routes.iter().filter(|route| !before.contains(&route.name)) {
            let split =
                self.splits.as_ref().map(|folder| folder.join(format!("{}.conf", route.name)));
            if let Some(file) = split.filter(|file| file.is_file()) {
                splits.push((&route.name, ramp::read_split(&file)?));
            }
        }
        // Not before all of them are read: a container that restarts keeps what is prepared, which would be the
        // route file's share where the cluster's was refused.
        ramp::prepare(&dir, &routes, &Wanted::default())?;
        if let Some(share) = self.share {
            for route in routes.iter().filter(|route| !before.contains(&route.name)) {
                // With the generation of the file's share: every proxy has the same as long as nobody sets one.
                let first = Split { share_percent: share, ..Split::first(route) };
                ramp::write(&dir, &route.name, &first)?;
            }
        }
        for (route, split) in splits {
            ramp::write(&dir, route, &split)?;
        }
        ramp::prepare_stops(&dir, self.stops.as_deref())?;
        if let Some(splits) = self.splits {
            for route in &routes {
                let stop = splits.join(format!("{}.stop", route.name));
                if stop.is_file() {
                    ramp::keep_stop(&dir, &route.name)?;
                }
            }
        }
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
        let (dir, cluster) = (place.dir()?, place.cluster()?);
        ramp::follow(&dir, place.admin(), &cluster, *self.every, &signals.received)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
pub(super) struct Copy {
    /// The file of the copy
    file: PathBuf,
    /// The folder of route files: they have the leases
    #[arg(long, value_name = "FOLDER")]
    routes: PathBuf,
}

impl Copy {
    pub(super) fn run(self, place: &Place) -> anyhow::Result<ExitCode> {
        let signals = Signals::watch()?;
        let (dir, cluster) = (place.dir()?, place.cluster()?);
        ramp::prepare(&dir, &route::load(&self.routes)?, &Wanted::default())?;
        ramp::copy(&dir, &self.file, &cluster, &signals.received)?;
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) fn watch(place: &Place) -> anyhow::Result<ExitCode> {
    let signals = Signals::watch()?;
    let (dir, at) = (place.dir()?, At::Here(place.admin()));
    let nginx = |route: &str| Nginx { dir: dir.clone(), route: route.to_owned(), at: at.clone() };
    ramp::watch(&dir, nginx, &signals.received)?;
    Ok(ExitCode::SUCCESS)
}
