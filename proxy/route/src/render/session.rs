//! The nginx files of a route of sessions: homes choose the side, and streams flow in both directions at once.

use std::fmt::Write;

use super::{front, stop_file};
use crate::carve_file::CarveFile;
use crate::file::Route;

pub(super) fn upstreams(route: &Route) -> String {
    let (name, file) = (route.variable(), &route.file);
    let mut text = format!(
        "\n# max_fails=0: nginx would not ask a home that is marked as down for 10 s. If the other home ended \
         meanwhile, requests\n# would go to the old side, apart from partners that wait on the new side.\n\
         upstream {name}_homes {{\n    zone {name}_homes 64k;\n"
    );
    for (number, home) in file.homes.iter().enumerate() {
        let backup = if number == 0 { "" } else { " backup" };
        let _ = writeln!(text, "    server {} max_fails=0{backup};", home.url.authority());
    }
    text += "    keepalive 32;\n    keepalive_timeout 30s;\n}\n";
    for (side, which) in [(&file.old, "old"), (&file.new, "new")] {
        if let Some(url) = &side.url {
            let _ = write!(
                text,
                "\n# max_fails=0: a side that is marked as down could not complete its pairs.\n\
                 upstream {name}_{which} {{\n    zone {name}_{which} 64k;\n    server {} max_fails=0;\n}}\n",
                url.server()
            );
        }
    }
    text
}

pub(super) fn maps(route: &Route) -> String {
    let name = route.variable();
    format!(
        "\n# --- {}: {}\n\
         # The side that a home returns; the old one if no home answers.\n\
         map $upstream_http_x_home ${name}_home {{\n    volatile; # a request and its subrequest share variables\n    \
         default old;\n    new     new;\n}}\n\
         map $side ${name}_group {{\n    volatile;\n    default {name}_old;\n    new     {name}_new;\n}}\n",
        route.name, route.file.path
    )
}

/// The lines that both locations of a route have in common, which pass on a stream.
fn stream(carve: &CarveFile, route: &Route) -> String {
    let name = route.variable();
    let idle = route.file.idle_timeout;
    let mut text = format!(
        "    auth_request_set $arm ${name}_home;\n    auth_request_set $side ${name}_home;\n    \
         error_page 597 = @too_many;\n    error_page 502 504 = @unavailable;\n    \
         client_max_body_size {};\n    client_body_timeout {idle};\n    send_timeout {idle};\n    \
         grpc_connect_timeout 1s;\n    grpc_read_timeout {idle};\n    grpc_send_timeout {idle};\n    \
         grpc_next_upstream off; # a stream is not begun anew\n    grpc_hide_header X-Request-Id;\n",
        route.max_body()
    );
    text += &front::grpc_headers(carve);
    let _ = writeln!(text, "    grpc_pass grpc://${name}_group;");
    text
}

/// The location that asks the homes. For a stopped route it waits less, since a home that hangs must not delay a stop.
fn question(route: &Route, path: &str, is_stopped: bool) -> String {
    let name = route.variable();
    let (header, timeouts) = match is_stopped {
        true => (
            "X-Route-Stopped 1",
            "proxy_connect_timeout 300ms;\n    proxy_read_timeout 450ms;\n    proxy_next_upstream_timeout 900ms;",
        ),
        false => {
            ("X-Route-Arm $chosen_arm", "proxy_connect_timeout 1s;\n    proxy_read_timeout 5s;")
        }
    };
    format!(
        "location = {path} {{\n    internal;\n    client_max_body_size 0; # a subrequest has its request's Content-Length\n    \
         {timeouts}\n    \
         proxy_next_upstream error timeout;\n    proxy_next_upstream_tries 0;\n    proxy_intercept_errors on;\n    \
         error_page 500 502 503 504 =204 @{name}_no_home;\n    proxy_pass_request_body off;\n    \
         proxy_pass_request_headers off;\n    proxy_set_header Connection \"\";\n    \
         proxy_set_header Content-Length \"\";\n    proxy_set_header X-Key $request_uri;\n    \
         proxy_set_header {header};\n    proxy_pass http://{name}_homes;\n}}\n"
    )
}

const ABOUT: &str = "\
# A home tells nginx the side of each request before the body is read (auth_request): the side that holds the key, else
# the side that the client chose, else the share's. nginx uses HTTP/2 to the sides, because over HTTP/1 it stops sending
# a body once the answer has begun. There is no mirror, no fallback and no share in this file.
#
# While the route is stopped, nginx asks the homes with another header: clients that already wait on the new side still
# get their partners there, and every new key goes to the old side.
";

pub(super) fn locations(carve: &CarveFile, route: &Route, matching: &str) -> String {
    let (name, route_name) = (route.variable(), &route.name);
    let (home, stopped) = (format!("/.home/{route_name}"), format!("/.home/{route_name}/stopped"));
    let (stop, stream) = (stop_file(route), stream(carve, route));
    format!(
        "{ABOUT}\nlocation {matching} {{\n    error_page 596 = @{name}_stopped;\n    \
         set $carved {route_name};\n    if (-f {stop}) {{\n        return 596;\n    }}\n    \
         auth_request {home};\n{stream}}}\n\n\
         location @{name}_stopped {{\n    auth_request {stopped};\n{stream}}}\n\n\
         {}\n{}\nlocation @{name}_no_home {{\n    return 204;\n}}\n",
        question(route, &home, false),
        question(route, &stopped, true)
    )
}
