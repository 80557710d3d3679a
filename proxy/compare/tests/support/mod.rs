//! Shared by the tests: a running shadow, fake sides, and the real programs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use qr_core::{Level, Raster, encode, write_png};
use serde_json::Value;
use service_kit::testing::{CLOSE, Service, built, exchange, get, serve};
use tempfile::TempDir;

/// A fake side's response to a request.
pub(crate) enum Reply {
    /// Sends these bytes and keeps the connection.
    Keep(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Close(Vec<u8>),
    /// Sends the first bytes once and then repeats the second ones for ever.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends nothing and keeps the connection.
    Hang,
}

/// A fake side.
pub(crate) struct Fake {
    pub(crate) addr: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Fake {
    /// Answers each request with `reply` of the request's head.
    pub(crate) fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let (heads, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::default());
        let (seen, accepted) = (Arc::clone(&heads), Arc::<Mutex<usize>>::clone(&connections));
        let addr = serve(move |asked| {
            *accepted.lock().unwrap() += usize::from(asked.number == 0);
            seen.lock().unwrap().push(asked.head.clone());
            match reply(&asked.head) {
                Reply::Keep(bytes) => asked.answer(bytes),
                Reply::Close(bytes) => asked.answer(bytes).and(Err(CLOSE.into())),
                Reply::Endless(first, again) => {
                    asked.answer(first)?;
                    loop {
                        asked.answer(&again)?;
                    }
                }
                Reply::Hang => loop {
                    std::thread::park();
                },
            }
        });
        Fake { addr, heads, connections }
    }

    /// Answers with a picture of the requested text.
    pub(crate) fn correct() -> Self {
        Fake::start(|head| Reply::Keep(png_answer(&picture(&text_of(head), Level::L, 200))))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The number of connections that brought a request so far.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// The text in a request's query, still encoded.
pub(crate) fn text_of(head: &str) -> String {
    let target = head.split(' ').nth(1).unwrap();
    target.split_once("text=").map(|(_, text)| text.to_owned()).unwrap_or_default()
}

/// A PNG of 8-bit grey pixels.
pub(crate) fn png_of(grey: &[u8], size_px: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size_px, size_px);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(grey).unwrap();
    file
}

/// A picture of a text.
pub(crate) fn picture(text: &str, level: Level, size_px: u32) -> Vec<u8> {
    let mut png = Vec::new();
    let raster = Raster::new(size_px);
    write_png(&encode(text, level).unwrap(), &raster, &mut png).unwrap();
    png
}

pub(crate) fn answer(status: u16, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Any\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// An answer with a picture.
pub(crate) fn png_answer(picture: &[u8]) -> Vec<u8> {
    answer(200, "image/png", picture)
}

/// An answer with an error.
pub(crate) fn error(status: u16, body: &str) -> Vec<u8> {
    answer(status, "text/plain; charset=utf-8", body.as_bytes())
}

/// A command of carve with the settings of a shadow on free ports.
pub(crate) fn command(name: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(built("carve"));
    command.arg(name).env_clear().env("SHADOW_CPU_PERCENT", "100");
    command.env("SHADOW_ROUTES", concat!(env!("CARGO_MANIFEST_DIR"), "/../routes"));
    command.env("SHADOW_ADDR", "127.0.0.1:0").env("SHADOW_ADMIN_ADDR", "127.0.0.1:0");
    command.envs(environment.iter().copied());
    command
}

/// Starts a shadow that compares two sides.
pub(crate) fn start(new: &str, old: &str, environment: &[(&str, &str)]) -> Service {
    let mut command = command("shadow", environment);
    Service::start(command.env("SHADOW_NEW_URL", new).env("SHADOW_OLD_URL", old))
}

/// Sends a request to the shadow as the proxy does.
pub(crate) fn mirror(shadow: &Service, method: &str, target: &str, id: &str) {
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: {id}\r\nX-Route-Name: qrcode\r\n\
         Connection: close\r\n\r\n"
    );
    let answer = exchange(shadow.addr, &request);
    assert!(answer.starts_with("HTTP/1.1 204 "), "{target}: {answer}");
}

/// The value of a metric; 0 if the metric is missing.
pub(crate) fn metric(shadow: &Service, name: &str) -> f64 {
    let metrics = get(shadow.admin_addr, "/metrics");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().unwrap())
}

/// The number of comparisons with any result.
pub(crate) fn compared(shadow: &Service) -> f64 {
    ["match", "mismatch", "new_error", "old_error", "timeout", "unjudged", "skipped"]
        .iter()
        .map(|result| result_of(shadow, "qrcode", result))
        .sum()
}

/// The number of a route's comparisons with this result.
pub(crate) fn result_of(shadow: &Service, route: &str, result: &str) -> f64 {
    let labels = format!("{{route=\"{route}\",result=\"{result}\"}}");
    metric(shadow, &format!("shadow_comparisons_total{labels}"))
}

/// The answer of `/mismatches`.
pub(crate) fn kept(shadow: &Service) -> Value {
    let answer = get(shadow.admin_addr, "/mismatches");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Sends a request to the shadow as the proxy mirrors it. `head` has the request's lines, without those that nginx
/// adds.
pub(crate) fn mirror_to(shadow: &Service, route: &str, head: &str, body: &str) {
    let request = format!(
        "{head}\r\nX-Request-Id: id\r\nX-Route-Name: {route}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(shadow.addr, &request);
    assert!(answer.starts_with("HTTP/1.1 204 "), "{head}: {answer}");
}

/// The app of `sides/` in Node, as one side.
pub(crate) fn in_node(role: &str) -> Service {
    side(Command::new("node").arg(sides("app.mjs")), role)
}

/// The same app in Python.
pub(crate) fn in_python(role: &str) -> Service {
    side(Command::new("python3").arg(sides("app.py")), role)
}

fn side(command: &mut Command, role: &str) -> Service {
    Service::start(command.env("ROLE", role).stdin(Stdio::null()))
}

fn sides(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sides").join(file)
}

/// A folder of route files.
pub(crate) fn routes(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

/// The real qr-service.
pub(crate) fn qr_service() -> Service {
    qr_service_on("127.0.0.1:0")
}

/// The real qr-service on these addresses.
pub(crate) fn qr_service_on(addresses: &str) -> Service {
    let mut command = Command::new(built("qr-service"));
    command.env_clear().env("QR_ADDR", addresses).env("QR_ADMIN_ADDR", "127.0.0.1:0");
    Service::start(&mut command)
}

/// The real legacy app, and the folder with its data.
pub(crate) fn legacy_node() -> (Service, TempDir) {
    let app = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../legacy-node");
    assert!(app.join("node_modules").is_dir(), "run npm ci in {} first", app.display());
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new("node");
    command.arg(app.join("src/server.js")).env("DATA_DIR", data.path());
    command.env("ADDR", "127.0.0.1:0").env("ADMIN_ADDR", "127.0.0.1:0").stdin(Stdio::null());
    (Service::start(&mut command), data)
}
