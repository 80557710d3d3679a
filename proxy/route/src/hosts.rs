//! The app and the routes of each host.

use anyhow::ensure;

use crate::carve_file::{CarveFile, Host};
use crate::file::Route;
use crate::units::HostName;

impl CarveFile {
    /// The file's entry for this host; `None` if the host belongs to the app of `carve up`.
    fn host(&self, name: &str) -> Option<&Host> {
        let exactness = |host: &Host| host.names.iter().filter_map(|it| it.covers(name)).max();
        let hosts = self.hosts.iter().filter_map(|host| Some((exactness(host)?, host)));
        hosts.max_by_key(|(exactness, _)| *exactness).map(|(_, host)| host)
    }

    /// Whether the route has requests for this host, which is named without its port.
    pub fn has(&self, host: &str, route: &Route) -> bool {
        match &route.file.hosts[..] {
            [] => self.host(host).is_none(),
            hosts => hosts.iter().any(|name| name.covers(host).is_some()),
        }
    }
}

/// Hosts with the same app and the same routes, which are one server of nginx.
pub(crate) struct Site<'a> {
    /// The hosts' names; empty for the site of all hosts that no file names.
    pub(crate) names: Vec<&'a HostName>,
    pub(crate) host: Option<&'a Host>,
    pub(crate) routes: Vec<&'a Route>,
}

/// The servers of nginx, with their routes in the order of [`Path::rank`](crate::path::Path::rank). The first one serves
/// all hosts that no file names.
pub(crate) fn sites<'a>(carve: &'a CarveFile, routes: &'a [Route]) -> Vec<Site<'a>> {
    let of_apps = carve.hosts.iter().flat_map(|host| &host.names);
    let of_routes = routes.iter().flat_map(|route| &route.file.hosts);
    let mut names: Vec<_> = of_apps.chain(of_routes).collect();
    names.sort();
    names.dedup();
    let mut routes: Vec<_> = routes.iter().collect();
    routes.sort_by_key(|route| route.file.path.rank());
    let everywhere = routes.iter().copied().filter(|route| route.file.hosts.is_empty()).collect();
    let mut sites = vec![Site { names: Vec::new(), host: None, routes: everywhere }];
    for name in names {
        let host = carve.host(name.as_str());
        let here = routes.iter().copied().filter(|it| carve.has(name.as_str(), it));
        let here: Vec<_> = here.collect();
        match sites[1..].iter_mut().find(|site| site.host == host && site.routes == here) {
            Some(site) => site.names.push(name),
            None => sites.push(Site { names: vec![name], host, routes: here }),
        }
    }
    sites
}

/// Sets the old side of each route that names hosts but no `old.url` to the app of its hosts. An error has one line for
/// each two routes with the same path at one host, or with names that become the same in nginx' variables, and for each
/// route whose hosts have several apps.
pub fn settle(carve: &CarveFile, routes: &mut [Route]) -> anyhow::Result<()> {
    let sites = sites(carve, routes);
    let mut mistakes = Vec::new();
    let mut apps = Vec::new();
    for (at, route) in routes.iter().enumerate() {
        for other in &routes[..at] {
            let mut mistake = |what: &str| {
                mistakes.push(format!("{}.toml and {}.toml {what}", route.name, other.name));
            };
            let path = &route.file.path;
            let have_both =
                |site: &Site<'_>| [route, other].iter().all(|it| site.routes.contains(it));
            if other.file.path == *path && sites.iter().any(have_both) {
                mistake(&format!("have the same path, {path}"));
            }
            if other.variable() == route.variable() {
                mistake("differ only in hyphens");
            }
        }
        let here = sites.iter().filter(|site| site.routes.contains(&route));
        let here: Vec<_> = here.map(|site| site.host.map(|host| &host.app)).collect();
        if route.file.old.url.is_none() && here.iter().any(|app| *app != here[0]) {
            mistakes.push(format!(
                "{}.toml: hosts: they have several apps, so set old.url",
                route.name
            ));
        }
        apps.push(here.first().copied().flatten().cloned());
    }
    ensure!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    for (route, app) in routes.iter_mut().zip(apps) {
        let url = &mut route.file.old.url;
        *url = url.take().or(app);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
