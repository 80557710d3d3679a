//! What nginx includes: text made from route files, `carve.toml` and addresses alone.
//!
//! | file | place in nginx.conf | content |
//! | --- | --- | --- |
//! | `workers.conf` | top | how long streams may last after a reload |
//! | `clients.conf` | http | which load balancers are believed, and who may choose a side |
//! | `front.conf` | http | what clients may send, and how long they and the app may take |
//! | `headers.conf` | http, and `rest.conf` | what a side gets with each request |
//! | `listeners.conf` | the public server | where clients connect too |
//! | `hosts.conf` | http | the public servers of hosts that files name |
//! | `redirects.conf` | http | servers that lead to a listener with TLS |
//! | `grpc.conf` | the public server | the location of the app's gRPC |
//! | `rest.conf` | the locations of the app | how everything that no route has is passed on |
//! | `upstreams.conf` | http | where the sides, the shadow and Prometheus are |
//! | `routes.conf` | http | for each route, the side of a request and whether it is mirrored |
//! | `paths.conf` | http, in the map `$route` | the routes' names in the access log |
//! | `locations.conf` | the public server | the way of a request |
//! | `routes-admin.conf` | the admin server | `/split`, `/split/NAME`, `/stop/NAME`, `/routes.json` |
//!
//! A route of sessions has no split that nginx knows: `session.rs` renders its way.
//!
//! `ramp` writes `routes/NAME/split.conf`, which has `$NAME_split`, `$NAME_sampled`,
//! `$NAME_ramped`, `$NAME_given` and `$NAME_state`.

mod clients;
mod front;
mod hosts;
mod listeners;
mod pass;
mod session;
mod too_long;
mod upstreams;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;

use serde_json::json;

use crate::carve_file::{App, CarveFile};
use crate::file::{Body, Fallback, Route};
use crate::hosts::{Site, sites};
use crate::path::Path;
use crate::side::{Side, SideUrl};
use crate::units::BaseUrl;

/// Where the sides of all routes are, and what else nginx asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// The app. It answers every path that no route has.
    pub old: SideUrl,
    /// The new side of the routes that do not name one of their own.
    pub new: SideUrl,
    /// The shadow.
    pub shadow: BaseUrl,
    /// Prometheus.
    pub prometheus: BaseUrl,
    /// Those of the sides' addresses that nginx asks DNS for again while it runs, and whose servers it then knows
    /// one by one. Needs nginx 1.27.3.
    pub resolved: Vec<BaseUrl>,
    /// The addresses of those whose HOST:PORT has a name, where nginx is not to look for them.
    pub addresses: BTreeMap<String, Vec<SocketAddr>>,
}

impl Upstreams {
    fn is_resolved(&self, url: &SideUrl) -> bool {
        url.tcp().is_some_and(|url| self.resolved.contains(url))
    }

    /// As nginx names them.
    fn servers(&self, url: &SideUrl) -> Vec<String> {
        match url.tcp().and_then(|url| self.addresses.get(url.authority())) {
            Some(addresses) => addresses.iter().map(SocketAddr::to_string).collect(),
            None => vec![url.server()],
        }
    }

    /// How many servers can be asked where the first one fails, with it; `None` if there is only one.
    fn tries(&self, url: &SideUrl) -> Option<usize> {
        let count = if self.is_resolved(url) { 2 } else { self.servers(url).len() };
        (count > 1).then_some(count)
    }

    fn old_of<'a>(&'a self, route: &'a Route) -> &'a SideUrl {
        route.file.old.url.as_ref().unwrap_or(&self.old)
    }

    fn new_of<'a>(&'a self, route: &'a Route) -> &'a SideUrl {
        route.file.new.url.as_ref().unwrap_or(&self.new)
    }
}

/// Files of `proxy/` that `nginx.conf` includes as they are, whatever the routes and the app.
pub const SHARED: [&str; 4] =
    ["live-page.conf", "own-answers.conf", "page-errors.conf", "page-locations.conf"];
/// Those of its own app, which are empty around another one.
pub const OF_THE_APP: [&str; 3] = ["app-http.conf", "app-locations.conf", "app-paths.conf"];

const HEAD: &str = "# Written by `make generate` from the route files. Changes here are lost.\n";

/// Every file's name and text.
pub fn all(
    carve: &CarveFile,
    routes: &[Route],
    upstreams: &Upstreams,
) -> Vec<(&'static str, String)> {
    let sites = sites(carve, routes);
    let (first, others) = (&sites[0], &sites[1..]);
    let here = "include rest.conf;\n";
    vec![
        ("workers.conf", front::workers(carve, routes)),
        ("clients.conf", clients::clients(&carve.front)),
        ("front.conf", front::front(carve)),
        ("headers.conf", front::headers(carve)),
        (
            "listeners.conf",
            HEAD.to_owned() + &listeners::listens(&carve.front, carve.front.tls.as_ref()),
        ),
        ("hosts.conf", hosts::servers(carve, others, upstreams)),
        ("redirects.conf", listeners::redirects(&carve.front)),
        ("grpc.conf", HEAD.to_owned() + &front::grpc(carve, "old", &upstreams.old)),
        (
            "rest.conf",
            format!("{HEAD}{REST}{}", front::rest(carve, upstreams, "old", &upstreams.old)),
        ),
        ("upstreams.conf", upstreams::groups(carve, routes, upstreams)),
        ("routes.conf", maps(&carve.app, routes)),
        ("paths.conf", HEAD.to_owned() + &sites.iter().map(paths).collect::<String>()),
        (
            "locations.conf",
            format!("{HEAD}{LOCATIONS}{}", locations(carve, &first.routes, upstreams, here)),
        ),
        ("routes-admin.conf", admin(routes)),
    ]
}

/// A route's own file, for other servers than those it was written for: without the line that names its schema,
/// which lies beside the other.
pub fn route_file(route: &Route) -> String {
    let lines = route.text.lines().filter(|line| !line.starts_with("#:schema"));
    format!("{HEAD}{}\n", lines.collect::<Vec<_>>().join("\n"))
}

/// Matches the rest of a `Cache-Control` with a time of more than 59 s.
const LONG: &str = "(?=.*(age|revalidate|error)=0*([6-9][0-9]|[1-9][0-9][0-9]))";

const MAPS: &str = "#
# $NAME_arm: the side that a request of the route is assigned to: the one that it may choose ($chosen_arm),
# else by the split.
# $NAME_mirrored: whether the shadow gets it too, whichever side answers the client.
# $mirrored_route: tells the shadow the route of a mirrored request.
# $NAME_old_way: at 0 %, the old side of a route is the app's like all the rest, and nobody stands in for it.
# $NAME_too_long: whether a body is longer than the route takes, where the rest of the app takes longer ones.
# $NAME_expires: while the route is being ramped, an answer that may be cached longer than a minute may be
# cached for a minute, and a private one not at all. Else a wrong one would outlive the rollback.
# proxy_cache_path: for a route with `cache`. 8 MB of keys are some 60,000 answers.
";

fn maps(app: &App, routes: &[Route]) -> String {
    let mut text = format!("{HEAD}{MAPS}{}", mirrored_routes(routes));
    for route in routes {
        let (name, file) = (route.variable(), &route.file);
        if route.is_session() {
            text += &session::maps(route);
            continue;
        }
        // Plain strings ignore case, and nginx refuses a method in lower case.
        let twice: String =
            route.asked_twice().iter().map(|it| format!("    \"1 {it}\" 1;\n")).collect();
        let _ = write!(
            text,
            "\n# --- {}: {}\n\
             map $chosen_arm ${name}_arm {{\n    default ${name}_split;\n    new     new;\n    \
             old     old;\n}}\n\
             map \"${name}_sampled $request_method\" ${name}_mirrored {{\n    \
             default 0;\n{twice}}}\n\
             map ${name}_ramped ${name}_expires {{\n    volatile;\n    default off;\n    \
             1 ${name}_expires_ramped;\n}}\n\
             map $sent_http_cache_control ${name}_expires_ramped {{\n    volatile;\n    \
             default off;\n    \"~*^{LONG}.*private\" epoch;\n    \"~*^{LONG}\" 60s;\n}}\n",
            route.name, file.path
        );
        if route.fallback() == Fallback::Both && file.fallback.is_none() {
            let _ = write!(
                text,
                "map ${name}_given ${name}_old_way {{\n    default @{name}_old;\n    0 @{name}_stopped;\n}}\n"
            );
        }
        if too_long::is_needed(app, route) {
            text += &too_long::map(route);
        }
        if let Some(size) = file.cache {
            let _ = writeln!(
                text,
                "proxy_cache_path cache-{} keys_zone={name}_cache:8m max_size={size} inactive=1d \
                 use_temp_path=off;",
                route.name
            );
        }
    }
    text
}

fn mirrored_routes(routes: &[Route]) -> String {
    let mirrored = routes.iter().filter(|route| !route.is_session());
    let lines = mirrored.map(|route| format!("    /.mirror/{0} {0};\n", route.name));
    format!(
        "\nmap $uri $mirrored_route {{\n    volatile; # a request and its mirror share variables\n    \
         default \"\";\n{}}}\n",
        lines.collect::<String>()
    )
}

/// The names of a server's paths in the access log. nginx calls a server by the first of its names.
fn paths(site: &Site<'_>) -> String {
    let server = site.names.first().map_or("", |name| name.as_str());
    let server = server.replace('.', "\\.").replace('*', "\\*");
    let paths = site.routes.iter().map(|route| &route.file.path);
    paths.map(|path| format!("\"~^{server}{}\" \"{path}\";\n", path.decoded())).collect()
}

const LOCATIONS: &str = "#
# $carved is the route's name, $arm the assigned side, $side who answers. 594 to 596, 598 and 599 lead to
# named locations, and 597 is nginx' own limit (nginx.conf); no server sends them. So a limit is never taken
# for a 503 of the new side, which falls back.
#
# A request is of the route by its path as the client wrote it: nginx decodes a path before it matches
# locations but forwards it as it came, and /%71rcode or //qrcode is another path for the app.
#
# A route is stopped while its file in the folder stop/ exists: each request then goes to the old side,
# whatever the split or a header says. nginx looks at every request, so no reload is needed. A side that
# nobody stands in for (the old one of a stopped route, a fallback, a rescue) gets the time that the rest of
# the app has, if its own is shorter.
#
# Mirroring: nginx drops the shadow's answer, but the client's next request on the same connection waits
# for it. So the shadow answers before it compares, the timeouts are short, and a shadow that fails a few
# times gets a pause. A mirror makes a subrequest of every request, so on the new side, where that would be a
# large part of the cost, only the sampled ones come to the location that has one.
#
# A route with `cache` keeps what the new side's answers allow (Cache-Control), and asks nobody for it. Each is a
# file, and making one costs several requests, so only what is asked for a second time is kept. During a ramp
# nothing is kept or served from there: it would be evidence of no side. $NAME_state, which changes with every
# move of the share, is part of the key, so what was kept before a rollback is never served after it.
";

const REST: &str = "#\n# The location of everything that no route has.\n";

/// The locations of a server's routes. `rest` is what the location of everything else has.
fn locations(carve: &CarveFile, routes: &[&Route], upstreams: &Upstreams, rest: &str) -> String {
    let mut text = String::new();
    for route in routes {
        let _ = write!(text, "\n# --- {}: {}\n\n", route.name, route.file.path);
        text += &if route.is_session() {
            session::locations(carve, route)
        } else {
            location(&carve.app, route, upstreams)
        };
        if let Path::Prefix(path) = &route.file.path {
            let bare = path.trim_end_matches('/');
            let is_bare = |other: &&Route| other.file.path == Path::Exact(bare.to_owned());
            if !routes.iter().any(is_bare) {
                // nginx itself would answer this path with a redirect to the one with the slash.
                let _ = write!(text, "\nlocation = {bare} {{\n    {rest}}}\n");
            }
        }
    }
    text
}

/// A side, where it is, and what is said of a second try.
type To<'a> = (&'a Side, &'a SideUrl, String);

fn location(app: &App, route: &Route, upstreams: &Upstreams) -> String {
    let (name, file) = (route.variable(), &route.file);
    let matching = file.path.location();
    let (body, mirrored_body) = match route.body() {
        Body::None => ("    proxy_set_body \"\";\n", "off"),
        Body::Buffered => ("", "on"),
    };
    let mirror =
        format!("    mirror /.mirror/{}; mirror_request_body {mirrored_body};\n", route.name);
    let expires = format!("    expires ${name}_expires;\n");
    let within = |time: String, (side, url, retry): &To<'_>, group: &str| {
        format!(
            "    proxy_connect_timeout {};\n    proxy_send_timeout {time};\n    \
             proxy_read_timeout {time};\n{retry}{expires}{body}{}",
            side.connect_timeout,
            pass::to(app, url, group, "    ")
        )
    };
    let with_retry = |side, url| (side, url, retried(side, upstreams.tries(url)));
    let old_side = with_retry(&file.old, upstreams.old_of(route));
    let new_side = with_retry(&file.new, upstreams.new_of(route));
    let to = |side: &To<'_>, group: &str| within(side.0.timeout.to_string(), side, group);
    let cache = if file.cache.is_some() { cached(&name) } else { String::new() };
    // After it nobody else is asked.
    let at_last = |side: &To<'_>, group: &str| {
        within(front::time(app.timeout.map(|time| time.max(side.0.timeout))), side, group)
    };
    let new = format!("{name}_new");
    let too_many = "    error_page 597 = @too_many;\n";
    let gone = "    error_page 502 504 = @unavailable;\n";
    let (route_name, stop) = (&route.name, stop_file(route));
    // A 503 for overload falls back too.
    let falls_back =
        format!("    error_page 502 503 504 = @{name}_fallback;\n    proxy_intercept_errors on;\n");
    let rescued = format!("    error_page 502 504 = @{name}_rescue;\n");
    let is_rescued = route.fallback() == Fallback::Both;
    let failed_new = if route.fallback() == Fallback::None { gone } else { &falls_back };
    let failed_old = if is_rescued { &rescued } else { gone };
    // Who has not asked for it gets no answers of a side that nobody has given a share yet.
    let old_way = match is_rescued && file.fallback.is_none() {
        true => format!("${name}_old_way"),
        false => format!("@{name}_old"),
    };

    let unlike = |variable: &str, pattern: &str| {
        format!("    if ({variable} !~ \"{pattern}\") {{\n        return 598;\n    }}\n")
    };
    let mut others = unlike("$request_uri", &format!("^{}", file.path.pattern()));
    if let Some(methods) = file.methods.pattern() {
        others += &unlike("$request_method", &methods);
    }
    if app.websocket {
        others += "    if ($passed_upgrade) {\n        return 598;\n    }\n";
    }
    // Wherever a body may be read or sent on: else the server's limit counts there.
    let limit = format!("    client_max_body_size {};\n", route.max_body());
    // nginx looks at the length before it knows that a request is not of the route.
    let (first_limit, too_long, on_new) = match too_long::is_needed(app, route) {
        true => (String::new(), too_long::refused(&name), too_long::on_new(&name)),
        false => {
            (limit.clone(), String::new(), format!("{failed_new}{cache}{}", to(&new_side, &new)))
        }
    };
    let mut text = format!(
        "location {matching} {{\n{first_limit}{too_many}    error_page 595 = @{name}_sampled;\n    \
         error_page 596 = @{name}_stopped;\n    error_page 598 = @rest;\n    error_page 599 = {old_way};\n\
         {others}{too_long}    set $carved {route_name};\n    set $arm ${name}_arm;\n    \
         if (-f {stop}) {{\n        set $arm old;\n        return 596;\n    }}\n    \
         if ($arm = old) {{\n        return 599;\n    }}\n    \
         set $side new;\n    if (${name}_mirrored) {{\n        return 595;\n    }}\n\
         {on_new}}}\n\n"
    );
    let mirrored = format!("{limit}{mirror}");
    let mut named = |which: &str, side: &str, mirror: &str, failed: &str, to: String| {
        let _ = write!(
            text,
            "location @{name}_{which} {{\n    set $side {side};\n{mirror}{too_many}{failed}{to}}}\n\n"
        );
    };
    if too_long::is_needed(app, route) {
        named("new", "new", &limit, failed_new, cache.clone() + &to(&new_side, &new));
    }
    named("sampled", "new", &mirrored, failed_new, cache + &to(&new_side, &new));
    named("old", "old", &mirrored, failed_old, to(&old_side, &format!("{name}_old")));
    let app = file.old.url.as_ref().map_or("old".to_owned(), |_| format!("{name}_stopped"));
    named("stopped", "old", &mirrored, gone, at_last(&old_side, &app));
    if route.fallback() != Fallback::None {
        named("fallback", "fallback", "", gone, at_last(&old_side, &format!("{name}_fallback")));
    }
    if is_rescued {
        named("rescue", "rescue", "", gone, at_last(&new_side, &format!("{name}_rescue")));
    }
    let _ = write!(
        text,
        "location = /.mirror/{} {{\n    internal;\n{limit}    if (${name}_mirrored = 0) {{\n        \
         return 204;\n    }}\n    proxy_connect_timeout 100ms;\n    proxy_send_timeout 100ms;\n    \
         proxy_read_timeout 100ms;\n{body}    proxy_pass http://shadow$request_uri;\n}}\n",
        route.name
    );
    text
}

/// Asks another server of the side once before the other side is asked, where nginx knows more than one.
fn retried(side: &Side, tries: Option<usize>) -> String {
    let status = if side.retry_500 { " http_500" } else { "" };
    tries.map_or_else(String::new, |tries| {
        format!(
            "    proxy_next_upstream error timeout{status};\n    proxy_next_upstream_tries {tries};\n"
        )
    })
}

/// What may be kept, and may be served again: to whoever asks for the same of the same host. Answers to
/// requests with credentials are for one client (RFC 9111, section 3.5).
fn cached(name: &str) -> String {
    let not = format!("${name}_ramped $http_authorization");
    format!(
        "    proxy_cache {name}_cache;\n    proxy_cache_min_uses 2;\n    proxy_cache_key ${name}_state$sent_host$request_uri;\n    \
         proxy_cache_bypass {not};\n    proxy_no_cache {not};\n"
    )
}

/// The file that stops a route while it exists. nginx' root is the folder `stop` in its prefix.
fn stop_file(route: &Route) -> String {
    format!("$document_root/{}", route.name)
}

fn admin(routes: &[Route]) -> String {
    let mut text = format!(
        "{HEAD}#\n# The splits that this worker serves, as ramp wrote them; `ramp` polls them to see when a \
         change is in\n# force. /stop/NAME says whether the route is stopped.\n"
    );
    // The homes of sessions say which share they use.
    let split = || routes.iter().filter(|route| !route.is_session());
    let all: Vec<String> =
        split().map(|route| format!("\"{}\":${}_state", route.name, route.variable())).collect();
    let _ = write!(
        text,
        "\nlocation = /split {{\n    default_type application/json;\n    return 200 '{{{}}}\\n';\n}}\n",
        all.join(",")
    );
    for route in split() {
        let _ = write!(
            text,
            "\nlocation = /split/{} {{\n    default_type application/json;\n    \
             return 200 \"${}_state\\n\";\n}}\n",
            route.name,
            route.variable()
        );
    }
    for route in routes {
        let _ = write!(
            text,
            "\nlocation = /stop/{} {{\n    if (-f {}) {{\n        return 200 \"stopped\\n\";\n    }}\n    \
             return 200 \"not stopped\\n\";\n}}\n",
            route.name,
            stop_file(route)
        );
    }
    // No character of these needs escaping: names and paths are checked.
    let listed: Vec<String> = routes.iter().map(|route| for_screens(route).to_string()).collect();
    let _ = write!(
        text,
        "\n# For screens: the routes, and what people call their sides.\n\
         location = /routes.json {{\n    default_type application/json;\n    \
         add_header Cache-Control no-cache;\n    return 200 '[{}]\\n';\n}}\n",
        listed.join(",").replace('\'', "\\'")
    );
    text
}

/// What screens show of a route.
fn for_screens(route: &Route) -> serde_json::Value {
    let called = |side: &Side, which: &str| side.name.clone().unwrap_or_else(|| which.to_owned());
    let mut shown = json!({
        "name": route.name,
        "path": route.where_it_is(),
        "old": called(&route.file.old, "old"),
        "new": called(&route.file.new, "new"),
    });
    if route.is_session() {
        shown["sessions"] = true.into();
    }
    shown
}
