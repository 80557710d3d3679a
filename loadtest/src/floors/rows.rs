//! The rows and the columns.

use std::str::FromStr;

use anyhow::Context;
use serde::Serialize;

/// How a server is started.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// A program of `loadtest/floors/rust`.
    Rust(&'static str),
    /// A program of `loadtest/floors/go`.
    Go(&'static str),
    /// `loadtest/floors/go/gohyper`, one program per column.
    GoHyper,
    /// `node.mjs`.
    Node,
    /// `bun.mjs`.
    Bun,
    /// nginx with this configuration.
    Nginx(&'static str),
    /// HAProxy.
    Haproxy,
    /// h2o.
    H2o,
    /// The example `floor` of qr-service.
    Kit,
    /// qr-service.
    Service,
}

/// A column: how a server is set up. What documentation shows and what experts do are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Tuned in the manner of entries at `TechEmpower`, or as the server's documentation shows first.
    pub tuned: bool,
    /// Whether it ends connections whose client is too slow.
    pub timeouts: bool,
}

const fn column(tuned: bool, timeouts: bool) -> Column {
    Column { tuned, timeouts }
}

/// Every column, in the order of the table.
pub static COLUMNS: [Column; 4] =
    [column(false, false), column(false, true), column(true, false), column(true, true)];

impl Column {
    /// Its name in arguments and in JSON.
    pub fn name(self) -> &'static str {
        match (self.tuned, self.timeouts) {
            (false, false) => "documented",
            (false, true) => "documented-timeouts",
            (true, false) => "tuned",
            (true, true) => "tuned-timeouts",
        }
    }

    /// Its heading.
    pub fn title(self) -> &'static str {
        match (self.tuned, self.timeouts) {
            (false, false) => "as documented",
            (false, true) => "as documented, timeouts",
            (true, false) => "as tuned",
            (true, true) => "as tuned, timeouts",
        }
    }

    /// The word for the side of it that programs take as an argument.
    pub(super) fn words(self) -> [&'static str; 2] {
        let side = if self.tuned { "tuned" } else { "documented" };
        [side, if self.timeouts { "timeouts" } else { "forever" }]
    }
}

impl Serialize for Column {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl FromStr for Column {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let names = COLUMNS.map(Column::name).join(", ");
        let found = COLUMNS.into_iter().find(|column| column.name() == text);
        found.with_context(|| format!("{text:?}: the columns are {names}"))
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Floor {
    /// Its name.
    pub name: &'static str,
    /// A line that describes it.
    pub about: &'static str,
    /// Why its head has other lines than those of all others, if it does.
    pub differs: Option<&'static str>,
    /// Why columns are missing, if any are.
    pub lacks: Option<&'static str>,
    /// Whether its answer is the same as that of all others.
    pub is_static: bool,
    /// The path and query that it is asked for.
    pub target: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) way: Way,
}

const fn floor(name: &'static str, way: Way, about: &'static str) -> Floor {
    Floor {
        name,
        about,
        differs: None,
        lacks: None,
        is_static: true,
        target: "/qrcode",
        columns: &COLUMNS,
        way,
    }
}

impl Floor {
    const fn differs(self, why: &'static str) -> Self {
        Floor { differs: Some(why), ..self }
    }

    const fn only(self, columns: &'static [Column], why: &'static str) -> Self {
        Floor { columns, lacks: Some(why), ..self }
    }

    /// Whether the server can be set up so.
    pub fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }
}

const WITHOUT: [Column; 2] = [column(false, false), column(true, false)];
const WITH: [Column; 2] = [column(false, true), column(true, true)];
const DOCUMENTED: [Column; 2] = [column(false, false), column(false, true)];

const ALWAYS_TIMES: &str = "its timeouts cannot be turned off";
const NGINX_SAYS: &str = "nginx' filter for heads always writes Server and Connection";

/// Every row.
pub static FLOORS: [Floor; 17] = [
    floor("hyper", Way::Rust("hyper"), "hyper 1 without a router, on tokio"),
    floor("axum", Way::Rust("axum"), "axum 0.8, a router with one route"),
    floor("actix-web", Way::Rust("actix-web"), "actix-web 4; tuned: actix-http"),
    floor("ntex", Way::Rust("ntex"), "ntex 3 on tokio; tuned: no router, on its own runtime with io_uring, but with no head written by hand as at TechEmpower"),
    floor("may_minihttp", Way::Rust("may_minihttp"), "may_minihttp, a coroutine a connection")
        .differs("may_minihttp writes `200 Ok` and Server itself")
        .only(&WITHOUT, "it has no timeouts"),
    floor("monoio", Way::Rust("monoio"), "hyper on monoio: io_uring, a runtime per core"),
    floor("net/http", Way::Go("nethttp"), "Go's net/http; tuned: no router, a process per core"),
    floor("fasthttp", Way::Go("fasthttp"), "Go's fasthttp; tuned: a process per core"),
    floor("go-hyper", Way::GoHyper, "Go's net/http handlers, called through C by hyper"),
    floor("node", Way::Node, "Node's http; tuned: flat headers, a process per core"),
    floor("bun", Way::Bun, "Bun.serve; tuned: no router, a process per core"),
    floor("nginx", Way::Nginx("nginx.conf"), "nginx, `return 200`")
        .differs(NGINX_SAYS)
        .only(&WITH, ALWAYS_TIMES),
    floor("nginx-lua", Way::Nginx("nginx-lua.conf"), "nginx with Lua, for OpenResty")
        .differs(NGINX_SAYS)
        .only(&WITH, ALWAYS_TIMES),
    floor("h2o", Way::H2o, "h2o 2.2, a file of 420 bytes")
        .differs("h2o always writes Connection")
        .only(
            &[column(false, true)],
            "its timeouts cannot be turned off; its entry at TechEmpower, a program in C, was not tried",
        ),
    floor("haproxy", Way::Haproxy, "HAProxy, `http-request return`").only(
        &DOCUMENTED,
        "no tuned set-up was tried",
    ),
    floor(
        "service-kit",
        Way::Kit,
        "the server part of qr-service without the picture: a route behind hyper and axum; tuned: a shortcut before hyper",
    )
    .only(&WITH, ALWAYS_TIMES),
    Floor {
        is_static: false,
        target: "/qrcode?text=https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F0123456789",
        ..floor(
            "qr-service",
            Way::Service,
            "not a floor: qr-service draws the picture of one link for every request",
        )
        .differs("it is the service itself")
        .only(
            &[column(false, true)],
            "it always has timeouts, and runs with its defaults",
        )
    },
];
