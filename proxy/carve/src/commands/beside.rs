//! `carve prepare`, which runs before nginx starts, and `watch`, `follow` and `copy`, which run beside nginx.

use std::path::PathBuf;
use std::thread;

use carve::local::apply;
use clap::Args;
use rollout::cluster::Cluster;
use rollout::state::By;
use rollout::{Nginx, Share, Split, SplitChange, WATCH};
use route::BaseUrl;

use crate::place::Place;
use crate::signals::Signals;

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve prepare proxy/routes --nginx-dir /tmp/proxy")]
pub(crate) struct Prepare {
    /// The folder of route files
    routes: PathBuf,
    /// The mounted ConfigMap of splits: a NAME.conf for each route whose split was ever changed. A route that
    /// was prepared before keeps its split
    #[arg(long, value_name = "FOLDER")]
    splits: Option<PathBuf>,
    /// The first share of each route that was not prepared before, instead of the one in its file
    #[arg(long, env = "RAMP_FIRST_SHARE", value_name = "PERCENT")]
    share: Option<Share>,
    /// The folder of stop files; put it in memory, so that a full or hung disk cannot delay a stop
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
        // Prepares only once every split is read. A restarted container keeps what is prepared, so preparing earlier
        // would leave the route file's share in place after one of the cluster's splits could not be read.
        rollout::prepare(&dir, &routes, &SplitChange::default())?;
        if let Some(share) = self.share {
            for route in routes.iter().filter(|route| !before.contains(&route.name)) {
                // Keeps the generation of the file's share: all proxies have the same one until somebody sets a share.
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
                    rollout::put_stop(&dir, &route.name, true)?;
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
    /// Follow another machine instead: the URL of its proxy's admin listener, which must be reachable from here
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
    /// The file to keep the copy in
    file: PathBuf,
    /// The folder of route files, which set the leases
    #[arg(long, value_name = "FOLDER")]
    routes: PathBuf,
    #[command(flatten)]
    place: Place,
}

impl Copy {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let signals = Signals::watch()?;
        let (dir, cluster) = (self.place.dir()?, self.place.cluster()?);
        rollout::prepare(&dir, &route::load(&self.routes)?.1, &SplitChange::default())?;
        rollout::copy(&dir, &self.file, &cluster, &signals.received)
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve watch")]
pub(crate) struct Watch {
    /// Follow another machine instead, as `carve follow --from` does; the stack of `carve up` inherits the variable
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
        let prometheus = self.place.prometheus().ok();
        let prometheus = prometheus.as_ref();
        let nginx = |route: &str| {
            let nginx = Nginx::here(dir.clone(), route.to_owned(), admin);
            nginx.acting(by.clone(), webhooks.clone())
        };
        // On a stack of `carve up`, it also reloads nginx when a side's addresses or a certificate change.
        let Some(started) = self.place.kept()? else {
            return rollout::watch(&dir, prometheus, nginx, &signals.received);
        };
        thread::scope(|scope| {
            scope.spawn(|| apply::keep(&started, &signals.received));
            rollout::watch(&dir, prometheus, nginx, &signals.received)
        })
    }
}
