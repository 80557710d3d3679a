//! The routes that are compared, with their sides and judges.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::judge::Judge;
use anyhow::Context;
use http::{HeaderName, Request};
use route::{CarveFile, Route, SideUrl};

use crate::content::Limits;

/// Set by nginx on a mirrored request.
const ROUTE_NAME: &str = "x-route-name";

/// A route with everything needed to compare its sides.
#[derive(Debug)]
pub(crate) struct ComparedRoute {
    pub(crate) route: Route,
    pub(crate) judge: Judge,
    pub(crate) new: SideUrl,
    pub(crate) old: SideUrl,
    /// The request headers that are sent on to both sides.
    pub(crate) sent_headers: Vec<HeaderName>,
    pub(crate) limits: Limits,
}

impl ComparedRoute {
    /// `new`, `old` and `timeout` are used if the route does not name its own. Fails if a header name is invalid or the
    /// judge cannot be made.
    pub(crate) fn of(
        route: Route,
        new: &SideUrl,
        old: &SideUrl,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        let named = |names: Vec<String>| -> anyhow::Result<Vec<HeaderName>> {
            names.iter().map(|name| Ok(name.parse()?)).collect()
        };
        let judge = Judge::new(&route.file.judge, named(route.compared_headers())?)
            .with_context(|| format!("{}.toml", route.name))?;
        let shadow = &route.file.shadow;
        Ok(ComparedRoute {
            limits: Limits {
                timeout: shadow.timeout.map_or(timeout, |time| time.0),
                max_bytes: shadow.max_answer.0,
                needs_bodies: judge.needs_bodies(),
            },
            judge,
            new: route.file.new.url.as_ref().unwrap_or(new).clone(),
            old: route.file.old.url.as_ref().unwrap_or(old).clone(),
            sent_headers: named(route.sent_headers())?,
            route,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.route.name
    }
}

/// Reads a folder's `carve.toml` and its routes in the order in which nginx matches them, without routes of sessions,
/// whose requests are not mirrored.
pub(crate) fn load(
    folder: &Path,
    new: &SideUrl,
    old: &SideUrl,
    timeout: Duration,
) -> anyhow::Result<(CarveFile, Vec<Arc<ComparedRoute>>)> {
    let (carve, mut routes) = route::load(folder)?;
    routes.sort_by_key(|route| route.file.path.rank());
    let mirrored = routes.into_iter().filter(|route| !route.is_session());
    let watched = mirrored.map(|route| ComparedRoute::of(route, new, old, timeout).map(Arc::new));
    Ok((carve, watched.collect::<anyhow::Result<_>>()?))
}

/// A request's route: the one that nginx names in a header, else the one of its path.
pub(crate) fn find<'a, B>(
    routes: &'a [Arc<ComparedRoute>],
    request: &Request<B>,
) -> Option<&'a Arc<ComparedRoute>> {
    match request.headers().get(ROUTE_NAME) {
        Some(name) => routes.iter().find(|one| one.name().as_bytes() == name.as_bytes()),
        None => {
            let path = request.uri().path();
            routes.iter().find(|one| one.route.file.path.matches(path))
        }
    }
}
