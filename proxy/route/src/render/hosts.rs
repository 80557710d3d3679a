//! `hosts.conf`: the hosts that files name, with one server for all hosts with the same app and the same routes.

use super::{HEAD, Upstreams, front, listeners, locations};
use crate::carve_file::CarveFile;
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
            listeners::listens(&carve.front, tls),
            locations(carve, routes, upstreams, &rest),
            front::grpc(carve, &group, url)
        );
    }
    text
}
