//! What nginx costs a request of a route: ours, ours without one part at a time, the least that proxies over
//! kept connections, and other proxies with the least.
//!
//! Instructions ([`count()`]) repeat on a busy machine, and are those of the process alone. Processor time
//! ([`time()`]) has the kernel's work too, and needs a quiet machine. Behind the proxy is qr-service, on the same core,
//! so the rate of both together is measured with it.

mod cache;
mod clients;
mod count;
mod idle;
mod other;
mod place;
mod report;
mod time;

pub use cache::of_both;
pub use clients::ask;
pub use count::{collected, count};
pub use idle::{Idle, idle};
pub use other::Other;
pub use place::{Behind, Nginx, Place};
pub use report::{Row, Timed, table};
pub use time::{Spent, time};

/// A change to a copy of nginx' files. Lines are compared without the spaces around them.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// In this file, drops the lines that begin so.
    Drop(&'static str, &'static str),
    /// In this file, drops the lines from those that begin so to the next `}`.
    DropBlock(&'static str, &'static str),
    /// In this file, replaces the lines that begin so.
    Replace(&'static str, &'static str, &'static str),
    /// Adds a line to this file.
    Append(&'static str, &'static str),
}

/// A part of our configuration that can be taken out.
#[derive(Debug)]
pub struct Part {
    /// Its name in the table.
    pub name: &'static str,
    /// How it is taken out.
    pub edits: &'static [Edit],
}

/// How nginx reaches the new side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// A port of this machine.
    Tcp,
    /// A Unix socket, as on `make up`.
    Unix,
}

/// What stands before the sides.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// `proxy_pass` to a group with kept connections, and nothing else.
    Barest(Over),
    /// Our files.
    Ours(Over),
    /// Our files without a part, over a port.
    Without(&'static Part),
    /// Another proxy in nginx' place.
    Instead(Other),
}

impl Way {
    /// Its name in the table.
    pub fn name(self) -> String {
        match self {
            Way::Barest(Over::Tcp) => "barest".to_owned(),
            Way::Barest(Over::Unix) => "barest, over a Unix socket".to_owned(),
            Way::Ours(Over::Tcp) => "ours".to_owned(),
            Way::Ours(Over::Unix) => "ours, over a Unix socket".to_owned(),
            Way::Without(part) => format!("without {}", part.name),
            Way::Instead(other) => other.program().to_owned(),
        }
    }

    /// Every way, in the order of the table.
    pub fn all() -> Vec<Way> {
        let others = [Way::Instead(Other::Haproxy), Way::Instead(Other::Envoy)];
        let both = [Over::Tcp, Over::Unix];
        let whole = both.map(Way::Barest).into_iter().chain(both.map(Way::Ours));
        let ours = whole.chain(PARTS.iter().map(Way::Without));
        ours.chain(others).collect()
    }
}

use Edit::{Append, Drop, DropBlock, Replace};

/// The parts, in the order of a request.
pub static PARTS: [Part; 13] = [
    Part {
        name: "the choice of a side",
        edits: &[
            DropBlock("locations.conf", "if ($request_uri !~"),
            DropBlock("routes.conf", "map $chosen_arm $qrcode_arm"),
            Append("routes.conf", "map \"\" $qrcode_arm { default new; }"),
        ],
    },
    Part {
        name: "the look for a stop file",
        edits: &[DropBlock("locations.conf", "if (-f $document_root/qrcode)")],
    },
    Part { name: "the limit by address", edits: &[Drop("nginx.conf", "limit_conn by_address")] },
    Part {
        name: "the mirror",
        edits: &[
            Drop("locations.conf", "mirror /"),
            DropBlock("locations.conf", "if ($qrcode_mirrored"),
        ],
    },
    Part {
        name: "made request ids",
        edits: &[
            DropBlock("nginx.conf", "map $http_x_request_id $checked_request_id"),
            Append("routes.conf", "map \"\" $checked_request_id { default 0; }"),
            Replace(
                "routes/qrcode/split.conf",
                "split_clients \"qrcode mirror",
                "split_clients \"qrcode mirror $connection $connection_requests\" $qrcode_sampled {",
            ),
        ],
    },
    Part {
        name: "our headers to the side",
        edits: &[
            Drop("nginx.conf", "proxy_set_header X-"),
            Drop("nginx.conf", "proxy_set_header Forwarded"),
            Drop("nginx.conf", "proxy_set_header Host"),
        ],
    },
    Part { name: "dropped bodies", edits: &[Drop("locations.conf", "proxy_set_body")] },
    Part { name: "counts of all workers together", edits: &[Drop("upstreams.conf", "zone ")] },
    Part {
        name: "our headers to the client",
        edits: &[
            Drop("nginx.conf", "proxy_hide_header"),
            Drop("nginx.conf", "add_header X-Request-Id"),
        ],
    },
    Part { name: "short caching during a ramp", edits: &[Drop("locations.conf", "expires ")] },
    Part {
        name: "the log on standard output",
        edits: &[Drop("nginx.conf", "access_log /dev/stdout")],
    },
    Part { name: "the log for edge", edits: &[Drop("nginx.conf", "access_log edge/access.log")] },
    Part {
        name: "compiled regular expressions",
        edits: &[Replace("nginx.conf", "pcre_jit", "pcre_jit off;")],
    },
];
