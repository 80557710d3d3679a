//! The files made from `carve.toml`: `workers.conf`, `front.conf`, `headers.conf` and `rest.conf`.

use std::fmt::Write;

use super::{HEAD, Upstreams, clients, pass};
use crate::carve_file::{CarveFile, Listener};
use crate::file::Route;
use crate::side::SideUrl;
use crate::units::Time;

/// A practically endless time, where nginx needs one.
const ENDLESS: &str = "365d";

/// A time as nginx reads it; `None` is endless.
pub(super) fn time(time: Option<Time>) -> String {
    time.map_or_else(|| ENDLESS.to_owned(), |time| time.to_string())
}

pub(super) fn workers(carve: &CarveFile, routes: &[Route]) -> String {
    match carve.front.drain {
        Some(drain) if !routes.iter().any(Route::is_session) => format!(
            "{HEAD}#\n# How long open requests may take after a reload or a stop.\n\
             worker_shutdown_timeout {drain};\n"
        ),
        _ => format!(
            "{HEAD}#\n# No worker_shutdown_timeout: it would cut streams after each reload, which every new share of \
             a route causes.\n# An old worker ends with its last stream. Whoever stops nginx sets a time limit.\n"
        ),
    }
}

const UPGRADES: &str = "
# Upgrades of a connection are passed on, except to HTTP/2: requests over such a connection would bypass the routes.
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
# gRPC, but not gRPC-Web, which is passed on like other HTTP.
map $http_content_type $is_grpc {
    default 0;
    \"~^application/grpc(?:[+;]|$)\" 1;
}
";

/// `front.conf`, for all servers: what a client may send, and how long it and the app may take.
pub(super) fn front(carve: &CarveFile) -> String {
    let CarveFile { front, app, .. } = carve;
    let mut text = format!("{HEAD}\ninclude headers.conf;\n");
    if app.websocket {
        text += UPGRADES;
    }
    if has_grpc(carve) {
        text += GRPC;
    }
    if !app.buffering {
        text += "\nproxy_buffering off;\n";
    }
    if front.max_line.0 > DEFAULT_LINE {
        // The largest head of an answer. nginx requires these three sizes to match.
        let line = front.max_line;
        let _ = writeln!(
            text,
            "\nproxy_buffer_size {line};\nproxy_buffers 4 {line};\nproxy_busy_buffers_size {line};\n\
             grpc_buffer_size {line};"
        );
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
        "\n# Limits and timeouts of the app; each route has its own.\n\
         client_max_body_size {};\n\
         proxy_connect_timeout {};\nproxy_send_timeout {app_time};\nproxy_read_timeout {app_time};\n\
         \n# Limits and timeouts of a client.\n\
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

/// The client's headers that nginx replaces, besides those of [`clients::forwarded`]. The last two are for the shadow.
const REPLACED: [(&str, &str); 8] = [
    ("X-Forwarded-For", "$remote_addr"), // a client's own value is not passed on
    ("X-Real-IP", "$remote_addr"),
    ("Forwarded", "\"\""),
    ("X-Request-Id", "$checked_request_id"),
    ("X-Route-Fallback", "$fallback_mark"),
    ("X-Route-Arm", "\"\""),
    ("X-Route-Name", "$mirrored_route"),
    ("X-Route-Shadow", "$shadow_mark"),
];

/// `headers.conf`: the headers that a side gets with each request. A location with headers of its own must include it,
/// since it inherits none.
pub(super) fn headers(carve: &CarveFile) -> String {
    let sizes = match carve.front.underscores {
        true => "proxy_headers_hash_max_size 1024;\nproxy_headers_hash_bucket_size 128;\n",
        false => "",
    };
    format!(
        "{HEAD}#\n# Headers about a client that nginx sets itself, instead of the client's own.\n{}{sizes}",
        sent(carve, "proxy", "")
    )
}

/// The directives that set each header once: to the value in the file, else to nginx' own. Removes spellings with `_`,
/// which some servers could not tell from nginx' own headers.
fn sent(carve: &CarveFile, module: &str, indent: &str) -> String {
    let own = [("Host", "$sent_host")].into_iter().chain(REPLACED);
    let mut headers: Vec<(String, String)> = own
        .chain(clients::forwarded(&carve.front))
        .map(|(header, value)| match header {
            // These requests are never mirrored and have no fallback.
            "X-Route-Fallback" | "X-Route-Name" | "X-Route-Shadow" if module == "grpc" => {
                (header, "\"\"")
            }
            _ => (header, value),
        })
        .map(|(header, value)| (header.to_owned(), value.to_owned()))
        .collect();
    if carve.front.underscores {
        let spellings: Vec<_> =
            headers.iter().flat_map(|(header, _)| with_underscores(header)).collect();
        headers.extend(spellings.into_iter().map(|spelling| (spelling, "\"\"".to_owned())));
    }
    for (header, value) in &carve.headers.request {
        headers.retain(|(own, _)| !own.eq_ignore_ascii_case(header));
        headers.push((header.clone(), format!("\"{value}\"")));
    }
    let line = |(header, value)| format!("{indent}{module}_set_header {header} {value};\n");
    headers.into_iter().map(line).collect()
}

/// The same headers for a location that passes requests on over HTTP/2.
pub(super) fn grpc_headers(carve: &CarveFile) -> String {
    sent(carve, "grpc", "    ")
}

/// Whether clients can send gRPC: it is on, and a listener accepts HTTP/2.
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
         grpc_hide_header X-Request-Id;\n{}{tls}    \
         grpc_pass {scheme}://{group}_grpc;\n}}\n",
        app.max_body,
        app.connect_timeout,
        grpc_headers(carve)
    )
}

/// The header's name in every spelling with underscores in place of some or all hyphens.
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

/// nginx writes all that a quick client sends before it looks whether the app has answered, unless a write leaves a part
/// of its buffer (nginx.conf).
const UNBUFFERED: &str = "proxy_request_buffering off;
client_body_buffer_size 64k; # more than a write takes, so that nginx sees an early answer
sendfile_max_chunk 32k;
";

/// The content of an app's location.
pub(super) fn rest(carve: &CarveFile, upstreams: &Upstreams, group: &str, url: &SideUrl) -> String {
    let app = &carve.app;
    let mut text = "include page-errors.conf;\nset $side old;\n\
                    proxy_socket_keepalive on; # detects a dead peer\n"
        .to_owned();
    if has_grpc(carve) {
        text += "error_page 593 = @grpc;\nif ($is_grpc) {\n    return 593;\n}\n";
    }
    if let Some(tries) = upstreams.tries(url) {
        let _ = writeln!(text, "proxy_next_upstream_tries {tries};");
    }
    if !app.buffering {
        text += UNBUFFERED;
    }
    if app.websocket {
        text += "include headers.conf;\nproxy_set_header Upgrade $passed_upgrade;\n\
                 proxy_set_header Connection $passed_connection;\n";
    }
    text + &pass::to(app, url, group, "")
}

/// The largest head of an answer that nginx accepts by default.
const DEFAULT_LINE: u64 = 4 << 10;
