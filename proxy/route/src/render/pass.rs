//! How a request is passed on to a side: `proxy_pass`, and what a side behind TLS or below a path needs besides.

use std::fmt::Write;

use crate::carve_file::App;
use crate::side::{FarUrl, SideUrl};

/// Debian's, and where the image has them.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The lines of a location that passes requests to this group of a side's servers.
pub(super) fn to(app: &App, url: &SideUrl, group: &str, indent: &str) -> String {
    to_target(app, url, group, "$request_uri", indent)
}

/// Likewise, with a variable that has the path and query.
pub(super) fn to_target(
    app: &App,
    url: &SideUrl,
    group: &str,
    target: &str,
    indent: &str,
) -> String {
    let Some(far) = url.far() else {
        let target = if target == "$request_uri" { "" } else { target };
        return format!("{indent}proxy_pass http://{group}{target};\n");
    };
    let FarUrl { is_tls, prefix, .. } = far;
    let mut text = String::new();
    if *is_tls {
        text += &tls(app, far, "proxy", indent);
    }
    if !prefix.is_empty() {
        // Clients know nothing of the path.
        let escaped = prefix.replace('.', "\\.");
        let _ = write!(
            text,
            "{indent}absolute_redirect off;\n\
             {indent}proxy_redirect \"~^(?:https?://[^/]+)?{escaped}(/.*)$\" $1;\n\
             {indent}proxy_cookie_path {prefix}/ /;\n"
        );
    }
    let scheme = if *is_tls { "https" } else { "http" };
    let target = match prefix.is_empty() && target == "$request_uri" {
        true => String::new(),
        false => format!("{prefix}{target}"),
    };
    text + &format!("{indent}proxy_pass {scheme}://{group}{target};\n")
}

/// How the certificate of a side is checked, by this module of nginx.
pub(super) fn tls(app: &App, far: &FarUrl, module: &str, indent: &str) -> String {
    let authorities = app.authorities.as_ref().map(|file| file.display().to_string());
    let authorities = authorities.as_deref().unwrap_or(AUTHORITIES);
    let lines = [
        "server_name on".to_owned(),
        format!("name {}", far.host()),
        "verify on".to_owned(),
        "verify_depth 4".to_owned(),
        format!("trusted_certificate \"{authorities}\""),
    ];
    lines.iter().map(|line| format!("{indent}{module}_ssl_{line};\n")).collect()
}

/// A location of the admin server that passes requests below `/.side/NAME` on to a side, for who speaks no TLS: the
/// shadow.
pub(super) fn side(app: &App, name: &str, url: &SideUrl, group: &str) -> String {
    format!(
        "location ^~ /.side/{name}/ {{\n    set $side_target /;\n    \
         if ($request_uri ~ \"^/\\.side/{name}(/.*)$\") {{\n        set $side_target $1;\n    }}\n{}}}\n",
        to_target(app, url, group, "$side_target", "    ")
    )
}
