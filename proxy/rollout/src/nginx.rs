//! A route whose split can change.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::bail;
use route::{Route, Share};

use crate::folder::{self, prepared, route_dir};
use crate::machine::{self, Machine, OneRoute};
use crate::split::{self, ServedRoute, Split};
use crate::state::{By, State};
use crate::store::{Files, Store};
use crate::traffic::{Homes, Patience, Traffic};
use crate::webhooks::{Event, Webhooks};

/// A route, the store of its state, and the traffic to move.
#[derive(Clone, Debug)]
pub struct Nginx {
    /// For one nginx, its prefix, with its configuration and `nginx.pid`. For a cluster, a folder for
    /// a copy of the cluster's splits.
    pub dir: PathBuf,
    /// The route.
    pub route: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) traffic: Arc<dyn Traffic>,
    /// On whose behalf this acts.
    pub(crate) by: By,
    /// The webhooks that hear of it.
    webhooks: Webhooks,
}

impl Nginx {
    /// A route of this machine's nginx. `dir` is nginx' prefix, and `admin` the address of its admin listener.
    pub fn here(dir: PathBuf, route: String, admin: SocketAddr) -> Self {
        let store = Files { nginx_dir: dir.clone(), route: route.clone() };
        let one = OneRoute { machine: Machine { dir: dir.clone(), admin }, route: route.clone() };
        Nginx::of(dir, route, Arc::new(store), Arc::new(one), machine::PATIENCE)
    }

    pub(crate) fn of(
        dir: PathBuf,
        route: String,
        store: Arc<dyn Store>,
        front: Arc<dyn Traffic>,
        patience: Patience,
    ) -> Self {
        let route_dir = route_dir(&dir, &route);
        let traffic = match split::is_of_sessions(&route_dir) {
            true => Arc::new(Homes { route_dir, front, patience }),
            false => front,
        };
        let (by, webhooks) = (By::default(), Webhooks::default());
        Nginx { dir, route, store, traffic, by, webhooks }
    }

    /// Acts on behalf of `by`, and reports to `webhooks`.
    #[must_use]
    pub fn acting(self, by: By, webhooks: Webhooks) -> Self {
        Nginx { by, webhooks, ..self }
    }

    /// The webhooks that hear of this route.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// Queues an event of a run, or of a change by hand, for the webhooks. Does not wait for them.
    pub(crate) fn tell(
        &self,
        event: &'static str,
        run: Option<&State>,
        share: Share,
        reason: &str,
    ) {
        self.webhooks.tell(Event {
            time: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            event,
            route: self.route.clone(),
            run: run.map(|run| run.run.clone()).unwrap_or_default(),
            phase: run.map_or("", |run| run.phase.as_str()),
            share_percent: share,
            actor: run.map_or(&*self.by.actor, State::actor).to_owned(),
            reason: reason.to_owned(),
            text: String::new(),
        });
    }

    /// The folder of the route's `split.conf` and of ramp's other files.
    pub fn route_dir(&self) -> PathBuf {
        route_dir(&self.dir, &self.route)
    }

    /// Whether this is a route of sessions, whose homes choose the side, so that nginx is not reloaded.
    pub fn is_of_sessions(&self) -> bool {
        split::is_of_sessions(&self.route_dir())
    }

    /// The route's file as it was prepared. Fails if it cannot be read.
    pub fn route_file(&self) -> anyhow::Result<Route> {
        folder::route_file(&self.route_dir())
    }

    /// Asks nginx over a new connection which split of the route it serves; for a route of sessions, asks the homes.
    /// Fails if there is no answer, the answer is not a split, or the cluster's proxies differ.
    pub fn served(&self) -> anyhow::Result<Split> {
        self.traffic.served()
    }

    /// Describes the process that holds the route's lock or, on a cluster, its run; `None` if none does.
    pub fn holder(&self) -> anyhow::Result<Option<String>> {
        self.store.holder()
    }

    /// Saves the state of a run, and gives the run up so that another process may take it over.
    pub(crate) fn keep(&self, state: &State) -> anyhow::Result<()> {
        state.save(&self.route_dir())?;
        self.store.claim().map_or(Ok(()), |claim| claim.let_go(state))
    }
}

/// The named route, or else the only route of this nginx. If exactly one route is not of sessions, it is chosen, so
/// that commands without a name still work after a route of sessions was added. Fails if the named route does not
/// exist, or the choice is not unique.
pub fn choose_here(nginx_dir: &Path, named: Option<&str>) -> anyhow::Result<String> {
    let known = |name: String| {
        let sessions = split::is_of_sessions(&route_dir(nginx_dir, &name));
        ServedRoute { name, sessions }
    };
    choose(prepared(nginx_dir).into_iter().map(known).collect(), named)
}

/// As [`choose_here`], among these routes.
pub fn choose(mut routes: Vec<ServedRoute>, named: Option<&str>) -> anyhow::Result<String> {
    if named.is_none() && routes.iter().filter(|route| !route.sessions).count() == 1 {
        routes.retain(|route| !route.sessions);
    }
    let routes: Vec<String> = routes.into_iter().map(|route| route.name).collect();
    let all = routes.join(", ");
    match named {
        Some(name) if routes.iter().any(|route| route == name) => Ok(name.to_owned()),
        Some(name) => bail!("there is no route {name:?}; the routes are {all}"),
        None => match <[String; 1]>::try_from(routes) {
            Ok([only]) => Ok(only),
            Err(routes) if routes.is_empty() => bail!("nginx has no routes yet"),
            Err(_) => bail!("which route? ROUTE is one of {all}"),
        },
    }
}
