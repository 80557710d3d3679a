//! How a request is passed on to a side: `proxy_pass`, and further lines for a side behind TLS or below a path.

use std::fmt::Write;

use crate::carve_file::App;
use crate::side::{FarUrl, Side, SideUrl};

/// The lines of a location that passes requests to `group`, the group of the side at `url`.
pub(super) fn to(app: &App, url: &SideUrl, group: &str, indent: &str) -> String {
    let Some(far) = url.far() else {
        return format!("{indent}proxy_pass http://{group};\n");
    };
    let FarUrl { is_tls, prefix, .. } = far;
    let mut text = String::new();
    if *is_tls {
        text += &tls(app, far, "proxy", indent);
    }
    if !prefix.is_empty() {
        // Removes the path from redirects and cookies, since clients do not know it.
        let escaped = prefix.replace('.', "\\.");
        let _ = write!(
            text,
            "{indent}absolute_redirect off;\n\
             {indent}proxy_redirect \"~^(?:https?://[^/]+)?{escaped}(/.*)$\" $1;\n\
             {indent}proxy_cookie_path {prefix}/ /;\n"
        );
    }
    let scheme = if *is_tls { "https" } else { "http" };
    let target = if prefix.is_empty() { "" } else { "$request_uri" };
    text + &format!("{indent}proxy_pass {scheme}://{group}{prefix}{target};\n")
}

/// The lines that make an nginx module (`proxy` or `grpc`) check the certificate of a side.
pub(super) fn tls(app: &App, far: &FarUrl, module: &str, indent: &str) -> String {
    let lines = [
        "server_name on".to_owned(),
        format!("name {}", far.host()),
        "verify on".to_owned(),
        "verify_depth 4".to_owned(),
        format!("trusted_certificate \"{}\"", app.authorities_file().display()),
    ];
    lines.iter().map(|line| format!("{indent}{module}_ssl_{line};\n")).collect()
}

/// Tries another server of the side once before the other side is asked, if nginx knows several servers.
pub(super) fn retried(side: &Side, tries: Option<usize>) -> String {
    let status = if side.retry_500 { " http_500" } else { "" };
    tries.map_or_else(String::new, |tries| {
        format!(
            "    proxy_next_upstream error timeout{status};\n    proxy_next_upstream_tries {tries};\n"
        )
    })
}

/// The cache settings of a location. A kept answer is served to every client that requests the same target of the same
/// host, but answers to requests with credentials are never kept (RFC 9111, section 3.5).
pub(super) fn cached(name: &str) -> String {
    let not = format!("${name}_ramped $http_authorization");
    // It needs answers that are buffered.
    format!(
        "    proxy_buffering on;\n    proxy_cache {name}_cache;\n    proxy_cache_min_uses 2;\n    proxy_cache_key ${name}_state$sent_host$request_uri;\n    \
         proxy_cache_bypass {not};\n    proxy_no_cache {not};\n"
    )
}
