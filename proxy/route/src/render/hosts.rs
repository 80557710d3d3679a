//! `hosts.conf`: the hosts that files name, with one server for all hosts with the same app and the same routes; and
//! `listeners.conf` and `redirects.conf`: the addresses where clients connect, besides the one of `carve up`.

use std::fmt::Write;

use super::{HEAD, Upstreams, front, locations};
use crate::carve_file::{CarveFile, Front, Tls};
use crate::hosts::Site;

const ABOUT: &str = "#
# Hosts with an app or routes of their own. Each server listens at the addresses of the first one (nginx.conf), which
# answers for all other hosts.
";

/// The upstream group of a host's app. `number` is the host's place in `carve.toml`, from 1.
pub(super) fn group(number: usize) -> String {
    format!("app_{number}")
}

pub(super) fn servers(carve: &CarveFile, sites: &[Site<'_>], upstreams: &Upstreams) -> String {
    let mut text = HEAD.to_owned();
    if !sites.is_empty() {
        // The bucket size for the longest name that DNS allows.
        text += ABOUT;
        text += "server_names_hash_bucket_size 512;\n";
    }
    for Site { names, host, routes } in sites {
        let number = carve.hosts.iter().zip(1..).find(|(it, _)| Some(*it) == *host);
        let (group, url) = number.map_or_else(
            || ("old".to_owned(), &upstreams.old),
            |(host, number)| (group(number), &host.app),
        );
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let tls = host.and_then(|host| host.tls.as_ref()).or(carve.front.tls.as_ref());
        let rest = front::rest(carve, upstreams, &group, url);
        text += &format!(
            "\nserver {{\nserver_name {};\ninclude listen.conf;\n{}include page-locations.conf;\n\n\
             location / {{\n{rest}}}\n\nlocation @rest {{\n{rest}}}\n{}\n{}}}\n",
            names.join(" "),
            listens(&carve.front, tls),
            locations(carve, routes, upstreams, &rest),
            front::grpc(carve, &group, url)
        );
    }
    text
}

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
