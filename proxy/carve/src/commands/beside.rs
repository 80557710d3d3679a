//! What prepares nginx and what runs beside it: `carve prepare`, `watch`, `follow` and `copy`.

use std::path::PathBuf;
use std::thread;

use carve::local::apply;
use clap::Args;
use rollout::cluster::Cluster;
use rollout::state::By;
use rollout::{Nginx, Share, Split, WATCH, Wanted};
use route::BaseUrl;

use crate::place::Place;
use crate::signals::Signals;

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve prepare proxy/routes --nginx-dir /tmp/proxy")]
pub(crate) struct Prepare {
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
    #[command(flatten)]
    place: Place,
}

impl Prepare {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let dir = self.place.dir()?;
        let (_, routes) = route::load(&self.routes)?;
        let before = rollout::prepared(&dir);
        let mut splits = Vec::new();
        for route in routes.iter().filter(|route| !before.contains(&route.name)) {
            let split =
                self.splits.as_ref().map(|folder| folder.join(format!("{}.conf", route.name)));
            if let Some(file) = split.filter(|file| file.is_file()) {
                splits.push((&route.name, rollout::read_split(&file)?));
            }
        }
        // Not before all of them are read: a container that restarts keeps what is prepared, which would be the
        // route file's share where the cluster's was refused.
        rollout::prepare(&dir, &routes, &Wanted::default())?;
        if let Some(share) = self.share {
            for route in routes.iter().filter(|route| !before.contains(&route.name)) {
                // With the generation of the file's share: every proxy has the same as long as nobody sets one.
                let first = Split { share_percent: share, ..Split::first(route) };
                rollout::write(&dir, &route.name, &first)?;
            }
        }
        for (route, split) in splits {
            rollout::write(&dir, route, &split)?;
        }
        rollout::prepare_stops(&dir, self.stops.as_deref())?;
        if let Some(splits) = self.splits {
            for route in &routes {
                let stop = splits.join(format!("{}.stop", route.name));
                if stop.is_file() {
                    rollout::keep_stop(&dir, &route.name)?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  carve follow --target kubernetes --nginx-dir /run/proxy\n  \
    carve follow --from http://10.0.0.1:8081")]
pub(crate) struct Follow {
    /// Follow another machine instead: the admin listener of its proxy, which may be reached from here
    #[arg(long, env = "RAMP_FROM", value_name = "URL")]
    from: Option<BaseUrl>,
    #[command(flatten)]
    place: Place,
}

impl Follow {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let signals = Signals::watch()?;
        let dir = self.place.dir()?;
        let cluster = match &self.from {
            Some(url) => Cluster::of_a_machine(url, &dir)?,
            None => self.place.cluster()?,
        };
        rollout::follow(&dir, self.place.admin()?, &cluster, &signals.received)
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve copy /run/cluster/split.json --routes /etc/routes")]
pub(crate) struct Copy {
    /// The file of the copy
    file: PathBuf,
    /// The folder of route files: they have the leases
    #[arg(long, value_name = "FOLDER")]
    routes: PathBuf,
    #[command(flatten)]
    place: Place,
}

impl Copy {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let signals = Signals::watch()?;
        let (dir, cluster) = (self.place.dir()?, self.place.cluster()?);
        rollout::prepare(&dir, &route::load(&self.routes)?.1, &Wanted::default())?;
        rollout::copy(&dir, &self.file, &cluster, &signals.received)
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve watch")]
pub(crate) struct Watch {
    /// Follow another machine instead, as `carve follow --from` does: so does what `carve up` has started there
    #[arg(long, env = "RAMP_FROM", value_name = "URL")]
    from: Option<BaseUrl>,
    #[command(flatten)]
    place: Place,
}

impl Watch {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.from.is_some() {
            return Follow { from: self.from, place: self.place }.run();
        }
        let signals = Signals::watch()?;
        let (dir, admin) = (self.place.dir()?, self.place.admin()?);
        let (by, webhooks) = (By::itself(WATCH), self.place.webhooks());
        let nginx = |route: &str| {
            let nginx = Nginx::here(dir.clone(), route.to_owned(), admin);
            nginx.acting(by.clone(), webhooks.clone())
        };
        // Of what `carve up` has started, it keeps nginx at the sides' names and at certificates too.
        let Some(started) = self.place.kept()? else {
            return rollout::watch(&dir, nginx, &signals.received);
        };
        thread::scope(|scope| {
            scope.spawn(|| apply::keep(&started, &signals.received));
            rollout::watch(&dir, nginx, &signals.received)
        })
    }
}
