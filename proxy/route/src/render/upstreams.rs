//! `upstreams.conf`: the groups of servers.

use std::fmt::Write;

use super::{HEAD, Upstreams, front, hosts, session};
use crate::carve_file::{App, CarveFile};
use crate::file::{Fallback, Route};
use crate::side::SideUrl;

const ABOUT: &str = "#
# nginx closes idle connections before the sides do (keep_alive of carve.toml), since otherwise a request could use a
# connection that is closing. keepalive_requests ends each connection after some seconds of load, so that a new pod
# gets its share: a Service of Kubernetes balances connections, not requests.
#
# Passive health: after three failures of a listing, nginx sends its server no requests for some seconds, then tries it
# with one, so only a few clients wait for the timeout of a server that is down or hangs. Where no other server or side
# answers meanwhile, max_fails=0, unless carve.toml has app.pause for the app and its routes: six requests that the
# server drops would fail everybody's. Each server is listed twice, because nginx ignores max_fails in a group of one,
# and because a request that failed on a stale kept connection is repeated at the other listing (nginx.conf). Each route
# has groups of its own, so that a route that hangs does not affect the pages or other routes. old serves the pages, new
# the locations of app-locations.conf. The zone lets all workers count failures together.
";

const RESOLVED: &str = "#
# With `resolve`, every address of a name is a server of its own: nginx stops using a pod that hangs, refuses
# connections or is broken, and goes on with the others. It asks DNS every 2 s. If DNS does not answer, it keeps the
# addresses; if DNS has none, the group is empty, and the other side answers. The second listing, the same pods as
# backup, is for the case of a single pod: with it max_fails works, and a request that failed on a stale connection is
# repeated. max_conns applies to each pod.

include resolver.conf; # the DNS servers; start.sh writes it
";

/// Idle connections that each worker keeps to a side. If more connections become idle in one round of its event loop,
/// the worker closes the rest and must open new ones for the next requests.
const KEPT: u32 = 256;
/// How long a side of a route gets no requests after failures. The other side answers meanwhile.
const ROUTE_PAUSE: &str = "5s";
/// How long a server of an app with several gets no requests after failures.
const APP_PAUSE: &str = "2s";
/// nginx waits for the shadow's answer so shortly that a late one is no failure: it has the request.
const SHADOW: &str = "max_fails=0";

pub(super) fn groups(carve: &CarveFile, routes: &[Route], upstreams: &Upstreams) -> String {
    let about = if upstreams.resolved.is_empty() { "" } else { RESOLVED };
    let mut groups = Groups { upstreams, app: &carve.app, text: format!("{HEAD}{ABOUT}{about}") };
    groups.asked("new", &upstreams.new);
    let of_hosts = (1..).zip(&carve.hosts).map(|(number, host)| (hosts::group(number), &host.app));
    for (name, app) in [("old".to_owned(), &upstreams.old)].into_iter().chain(of_hosts) {
        groups.alone(&name, app);
        // A group of its own, since HTTP/2 connections must not be kept among others.
        if front::has_grpc(carve) {
            groups.group(&format!("{name}_grpc"), app, &["max_fails=0"], 32);
        }
    }
    groups.group("shadow", &upstreams.shadow.clone().into(), &[SHADOW; 2], 16);
    let prometheus = upstreams.prometheus.authority();
    groups.text += &format!("\nupstream prometheus {{\n    server {prometheus};\n}}\n");
    for route in routes {
        let (name, file) = (route.variable(), &route.file);
        let _ = write!(groups.text, "\n# {}\n", route.name);
        if route.is_session() {
            groups.text += &session::upstreams(route);
            continue;
        }
        let (old, new) = (upstreams.old_of(route), upstreams.new_of(route));
        let has_fallback = route.fallback() != Fallback::None;
        let is_rescued = route.fallback() == Fallback::Both;
        for (which, url, has_other) in [("new", new, has_fallback), ("old", old, is_rescued)] {
            match has_other {
                true => groups.watched(&format!("{name}_{which}"), url, ROUTE_PAUSE, KEPT),
                false => groups.alone(&format!("{name}_{which}"), url),
            }
        }
        if file.old.url.is_some() {
            groups.alone(&format!("{name}_stopped"), old);
        }
        if has_fallback {
            groups.bounded(&format!("{name}_fallback"), old, file.fallback_limit);
        }
        if is_rescued {
            groups.bounded(&format!("{name}_rescue"), new, file.rescue_limit);
        }
    }
    groups.text
}

struct Groups<'a> {
    upstreams: &'a Upstreams,
    app: &'a App,
    text: String,
}

impl Groups<'_> {
    /// A group of servers that may be down or hang.
    fn watched(&mut self, name: &str, url: &SideUrl, pause: &str, kept: u32) {
        let limits = format!("max_fails=3 fail_timeout={pause}");
        let again = if self.upstreams.tries(url).is_some() { " backup" } else { "" };
        self.group(name, url, &[&limits, &format!("{limits}{again}")], kept);
    }

    /// A group of the app that no other side stands in for.
    fn alone(&mut self, name: &str, url: &SideUrl) {
        if let Some(pause) = self.app.pause {
            return self.watched(name, url, &format!("{}s", pause.0.as_secs().max(1)), KEPT);
        }
        self.asked(name, url);
    }

    /// A group that is always asked, since six requests of one client must not fail everybody's. nginx leaves out those
    /// of several servers that fail, unless all do.
    fn asked(&mut self, name: &str, url: &SideUrl) {
        let listings = match self.upstreams.tries(url) {
            Some(_) => [&*format!("max_fails=3 fail_timeout={APP_PAUSE}"), "max_fails=0 backup"],
            None => ["max_fails=0"; 2],
        };
        self.group(name, url, &listings, KEPT);
    }

    /// A group that accepts `limit` requests at once and refuses further ones. nginx counts connections per group.
    fn bounded(&mut self, name: &str, url: &SideUrl, limit: u32) {
        self.group(name, url, &[&format!("max_conns={limit} max_fails=0")], 16);
    }

    fn group(&mut self, name: &str, url: &SideUrl, listings: &[&str], kept: u32) {
        // 64k is too small for a hundred pods.
        let (zone, resolve) =
            if self.upstreams.is_resolved(url) { ("512k", "resolve ") } else { ("64k", "") };
        let names = self.upstreams.servers(url);
        let each = |listing| {
            names.iter().map(move |server| format!("    server {server} {resolve}{listing};\n"))
        };
        let servers: String = listings.iter().flat_map(each).collect();
        let _ = write!(
            self.text,
            "\nupstream {name} {{\n    zone {name} {zone};\n{servers}    keepalive {kept};\n    \
             keepalive_timeout {};\n    keepalive_requests 10000;\n}}\n",
            self.app.keep_alive
        );
    }
}
