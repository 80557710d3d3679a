//! The ladder: every way to serve `/qrcode`, in the order of how far it goes.

/// How a row is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A plain axum router whose answer is always the same 420 bytes: the load generators' ceiling.
    Static,
    /// The legacy app with one of its generators.
    Legacy {
        /// `QR_IMPL`.
        implementation: &'static str,
        /// `WORKERS`.
        workers: usize,
    },
    /// The Rust service.
    Service {
        /// `QR_ENGINE`.
        engine: &'static str,
    },
    /// nginx in front, qr-service for `/qrcode`, legacy-node beside it.
    Stack,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in tables and files.
    pub name: &'static str,
    /// A line on what it is.
    pub about: &'static str,
    /// How it is served.
    pub way: Way,
    /// What the article measured for its like, times Node alone.
    pub article: Option<f64>,
}

const fn legacy(name: &'static str, implementation: &'static str, about: &'static str) -> Row {
    Row { name, about, way: Way::Legacy { implementation, workers: 1 }, article: None }
}

const fn with_article(row: Row, ratio: f64) -> Row {
    Row { article: Some(ratio), ..row }
}

/// The row that all others are compared with: tier 0.
pub const BASELINE: &str = "node";
/// The row that shows how much load can be made.
pub const CEILING: &str = "static";

/// Every row; the article's ratios are those it gives for requests a second.
pub const ROWS: [Row; 12] = [
    Row {
        name: CEILING,
        about: "a plain axum router, 420 bytes always the same: what the load generator can do",
        way: Way::Static,
        article: None,
    },
    with_article(legacy(BASELINE, "node", "the legacy app, one process, npm qrcode"), 1.0),
    Row {
        name: "node-cluster",
        about: "the same, two processes by node:cluster on the same cores",
        way: Way::Legacy { implementation: "node", workers: 2 },
        article: None,
    },
    legacy("node-tuned", "node-tuned", "npm qrcode at its fairest: greyscale, no filter, level 6"),
    with_article(legacy("cli", "cli", "a process of qr for each picture"), 1.76),
    with_article(legacy("wasm", "wasm", "the Wasm module by wasm-bindgen"), 2.03),
    legacy("wasm-raw", "wasm-raw", "the Wasm module by its plain interface"),
    with_article(legacy("native", "native", "the addon, in the event loop's thread"), 3.75),
    legacy("native-async", "native-async", "the addon, in a thread of libuv's pool"),
    with_article(
        Row {
            name: "axum-article",
            about: "the Rust service with the article's function",
            way: Way::Service { engine: "reference" },
            article: None,
        },
        4.93,
    ),
    Row {
        name: "qr-service",
        about: "the Rust service",
        way: Way::Service { engine: "default" },
        article: None,
    },
    Row {
        name: "nginx+qr-service",
        about: "nginx in front, the Rust service, the legacy app beside it, access logs on",
        way: Way::Stack,
        article: None,
    },
];
