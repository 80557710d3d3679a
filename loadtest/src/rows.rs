//! The ladder: every way to serve `/qrcode`, in the order of how far it goes.

/// How a row is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A plain axum router whose answer is always the same 420 bytes: the load generators' ceiling.
    Static,
    /// The legacy app with one of its generators.
    LegacyNode {
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
    /// Said where it is slower than the row before: why.
    pub slower_because: &'static str,
}

/// For rows that nobody expects to be slower.
const UNEXPLAINED: &str = "not known, so look into it";

impl Row {
    const fn new(name: &'static str, way: Way, about: &'static str) -> Self {
        Row { name, about, way, article: None, slower_because: UNEXPLAINED }
    }

    const fn legacy_node(
        name: &'static str,
        implementation: &'static str,
        about: &'static str,
    ) -> Self {
        Row::new(name, Way::LegacyNode { implementation, workers: 1 }, about)
    }

    const fn article(self, ratio: f64) -> Self {
        Row { article: Some(ratio), ..self }
    }

    const fn slower_because(self, slower_because: &'static str) -> Self {
        Row { slower_because, ..self }
    }
}

/// The row that all others are compared with: tier 0.
pub const BASELINE: &str = "node";
/// The row that shows how much load can be made.
pub const CEILING: &str = "static";

/// Every row; the article's ratios are those it gives for requests a second.
pub const ROWS: [Row; 12] = [
    Row::new(
        CEILING,
        Way::Static,
        "a plain axum router, 420 bytes always the same: what the load generator can do",
    ),
    Row::legacy_node(BASELINE, "node", "the legacy app, one process, npm qrcode").article(1.0),
    Row::new(
        "node-cluster",
        Way::LegacyNode { implementation: "node", workers: 2 },
        "the same, two processes by node:cluster on the same cores",
    )
    .slower_because("where there is one core, its processes have to share it"),
    Row::legacy_node(
        "node-tuned",
        "node-tuned",
        "npm qrcode at its fairest: greyscale, no filter, level 6",
    ),
    Row::legacy_node("cli", "cli", "a process of qr for each picture").article(1.76),
    Row::legacy_node("wasm", "wasm", "the Wasm module by wasm-bindgen").article(2.03),
    Row::legacy_node("wasm-raw", "wasm-raw", "the Wasm module by its plain interface").slower_because(
        "both make the picture in a tenth of the time that Express takes for the request, so that \
         what is left between them is noise",
    ),
    Row::legacy_node("native", "native", "the addon, in the event loop's thread")
        .article(3.75)
        .slower_because(
            "as for wasm-raw: a picture is a small part of the request, and noise the difference",
        ),
    Row::legacy_node("native-async", "native-async", "the addon, in a thread of libuv's pool")
        .slower_because(
            "handing a picture to another thread and back takes longer than making it; it pays for \
             pictures of milliseconds, or with cores to spare",
        ),
    Row::new(
        "axum-article",
        Way::Service { engine: "reference" },
        "the Rust service with the article's function",
    )
    .article(4.93)
    .slower_because(
        "the article's function takes a hundred times as long as ours, which the rungs before call \
         from Node: the function weighs more than the server around it",
    ),
    Row::new("qr-service", Way::Service { engine: "default" }, "the Rust service"),
    Row::new(
        "nginx+qr-service",
        Way::Stack,
        "nginx in front, the Rust service, the legacy app beside it, access logs on",
    )
    .slower_because(
        "nginx shares the core, and reading, logging and passing on a request takes it longer than \
         the answer takes to make",
    ),
];
