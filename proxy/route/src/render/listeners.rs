//! `listeners.conf` and `redirects.conf`: the addresses where clients connect, besides the one of `carve up`.

use std::fmt::Write;

use super::HEAD;
use crate::carve_file::{Front, Tls};

/// The `listen` lines of a public server with this certificate.
pub(super) fn listens(front: &Front, tls: Option<&Tls>) -> String {
    let mut text = String::new();
    for listener in front.listen.iter().filter(|listener| !listener.redirect) {
        let tls = if listener.tls { " ssl" } else { "" };
        let http2 = if listener.http2.unwrap_or(listener.tls) { " http2" } else { "" };
        let _ = writeln!(text, "listen {}{tls}{http2};", listener.address);
    }
    if let Some(tls) = tls {
        let _ = writeln!(
            text,
            "ssl_certificate \"{}\";\nssl_certificate_key \"{}\";\nssl_session_cache shared:tls:4m;\n\
             ssl_protocols TLSv1.2 TLSv1.3;",
            tls.certificate.display(),
            tls.key.display()
        );
    }
    text
}

/// The servers that redirect to a listener with TLS.
pub(super) fn redirects(front: &Front) -> String {
    let mut text = HEAD.to_owned();
    let port = front.listen.iter().find(|listener| listener.tls).map(|tls| tls.address.port());
    let port = port.filter(|port| *port != 443).map_or_else(String::new, |port| format!(":{port}"));
    for listener in front.listen.iter().filter(|listener| listener.redirect) {
        // 308 keeps the method and the body.
        let _ = write!(
            text,
            "server {{\n    listen {};\n    error_log stderr emerg;\n    \
             return 308 https://$host{port}$request_uri;\n}}\n",
            listener.address
        );
    }
    text
}
