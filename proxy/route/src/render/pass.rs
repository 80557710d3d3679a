//! How a request is passed on to a side: `proxy_pass`, and further lines for a side behind TLS or below a path.

use std::fmt::Write;

use crate::carve_file::App;
use crate::side::{FarUrl, SideUrl};

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
