//! The rows of the ladder, in groups. To add one, add it here or to `examples/rungs`; a new kind also needs a `Way`.

use std::sync::LazyLock;

use anyhow::ensure;
use carve::local::Share;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::texts;

mod counted;

use counted::COUNTED;
pub(crate) use counted::{Counted, Cut};

/// A text of this program.
pub(crate) type Text = &'static str;

/// Rows that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Ways to serve /qrcode
    Qrcode,
    /// Ways from a sender to its receivers
    Relay,
    /// Servers that always answer the same
    Floors,
    /// The way through nginx, in instructions
    Nginx,
    /// Ways to serve /qrcode in other languages
    Languages,
}

/// How a row is served.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// An example of qr-service, whose arguments are the address and the number of threads.
    Example(&'static str),
    /// legacy-node with `QR_IMPL` and `WORKERS`.
    LegacyNode(&'static str, usize),
    /// A build of qr-service with `QR_ENGINE`.
    Service(&'static str, &'static str),
    QuickChart,
    /// A rung of `examples/rungs`, by its language and name.
    Rung(&'static str),
    /// A whole stack that logs this share of successful requests.
    Stack(Share),
    /// A program of `floors/rust` or `floors/go`.
    Built(&'static str),
    Node,
    /// nginx or HAProxy with a configuration of `floors/`.
    Configured(&'static str, &'static str),
    /// No server: the sender's socket is the receiver's.
    Socket,
    LegacyRelay,
    PipingServer,
    /// relay-service.
    Relay,
    /// Counts instructions per request.
    Counted(Counted),
}

/// The answers that a server must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    Pictures,
    /// The same 420 bytes as all other such rows.
    Same,
    /// The same body with more headers, for the reason given at the row.
    SameBut,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in tables and files.
    pub name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) way: Way,
    pub(crate) answers: Answers,
    /// The target of its requests, up to the text.
    pub(crate) target: &'static str,
    /// The article's requests per second for the same kind of server, relative to Node alone.
    pub(crate) article: Option<f64>,
}

/// nginx' filter for heads always writes Server and Connection.
const NGINX_SAYS: Answers = Answers::SameBut;

impl Row {
    pub(crate) const fn new(name: &'static str, way: Way, about: &'static str) -> Self {
        let (target, answers) = (texts::QRCODE, Answers::Pictures);
        Row { name, about, way, answers, target, article: None }
    }

    const fn legacy_node(name: Text, generator: Text, workers: usize, about: Text) -> Self {
        Row::new(name, Way::LegacyNode(generator, workers), about)
    }

    const fn floor(name: &'static str, way: Way, about: &'static str) -> Self {
        Row { answers: Answers::Same, target: "/qrcode", ..Row::new(name, way, about) }
    }

    const fn target(self, target: &'static str) -> Self {
        Row { target, ..self }
    }

    const fn article(self, ratio: f64) -> Self {
        Row { article: Some(ratio), ..self }
    }

    const fn answers(self, answers: Answers) -> Self {
        Row { answers, ..self }
    }

    /// Whether it pairs a sender with receivers that ask for their key.
    pub fn is_relay(&self) -> bool {
        matches!(self.way, Way::LegacyRelay | Way::PipingServer | Way::Relay)
    }
}

impl Group {
    /// Its name in arguments and files.
    pub fn name(self) -> &'static str {
        ["qrcode", "relay", "floors", "nginx", "languages"][self as usize]
    }

    /// Its rows, in the order of the table.
    pub fn rows(self) -> &'static [Row] {
        match self {
            Group::Qrcode => &QRCODE,
            Group::Relay => &RELAYS,
            Group::Floors => &FLOORS,
            Group::Nginx => &COUNTED,
            Group::Languages => &RUNGS,
        }
    }

    /// The row that a row is compared with.
    pub fn baseline(self, row: &Row) -> Option<&'static str> {
        match self {
            Group::Qrcode => Some("node"),
            Group::Floors => Some("hyper"),
            Group::Nginx => Some("ours"),
            Group::Relay => None,
            Group::Languages => {
                let is_own = |it: &Text| it.strip_suffix(" own") == row.name.split(' ').next();
                self.rows().iter().map(|it| it.name).find(is_own)
            }
        }
    }

    /// The rows that `only` names, by name or first word, or all; always includes the rows that the others are compared
    /// with. Fails if no row has a name; the error lists the rows.
    pub fn chosen(self, only: &[String]) -> anyhow::Result<Vec<&'static Row>> {
        let rows = self.rows().iter();
        let named = |row: &Row, it: &str| row.name == it || row.name.split(' ').next() == Some(it);
        for name in only {
            let names: Vec<&str> = rows.clone().map(|row| row.name).collect();
            let (is_known, group) = (rows.clone().any(|row| named(row, name)), self.name());
            ensure!(is_known, "--only {name:?}: the rows of {group} are {}", names.join(", "));
        }
        let is_always = |row: &Row| match self {
            Group::Qrcode => ["static", "node"].contains(&row.name),
            _ => row.name == "qr-service" && self == Group::Languages,
        };
        let wanted =
            |row: &&Row| only.is_empty() || is_always(row) || only.iter().any(|it| named(row, it));
        Ok(rows.filter(wanted).collect())
    }
}

const OURS: Way = Way::Service("qr-service", "default");
const LOUD: Way = Way::Stack(Share::ALL);
const QUIET: Way = Way::Stack(Share::NONE);

static QRCODE: [Row; 15] = [
    Row::floor("static", Way::Example("static_answer"), "service-kit with the same 420 bytes")
        .target(texts::QRCODE),
    Row::legacy_node("node", "node", 1, "legacy-node, one process, npm qrcode").article(1.0),
    Row::legacy_node("node-cluster", "node", 2, "two processes (node:cluster) on the same cores"),
    Row::legacy_node("node-tuned", "node-tuned", 1, "npm qrcode: greyscale, no filter, level 6"),
    Row::legacy_node("cli", "cli", 1, "one process of the CLI per picture").article(1.76),
    Row::legacy_node("wasm", "wasm", 1, "the Wasm module through wasm-bindgen").article(2.03),
    Row::legacy_node("wasm-raw", "wasm-raw", 1, "the Wasm module through its plain interface"),
    Row::legacy_node("native", "native", 1, "the addon on the event loop's thread").article(3.75),
    Row::legacy_node("native-async", "native-async", 1, "the addon on a thread of libuv's pool"),
    Row::new("axum-article", Way::Service("axum-article", "reference"), "the article's function")
        .article(4.93),
    Row::new("qr-service", OURS, "qr-service alone"),
    Row::new("nginx+qr-service", LOUD, "a stack with legacy-node; every request is logged"),
    Row::new("quiet-nginx+qr-service", QUIET, "the same; only failures and fallbacks are logged"),
    Row::new("v1-qr", OURS, "the same picture by options").target("/v1/qr?size=200&level=L&text="),
    Row::new("quickchart", Way::QuickChart, "Express and npm qrcode, as in QuickChart's server")
        .target("/qr?size=200&ecLevel=L&text="),
];

static RUNGS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    const FILE: &str = include_str!("../../../examples/rungs/rungs.json");
    let rungs: Vec<(Text, Text)> = serde_json::from_str(FILE).expect("pairs of texts");
    let rungs = rungs.into_iter().map(|(name, about)| Row::new(name, Way::Rung(name), about));
    rungs.chain([Row::new("qr-service", OURS, "qr-service alone")]).collect()
});

/// docs/choosing-a-rung.md names each of these rows with its figure, so none is unused; a test compares both.
static FLOORS: [Row; 13] = [
    Row::floor("hyper", Way::Built("hyper"), "hyper 1 without a router, on tokio"),
    Row::floor("hyper-threads", Way::Built("hyper-threads"), "a runtime and listener per core"),
    Row::floor("hyper-threads-shared", Way::Built("hyper-threads-shared"), "and a shared limit"),
    Row::floor("axum", Way::Built("axum"), "axum 0.8, a router with one route"),
    Row::floor("actix-web", Way::Built("actix-web"), "actix-web 4"),
    Row::floor("net/http", Way::Built("nethttp"), "Go's net/http"),
    Row::floor("go-hyper", Way::Built("gohyper"), "net/http's handlers, served by hyper through C"),
    Row::floor("fasthttp", Way::Built("fasthttp"), "Go's fasthttp"),
    Row::floor("node", Way::Node, "Node's http"),
    Row::floor("nginx", Way::Configured("nginx", "nginx.conf"), "nginx, `return 200`")
        .answers(NGINX_SAYS),
    Row::floor("nginx-lua", Way::Configured("nginx", "nginx-lua.conf"), "its Lua, for OpenResty")
        .answers(NGINX_SAYS),
    Row::floor("service-kit", Way::Example("static_answer"), "axum with the limits of service-kit"),
    Row::new("qr-service", OURS, "not a floor: it draws the picture of one link for every request"),
];

static RELAYS: [Row; 5] = [
    Row::new("socket", Way::Socket, "the sender's socket is the receiver's"),
    Row::new("haproxy", Way::Configured("haproxy", "relay-haproxy.cfg"), "a plain proxy, splicing"),
    Row::new("legacy-node", Way::LegacyRelay, "the legacy app's relay"),
    Row::new("piping-server", Way::PipingServer, "npm piping-server"),
    Row::new("relay-service", Way::Relay, "relay-service"),
];
