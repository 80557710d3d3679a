//! `clients.conf`: which load balancers are trusted, and which clients may choose a side.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::HEAD;
use crate::carve_file::{ChooseBy, Front};

pub(super) fn clients(front: &Front) -> String {
    format!(
        "{HEAD}#\n# Trusted load balancers, and clients that may choose a side.\n{}{}",
        trusted(front),
        choice(front)
    )
}

/// The values of `X-Forwarded-Proto`, `-Host` and `-Port` for the sides.
pub(super) fn forwarded(front: &Front) -> [(&'static str, &'static str); 3] {
    let [proto, host, port] = match front.trusted_proxies.is_empty() {
        true => ["$scheme", "\"\"", "\"\""],
        false => ["$forwarded_proto", "$forwarded_host", "$forwarded_port"],
    };
    [("X-Forwarded-Proto", proto), ("X-Forwarded-Host", host), ("X-Forwarded-Port", port)]
}

const FORWARDED: &str = "
# The headers of a load balancer about its client. The same headers of other clients are never passed on.
map \"$is_from_proxy $http_x_forwarded_proto\" $forwarded_proto {
    default $scheme;
    \"~*^1 (?<its_proto>https?)$\" $its_proto;
}
map $is_from_proxy $forwarded_host {
    default \"\";
    1       $http_x_forwarded_host;
}
map $is_from_proxy $forwarded_port {
    default \"\";
    1       $http_x_forwarded_port;
}
";

fn trusted(front: &Front) -> String {
    let proxies = &front.trusted_proxies;
    if proxies.is_empty() {
        return String::new();
    }
    let mut text = "\n# Load balancers in front of nginx.\n".to_owned();
    for proxy in proxies {
        let _ = writeln!(text, "set_real_ip_from {proxy};");
    }
    text += "geo $realip_remote_addr $is_from_proxy {\n    default 0;\n";
    for proxy in proxies {
        let _ = writeln!(text, "    {proxy} 1;");
    }
    text + "}\n" + FORWARDED
}

fn choice(front: &Front) -> String {
    let networks = |networks: &mut dyn Iterator<Item = &str>| {
        networks
            .collect::<BTreeSet<_>>()
            .iter()
            .map(|it| format!("    {it} 1;\n"))
            .collect::<String>()
    };
    let from = || front.choose.from.iter().map(|network| &*network.0);
    let mut text = format!(
        "\n# Whose mark says that the shadow sent a request, through a side's URL that leads to nginx.\n\
         geo $trusted_mark {{\n    default \"\";\n{}}}\n\
         # Who may choose the side of a request.\ngeo $may_choose {{\n    default 0;\n{}",
        networks(&mut from().chain(["127.0.0.0/8", "::1/128"])),
        networks(&mut from())
    );
    let ChooseBy::Key(key) = &front.choose.by else {
        return text + "}\nmap \"\" $chosen_arm { default \"\"; }\n";
    };
    // A regular expression, since plain strings in a map ignore case and would also match NEW.
    let _ = write!(
        text,
        "}}\nmap ${} $asked_arm {{\n    default \"\";\n    \"~^(?<its_arm>new|old)$\" \"$may_choose $its_arm\";\n}}\n\
         map $asked_arm $chosen_arm {{\n    default \"\";\n    \"1 new\" new;\n    \"1 old\" old;\n}}\n",
        key.variable()
    );
    text
}
