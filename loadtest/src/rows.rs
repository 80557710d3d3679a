//! The rows of the ladder, in order.

use stack::Share;

use crate::texts;

/// How a row is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A plain axum router that always answers the same 420 bytes: the load generators' ceiling.
    Static,
    /// legacy-node with one of its generators.
    LegacyNode {
        /// `QR_IMPL`.
        generator: &'static str,
        /// `WORKERS`.
        workers: usize,
    },
    /// qr-service.
    Service,
    /// qr-service with the article's function.
    Article,
    /// `peers/quickchart.cjs`.
    QuickChart,
    /// A whole stack: nginx, qr-service for `/qrcode`, legacy-node for the rest.
    Stack {
        /// Of the requests without failure, those that nginx logs.
        log_share: Share,
    },
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in tables and files.
    pub name: &'static str,
    /// A line that describes it.
    pub about: &'static str,
    /// How it is served.
    pub way: Way,
    /// The target of its requests, up to the text.
    pub target: &'static str,
    /// The article's requests per second for the same kind of server, relative to Node alone.
    pub article: Option<f64>,
    /// Why it may be slower than the row before; printed if it is.
    pub slower_because: &'static str,
}

/// For rows that are expected to be faster than the row before.
const UNEXPLAINED: &str = "unexpected, look into it";

impl Row {
    const fn new(name: &'static str, way: Way, about: &'static str) -> Self {
        let target = texts::QRCODE;
        Row { name, about, way, target, article: None, slower_because: UNEXPLAINED }
    }

    const fn legacy_node(name: &'static str, generator: &'static str, about: &'static str) -> Self {
        Row::new(name, Way::LegacyNode { generator, workers: 1 }, about)
    }

    const fn target(self, target: &'static str) -> Self {
        Row { target, ..self }
    }

    const fn article(self, ratio: f64) -> Self {
        Row { article: Some(ratio), ..self }
    }

    const fn slower_because(self, slower_because: &'static str) -> Self {
        Row { slower_because, ..self }
    }
}

/// The row that all others are compared with.
pub const BASELINE: &str = "node";
/// The row that shows how much load wrk can make.
pub const CEILING: &str = "static";

/// Every row, with the article's ratios of requests per second.
pub const ROWS: [Row; 13] = [
    Row::new(
        CEILING,
        Way::Static,
        "a plain axum router that always answers the same 420 bytes: the load generator's limit",
    ),
    Row::legacy_node(BASELINE, "node", "legacy-node, one process, npm qrcode").article(1.0),
    Row::new(
        "node-cluster",
        Way::LegacyNode { generator: "node", workers: 2 },
        "the same with two processes (node:cluster) on the same cores",
    )
    .slower_because("with one core, its processes share it"),
    Row::legacy_node(
        "node-tuned",
        "node-tuned",
        "npm qrcode with its best PNG settings: greyscale, no filter, level 6",
    ),
    Row::legacy_node("cli", "cli", "one process of the CLI per picture").article(1.76),
    Row::legacy_node("wasm", "wasm", "the Wasm module through wasm-bindgen").article(2.03),
    Row::legacy_node("wasm-raw", "wasm-raw", "the Wasm module through its plain interface").slower_because(
        "both make the picture in a tenth of the time that Express needs per request, so the \
         difference between them is noise",
    ),
    Row::legacy_node("native", "native", "the addon on the event loop's thread")
        .article(3.75)
        .slower_because(
            "the picture is a small part of the request, so the difference is noise",
        ),
    Row::legacy_node("native-async", "native-async", "the addon on a thread of libuv's pool")
        .slower_because(
            "handing a picture to another thread and back takes longer than making it; that pays off \
             for pictures that take milliseconds, or with idle cores",
        ),
    Row::new(
        "axum-article",
        Way::Article,
        "qr-service with the article's function",
    )
    .article(4.93)
    .slower_because(
        "the article's function takes a hundred times as long as qr-core, which the rows before call \
         from Node: the function costs more than the server around it",
    ),
    Row::new("qr-service", Way::Service, "qr-service alone"),
    Row::new(
        "nginx+qr-service",
        Way::Stack { log_share: Share::ALL },
        "nginx in front of qr-service, legacy-node beside it, nginx logs every request",
    )
    .slower_because(
        "nginx shares the core, and spends more time on reading, logging and forwarding a request \
         than qr-service on answering it",
    ),
    Row::new(
        "quiet-nginx+qr-service",
        Way::Stack { log_share: Share::NONE },
        "the same, but nginx logs only failures and fallbacks, as the servers of the other rows do",
    ),
];

/// The rows of `make bench-http` that are not in the ladder: the picture of `/qrcode` by servers that have options.
pub const WITH_OPTIONS: [Row; 2] = [
    Row::new("v1-qr", Way::Service, "qr-service's /v1/qr").target("/v1/qr?size=200&level=L&text="),
    Row::new("quickchart", Way::QuickChart, "Express and npm qrcode, as in QuickChart's server")
        .target("/qr?size=200&ecLevel=L&text="),
];
