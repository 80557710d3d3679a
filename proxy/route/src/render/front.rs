//! What `carve.toml` says: `workers.conf`, `front.conf`, `headers.conf` and `rest.conf`.

use std::fmt::Write;

use super::{HEAD, Upstreams, clients, pass};
use crate::carve_file::{CarveFile, Listener};
use crate::file::Route;
use crate::side::SideUrl;
use crate::units::Time;

/// A time that no request reaches, where nginx needs one.
const ENDLESS: &str = "365d";

/// As nginx writes it.
pub(super) fn time(time: Option<Time>) -> String {
    time.map_or_else(|| ENDLESS.to_owned(), |time| time.to_string())
}

pub(super) fn workers(carve: &CarveFile, routes: &[Route]) -> String {
    match carve.front.drain {
        Some(drain) if !routes.iter().any(Route::is_session) => format!(
            "{HEAD}#\n# Open requests may take this long after a reload or a stop.\n\
             worker_shutdown_timeout {drain};\n"
        ),
        _ => format!(
            "{HEAD}#\n# No worker_shutdown_timeout: a reload, which a new share of any route causes, would cut \
             streams.\n# An old worker ends with its last stream. Who stops nginx sets the bound.\n"
        ),
    }
}

const UPGRADES: &str = "
# Upgrades of a connection are passed on, but none to HTTP/2: what came over it then would pass by the routes.
map $http_upgrade $passed_upgrade {
    default                      $http_upgrade;
    \"~*(?:^|[\\s,])(?:h2|http|tls)\" \"\";
}
map $passed_upgrade $passed_connection {
    default upgrade;
    \"\"      \"\";
}
";

const GRPC: &str = "
# gRPC, but no gRPC-Web, which is HTTP like any other.
map $http_content_type $is_grpc {
    default 0;
    \"~^application/grpc(?:[+;]|$)\" 1;
}
";

/// For all servers: what a client may send, and how long it and the app may take.
pub(super) fn front(carve: &CarveFile) -> String {
    let CarveFile { front, app, .. } = carve;
    let mut text = format!("{HEAD}\ninclude headers.conf;\n");
    if app.websocket {
        text += UPGRADES;
    }
    if has_grpc(carve) {
        text += GRPC;
    }
    for (header, value) in &carve.headers.response {
        let _ = writeln!(text, "proxy_hide_header {header};");
        if !value.is_empty() {
            let _ = writeln!(text, "add_header {header} \"{value}\" always;");
        }
    }
    let client = time(front.client_timeout);
    let app_time = time(app.timeout);
    let _ = write!(
        text,
        "\n# What the app takes and is given; each route has its own.\n\
         client_max_body_size {};\n\
         proxy_connect_timeout {};\nproxy_send_timeout {app_time};\nproxy_read_timeout {app_time};\n\
         \n# What a client may take.\n\
         client_header_timeout {}; # for the whole head\n\
         client_body_timeout {client}; # between two reads\n\
         send_timeout {client}; # between two writes\n\
         large_client_header_buffers 4 {}; # a longer line gets 414 or 431\n\
         underscores_in_headers {};\n",
        app.max_body,
        app.connect_timeout,
        front.head_timeout,
        front.max_line,
        if front.underscores { "on" } else { "off" }
    );
    if let Some(count) = front.requests_per_address {
        let _ = write!(
            text,
            "limit_conn_zone $binary_remote_addr zone=by_address:1m;\n\
             limit_conn by_address {count}; # an office or a load test shares one address\n\
             limit_conn_status 597; # @too_many answers 429\n\
             limit_conn_log_level info;\n"
        );
    }
    text
}

/// Of the client's headers, what nginx replaces besides those of [`clients::forwarded`]. The last two are for the
/// shadow.
const REPLACED: [(&str, &str); 8] = [
    ("X-Forwarded-For", "$remote_addr"), // what a client writes there is not passed on
    ("X-Real-IP", "$remote_addr"),
    ("Forwarded", "\"\""),
    ("X-Request-Id", "$checked_request_id"),
    ("X-Route-Fallback", "$fallback_mark"),
    ("X-Route-Arm", "\"\""),
    ("X-Route-Name", "$mirrored_route"),
    ("X-Route-Shadow", "$shadow_mark"),
];

/// What a side gets with each request. A location with headers of its own includes it, because it inherits none then.
pub(super) fn headers(carve: &CarveFile) -> String {
    let front = &carve.front;
    let mut text = format!(
        "{HEAD}#\n# What nginx says of a client, in place of what the client says itself.\n\
         proxy_set_header Host $sent_host;\n"
    );
    let replaced = || REPLACED.into_iter().chain(clients::forwarded(front));
    for (header, value) in replaced() {
        let _ = writeln!(text, "proxy_set_header {header} {value};");
    }
    if front.underscores {
        text += "\n# A server that takes - and _ for the same would take these for nginx' own.\n";
        for spelling in replaced().flat_map(|(header, _)| with_underscores(header)) {
            let _ = writeln!(text, "proxy_set_header {spelling} \"\";");
        }
        text += "proxy_headers_hash_max_size 1024;\nproxy_headers_hash_bucket_size 128;\n";
    }
    for (header, value) in &carve.headers.request {
        let _ = writeln!(text, "proxy_set_header {header} \"{value}\";");
    }
    text
}

/// The same of a location that passes requests on by HTTP/2: never mirrored, and no fallback.
pub(super) fn grpc_headers(carve: &CarveFile) -> String {
    let own = REPLACED.into_iter().map(|(header, value)| match header {
        "X-Route-Fallback" | "X-Route-Name" | "X-Route-Shadow" => (header, "\"\""),
        _ => (header, value),
    });
    let mut text = String::new();
    for (header, value) in own.chain(clients::forwarded(&carve.front)) {
        let _ = writeln!(text, "    grpc_set_header {header} {value};");
    }
    for (header, value) in &carve.headers.request {
        let _ = writeln!(text, "    grpc_set_header {header} \"{value}\";");
    }
    text
}

/// Whether clients can send gRPC: nginx takes HTTP/2 somewhere.
pub(super) fn has_grpc(carve: &CarveFile) -> bool {
    let http2 = |listener: &Listener| listener.http2.unwrap_or(listener.tls);
    carve.app.grpc && carve.front.listen.iter().any(http2)
}

/// The location of an app's gRPC.
pub(super) fn grpc(carve: &CarveFile, group: &str, url: &SideUrl) -> String {
    if !has_grpc(carve) {
        return String::new();
    }
    let app = &carve.app;
    let silence = time(app.timeout);
    let far = url.far().filter(|far| far.is_tls);
    let tls = far.map_or_else(String::new, |far| pass::tls(app, far, "grpc", "    "));
    let scheme = if tls.is_empty() { "grpc" } else { "grpcs" };
    format!(
        "location @grpc {{\n    error_page 597 = @too_many;\n    set $side old;\n    \
         client_max_body_size {};\n    grpc_connect_timeout {};\n    grpc_read_timeout {silence};\n    \
         grpc_send_timeout {silence};\n    grpc_next_upstream off;\n    grpc_socket_keepalive on;\n    \
         grpc_hide_header X-Request-Id;\n    grpc_set_header Host $sent_host;\n{}{tls}    \
         grpc_pass {scheme}://{group}_grpc;\n}}\n",
        app.max_body,
        app.connect_timeout,
        grpc_headers(carve)
    )
}

/// The header's name with underscores in place of some hyphens or of all.
fn with_underscores(header: &str) -> Vec<String> {
    let mut spellings = vec![String::new()];
    for part in header.split_inclusive('-') {
        let others = match part.strip_suffix('-') {
            Some(part) => spellings.iter().map(|start| format!("{start}{part}_")).collect(),
            None => Vec::new(),
        };
        spellings.iter_mut().for_each(|start| start.push_str(part));
        spellings.extend(others);
    }
    spellings.retain(|spelling| spelling != header);
    spellings
}

/// What a location of an app has.
pub(super) fn rest(carve: &CarveFile, upstreams: &Upstreams, group: &str, url: &SideUrl) -> String {
    let CarveFile { front, app, .. } = carve;
    let mut text = "include page-errors.conf;\nset $side old;\n\
                    proxy_socket_keepalive on; # a dead peer is noticed\n"
        .to_owned();
    if has_grpc(carve) {
        text += "error_page 593 = @grpc;\nif ($is_grpc) {\n    return 593;\n}\n";
    }
    if let Some(tries) = upstreams.tries(url) {
        let _ = writeln!(text, "proxy_next_upstream_tries {tries};");
    }
    if !app.buffering {
        text += "proxy_request_buffering off;\nproxy_buffering off;\n";
    }
    if front.max_line.0 > DEFAULT_LINE {
        // The largest head of an answer. nginx wants these three to fit.
        let line = front.max_line;
        let _ = writeln!(
            text,
            "proxy_buffer_size {line};\nproxy_buffers 4 {line};\nproxy_busy_buffers_size {line};"
        );
    }
    if app.websocket {
        text += "include headers.conf;\nproxy_set_header Upgrade $passed_upgrade;\n\
                 proxy_set_header Connection $passed_connection;\n";
    }
    text + &pass::to(app, url, group, "")
}

/// What an answer's head may have in nginx by itself.
const DEFAULT_LINE: u64 = 8 << 10;
