//! The files that nginx includes, made only from route files, `carve.toml` and addresses.
//!
//! | file | place in nginx.conf | content |
//! | --- | --- | --- |
//! | `workers.conf` | top | how long open requests may last after a reload |
//! | `clients.conf` | http | which load balancers are trusted, and who may choose a side |
//! | `front.conf` | http | what clients may send, and how long they and the app may take |
//! | `headers.conf` | http, and `rest.conf` | the headers that a side gets with each request |
//! | `listeners.conf` | the public server | further addresses where clients connect |
//! | `hosts.conf` | http | the public servers of hosts that files name |
//! | `redirects.conf` | http | servers that redirect to a listener with TLS |
//! | `grpc.conf` | the public server | the location of the app's gRPC |
//! | `rest.conf` | the locations of the app | how requests that belong to no route are passed on |
//! | `upstreams.conf` | http | the addresses of the sides, the shadow and Prometheus |
//! | `routes.conf` | http | for each route, the side of a request and whether it is mirrored |
//! | `paths.conf` | http, in the map `$route` | the routes' names in the access log |
//! | `locations.conf` | the public server | the routes' locations |
//! | `routes-admin.conf` | the admin server | `/split`, `/split/NAME`, `/stop/NAME`, `/routes.json` |
//!
//! nginx knows no split of a route of sessions; `session.rs` renders its locations.
//!
//! `ramp` writes `routes/NAME/split.conf`, which defines `$NAME_split`, `$NAME_sampled`, `$NAME_ramped`, `$NAME_given`
//! and `$NAME_state`.

mod clients;
mod front;
mod hosts;
mod log;
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

/// The addresses of the sides of all routes, and of the other servers that nginx sends requests to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// The app, which answers every path that belongs to no route.
    pub old: SideUrl,
    /// The new side, for routes that do not name their own.
    pub new: SideUrl,
    /// The shadow.
    pub shadow: BaseUrl,
    /// Prometheus.
    pub prometheus: BaseUrl,
    /// The sides' URLs whose names nginx resolves again while it runs, so that each address is a server of its own.
    /// Needs nginx 1.27.3.
    pub resolved: Vec<BaseUrl>,
    /// The addresses to write instead of a HOST:PORT whose HOST is a name, so that nginx does not resolve it.
    pub addresses: BTreeMap<String, Vec<SocketAddr>>,
}

impl Upstreams {
    fn is_resolved(&self, url: &SideUrl) -> bool {
        url.tcp().is_some_and(|url| self.resolved.contains(url))
    }

    /// The servers behind a URL, as nginx writes them.
    fn servers(&self, url: &SideUrl) -> Vec<String> {
        match url.tcp().and_then(|url| self.addresses.get(url.authority())) {
            Some(addresses) => addresses.iter().map(SocketAddr::to_string).collect(),
            None => vec![url.server()],
        }
    }

    /// How many servers nginx may try for a request; `None` if there is only one server.
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

/// Files of `proxy/` that `nginx.conf` includes unchanged, for all routes and apps.
pub const SHARED: [&str; 4] =
    ["live-page.conf", "own-answers.conf", "page-errors.conf", "page-locations.conf"];
/// Files of `proxy/` for this project's own app. They are empty around another app.
pub const OF_THE_APP: [&str; 3] = ["app-http.conf", "app-locations.conf", "app-paths.conf"];

const HEAD: &str = "# Written by `make generate` from the route files. Changes here are lost.\n";

/// The name and text of every file.
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
            HEAD.to_owned() + &hosts::listens(&carve.front, carve.front.tls.as_ref()),
        ),
        ("hosts.conf", hosts::servers(carve, others, upstreams)),
        ("redirects.conf", hosts::redirects(&carve.front)),
        ("grpc.conf", HEAD.to_owned() + &front::grpc(carve, "old", &upstreams.old)),
        (
            "rest.conf",
            format!("{HEAD}{REST}{}", front::rest(carve, upstreams, "old", &upstreams.old)),
        ),
        ("upstreams.conf", upstreams::groups(carve, routes, upstreams)),
        ("routes.conf", maps(&carve.app, &sites, routes)),
        ("paths.conf", HEAD.to_owned() + &sites.iter().map(log::paths).collect::<String>()),
        (
            "locations.conf",
            format!("{HEAD}{LOCATIONS}{}", locations(carve, &first.routes, upstreams, here)),
        ),
        ("routes-admin.conf", admin(routes)),
    ]
}

/// The text of a route's file with replaced addresses, without the line that names its schema, which is not beside this
/// copy.
pub fn route_file(route: &Route) -> String {
    let lines = route.text.lines().filter(|line| !line.starts_with("#:schema"));
    format!("{HEAD}{}\n", lines.collect::<Vec<_>>().join("\n"))
}

/// Matches a `Cache-Control` with a time of more than 59 s in what follows.
const LONG: &str = "(?=.*(age|revalidate|error)=0*([6-9][0-9]|[1-9][0-9][0-9]))";

const MAPS: &str = "#
# $NAME_arm: the side that a request of the route is assigned to: the one that its client chose ($chosen_arm), else the
# split's.
# $NAME_mirrored: whether the shadow gets the request too, whichever side answers the client. Never a client that reads
# events: both streams would take events from it.
# $mirrored_route: tells the shadow the route of a mirrored request.
# $key_hash: the number of the request's key, for the access log, if the route is split by key.
# $logged_route: also for a request that went to the app, since it spells the path in another way than the route's.
# $spelling: how it does, as far as the route's own path goes, which has no ids.
# $declined_side: what the new side said when it answered 501.
# $has_body: whether a request brings a body, which a route that only reads leaves to the app.
# $NAME_old_way: the location for the old side. At 0 %, it is the one without a rescue by the new side.
# $NAME_too_long: whether a body is longer than the route accepts, if the rest of the app accepts longer ones.
# $NAME_expires: while the route is being ramped, an answer with a longer caching time may be cached for a minute, and a
# private one not at all. Otherwise a wrong answer would outlive the rollback in caches.
# proxy_cache_path: for a route with `cache`. 8 MB of keys are enough for some 60,000 answers.
";

const OF_REQUESTS: &str = "
map $http_accept $wants_no_stream {
    default 1;
    ~text/event-stream 0;
}

map $upstream_http_x_carve_decline $declined_side {
    volatile;
    default fallback;
    \"~^(?<decline_reason>[A-Za-z0-9 _.-]{1,64})$\" declined:$decline_reason;
}

map $content_length$http_transfer_encoding $has_body {
    default 1;
    \"\" 0;
    0 0;
}
";

fn maps(app: &App, sites: &[Site<'_>], routes: &[Route]) -> String {
    let of_log = log::maps(sites, routes);
    let mut text = format!("{HEAD}{MAPS}{}{of_log}{OF_REQUESTS}", mirrored_routes(routes));
    for route in routes {
        let (name, file) = (route.variable(), &route.file);
        if route.is_session() {
            text += &session::maps(route);
            continue;
        }
        // Plain strings in a map ignore case, but nginx refuses methods in lower case anyway.
        let twice: String = route
            .asked_twice()
            .iter()
            .map(|it| format!("    \"1 {it}\" $wants_no_stream;\n"))
            .collect();
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

const LOCATIONS: &str = "#
# $carved is the route's name, $arm the assigned side, $side the side that answers. The statuses 594 to 596, 598 and 599
# lead to named locations, and 597 is nginx' own limit (nginx.conf). No server sends these statuses, so a limit is never
# mistaken for a 503 of the new side, which falls back.
#
# A request belongs to the route by its path as the client wrote it. nginx decodes a path before it matches locations,
# but forwards it unchanged, and for the app /%71rcode or //qrcode is another path.
#
# A route is stopped while its file in the folder stop/ exists. All its requests then go to the old side, whatever the
# split or a header says. nginx checks the file for every request, so no reload is needed. A side without a fallback
# (the old side of a stopped route, a fallback, a rescue) gets at least the timeout of the rest of the app.
#
# Mirroring: nginx drops the shadow's answer, but the client's next request on the same connection waits for it. So the
# shadow answers before it compares, and nginx waits 1 ms for the answer: the shadow reads what was sent later too. A
# location with a mirror makes a subrequest for every request, which would be a large part of the cost of the new side.
# So only the sampled requests to the new side go to a location with a mirror.
#
# The new side may decline a request that it does not do yet: a 501 with the header X-Carve-Decline and a reason. The old
# side then answers, and the client sees only that. Without the header, a 501 is a failure.
#
# A route with `cache` keeps answers of the new side if their Cache-Control allows it, and serves them without asking a
# side. Each answer is a file, and writing one costs as much as several requests, so only answers that are requested a
# second time are kept. During a ramp the cache is neither filled nor used, since a cached answer is no evidence about a
# side. $NAME_state, which changes with every share, is part of the key, so answers from before a rollback are never
# served after it.
";

const REST: &str = "#\n# The location of all requests that belong to no route.\n";

/// The locations of a server's routes. `rest` is the content of the location of all other requests.
fn locations(carve: &CarveFile, routes: &[&Route], upstreams: &Upstreams, rest: &str) -> String {
    let mut text = String::new();
    let in_order = routes.iter().any(|it| matches!(it.file.path, Path::Segments(_)));
    for route in routes {
        let _ = write!(text, "\n# --- {}: {}\n\n", route.name, route.file.path);
        let matching = route.file.path.location(in_order);
        text += &if route.is_session() {
            session::locations(carve, route, &matching)
        } else {
            location(carve, route, &matching, upstreams)
        };
        if let Path::Prefix(path) = &route.file.path {
            let bare = path.trim_end_matches('/');
            let is_bare = |other: &&Route| other.file.path == Path::Exact(bare.to_owned());
            if !routes.iter().any(is_bare) {
                // Without this location, nginx would redirect the path to the one with the slash.
                let _ = write!(text, "\nlocation = {bare} {{\n    {rest}}}\n");
            }
        }
    }
    text
}

/// A side, its address, and the lines about a second try.
type To<'a> = (&'a Side, &'a SideUrl, String);

fn location(carve: &CarveFile, route: &Route, matching: &str, upstreams: &Upstreams) -> String {
    let (app, name, file) = (&carve.app, route.variable(), &route.file);
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
    let with_retry = |side, url| (side, url, pass::retried(side, upstreams.tries(url)));
    let old_side = with_retry(&file.old, upstreams.old_of(route));
    let new_side = with_retry(&file.new, upstreams.new_of(route));
    let cache = if file.cache.is_some() { pass::cached(&name) } else { String::new() };
    // For a location after which no other side is tried.
    let at_last = |side: &To<'_>, group: &str| {
        within(front::time(app.timeout.map(|time| time.max(side.0.timeout()))), side, group)
    };
    let to = |side: &To<'_>, group: &str, has_other: bool| match side.0.timeout {
        None if !has_other => at_last(side, group),
        _ => within(side.0.timeout().to_string(), side, group),
    };
    let new = format!("{name}_new");
    let too_many = "    error_page 597 = @too_many;\n";
    let gone = "    error_page 502 504 = @unavailable;\n";
    let (route_name, stop) = (&route.name, stop_file(route));
    // After 501 the new side has done nothing, so the old side is asked whatever the fallback.
    let declined =
        format!("    error_page 501 = @{name}_declined;\n    proxy_intercept_errors on;\n");
    // 503 is included, so that an overloaded new side falls back too.
    let falls_back = format!("    error_page 502 503 504 = @{name}_fallback;\n{declined}");
    let gone_or_declined = format!("{gone}{declined}");
    let rescued = format!("    error_page 502 504 = @{name}_rescue;\n");
    let has_fallback = route.fallback() != Fallback::None;
    let is_rescued = route.fallback() == Fallback::Both;
    let failed_new = if has_fallback { &falls_back } else { &gone_or_declined };
    let failed_old = if is_rescued { &rescued } else { gone };
    // At 0%, the new side must not rescue the old one unless the route file asks for that.
    let old_way = match is_rescued && file.fallback.is_none() {
        true => format!("${name}_old_way"),
        false => format!("@{name}_old"),
    };

    let drops_bodies = route.body() == Body::None && file.body.is_none();
    let others = [
        Some(format!("$request_uri !~ \"^{}\"", file.path.pattern())),
        file.methods.pattern().map(|methods| format!("$request_method !~ \"{methods}\"")),
        drops_bodies.then(|| "$has_body".to_owned()),
        app.websocket.then(|| "$passed_upgrade".to_owned()),
        front::has_grpc(carve).then(|| "$is_grpc".to_owned()),
    ];
    let to_rest = |it: String| format!("    if ({it}) {{\n        return 598;\n    }}\n");
    let others: String = others.into_iter().flatten().map(to_rest).collect();
    // Needed in every location that reads or sends a body, where otherwise the server's limit would apply.
    let limit = format!("    client_max_body_size {};\n", route.max_body());
    // nginx checks the length before it knows whether a request belongs to the route.
    let is_limited_later = too_long::is_needed(app, route);
    let to_new = format!("{failed_new}{cache}{}", to(&new_side, &new, has_fallback));
    let (first_limit, too_long, on_new) = match is_limited_later {
        true => (
            "",
            format!("    if (${name}_too_long) {{\n        return 413;\n    }}\n"),
            &format!("    error_page 594 = @{name}_new;\n    return 594;\n"),
        ),
        false => (&*limit, String::new(), &to_new),
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
    let mut named = |which: &str, side: &str, mirror: &str, failed: &str, to: &str| {
        let _ = write!(
            text,
            "location @{name}_{which} {{\n    set $side {side};\n{mirror}{too_many}{failed}{to}}}\n\n"
        );
    };
    if is_limited_later {
        named("new", "new", &limit, "", &to_new);
    }
    named("sampled", "new", &mirrored, "", &to_new);
    named("old", "old", &mirrored, failed_old, &to(&old_side, &format!("{name}_old"), is_rescued));
    let app = file.old.url.as_ref().map_or("old".to_owned(), |_| format!("{name}_stopped"));
    named("stopped", "old", &mirrored, gone, &at_last(&old_side, &app));
    let old = format!("{name}_old");
    named("declined", "$declined_side", &limit, gone, &at_last(&old_side, &old));
    if has_fallback {
        named("fallback", "fallback", "", gone, &at_last(&old_side, &format!("{name}_fallback")));
    }
    if is_rescued {
        named("rescue", "rescue", "", gone, &at_last(&new_side, &format!("{name}_rescue")));
    }
    let _ = write!(
        text,
        "location = /.mirror/{} {{\n    internal;\n{limit}    if (${name}_mirrored = 0) {{\n        \
         return 204;\n    }}\n    proxy_connect_timeout 5ms;\n    proxy_send_timeout 5ms;\n    \
         proxy_read_timeout 1ms;\n{body}    proxy_pass http://shadow$request_uri;\n}}\n",
        route.name
    );
    text
}

/// The file that stops a route while it exists. nginx' document root is the folder `stop` in its prefix.
fn stop_file(route: &Route) -> String {
    format!("$document_root/{}", route.name)
}

fn admin(routes: &[Route]) -> String {
    let mut text = format!(
        "{HEAD}#\n# The splits that this worker serves, as `ramp` wrote them. `ramp` polls them to see when a change \
         is in force.\n# /stop/NAME shows whether the route is stopped.\n"
    );
    // Not for routes of sessions, whose homes report the share that they use.
    let split = || routes.iter().filter(|route| !route.is_session());
    let all: Vec<String> =
        split().map(|route| format!("\"{}\":${}_state", route.name, route.variable())).collect();
    let (sets, last) = in_pieces(&all);
    let _ = write!(
        text,
        "\nlocation = /split {{\n    default_type application/json;\n{sets}    return 200 '{{{last}}}\\n';\n}}\n",
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
    // No other character needs escaping, since names and paths are checked.
    let shown = |route: &Route| for_screens(route).to_string().replace('\'', "\\'");
    let (sets, last) = in_pieces(&routes.iter().map(shown).collect::<Vec<_>>());
    let _ = write!(
        text,
        "\n# For screens: the routes, and the names of their sides.\n\
         location = /routes.json {{\n    default_type application/json;\n    \
         add_header Cache-Control no-cache;\n{sets}    return 200 '[{last}]\\n';\n}}\n",
    );
    text
}

/// Joins a list for nginx, whose parameters end at 4096 bytes: returns the directives that set variables, and the text
/// with these variables.
fn in_pieces(items: &[String]) -> (String, String) {
    let (mut sets, mut last, mut piece) = (String::new(), String::new(), 0);
    for (number, item) in items.iter().enumerate() {
        if last.len() + item.len() > 3000 {
            let _ = writeln!(sets, "    set $list_{piece} '{last}';");
            last = format!("$list_{piece}");
            piece += 1;
        }
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(last, "{comma}{item}");
    }
    (sets, last)
}

/// The data that screens show about a route.
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
