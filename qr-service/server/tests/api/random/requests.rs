//! Requests with random options, mostly valid, sometimes at a limit or beyond it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::support::{FORM, LOGO, encode, form};

/// For each parameter except `text`, `data` and `format`: how many of 256 requests have it, and its values.
const VALUES: [(&str, u8, &[&str]); 38] = [
    ("kind", 120, &["qr", "micro", "rmqr"]),
    ("level", 40, &["L", "M", "Q", "H"]),
    ("boost", 30, &["true", "false"]),
    ("version_min", 30, &["1", "3", "10", "40"]),
    ("version_max", 30, &["1", "4", "20", "40"]),
    ("rmqr_height", 10, &["7", "11", "17"]),
    ("rmqr_width", 10, &["27", "77", "139"]),
    ("mask", 20, &["0", "3", "7"]),
    ("mode", 30, &["auto", "byte", "numeric", "kanji", "auto-kanji", "alphanumeric"]),
    ("eci", 20, &["26", "3", "0", "20"]),
    ("gs1", 12, &["true"]),
    ("part", 12, &["1", "1", "2", "3"]),
    ("margin", 30, &["0", "1", "4", "20"]),
    ("size", 20, &["21", "60", "200", "1001", "4096"]),
    ("scale", 20, &["1", "2", "3", "10"]),
    ("compression", 20, &["fast", "smallest"]),
    ("width_mm", 20, &["5", "20.5", "40", "400"]),
    ("dpi", 12, &["203", "300", "600", "250"]),
    ("dark", 20, &["000", "036", "f00", "777", "0008", "26-35-126"]),
    ("light", 20, &["fff", "0000", "ffe", "999"]),
    ("shape", 16, &["square", "dots", "rounded"]),
    ("finder_shape", 16, &["square", "rounded", "circle"]),
    ("finder_color", 10, &["036", "900", "ccc"]),
    ("top_left_color", 6, &["036", "c00"]),
    ("top_left_shape", 6, &["square", "rounded", "circle"]),
    ("top_right_color", 6, &["060", "000"]),
    ("top_right_shape", 6, &["square", "rounded", "circle"]),
    ("bottom_left_color", 6, &["609", "eee"]),
    ("bottom_left_shape", 6, &["square", "rounded", "circle"]),
    ("gradient_color", 14, &["036", "06c", "c00", "ddd"]),
    ("gradient", 6, &["linear", "radial"]),
    ("gradient_angle", 6, &["0", "45", "200"]),
    ("frame", 10, &["square", "rounded"]),
    ("background", 6, &["fff", "ffe"]),
    ("logo", 12, &[LOGO, LOGO, LOGO, "https://example.com/logo.png"]),
    ("logo_size", 10, &["0.1", "0.25", "0.5"]),
    ("style", 12, &["blocks", "ascii"]),
    ("ink", 12, &["light", "dark"]),
];
const WORDS: [(&str, u8, &[&str]); 3] = [
    ("title", 16, &["A title", "<é> & \"x\""]),
    ("filename", 16, &["code", "grüße.bin"]),
    ("caption", 8, &["Scan me", "größer"]),
];
const WRONG: [(&str, &str); 8] = [
    ("level", "X"),
    ("margin", "101"),
    ("size", "0"),
    ("boost", "maybe"),
    ("dark", "red"),
    ("mask", "8"),
    ("part", "17"),
    ("colour", "1"),
];
/// Formats; those asked for more often are repeated.
const FORMATS: [&str; 12] =
    ["png", "png", "png", "svg", "svg", "pdf", "eps", "txt", "json", "png", "zpl", "epl"];

/// A request, and the message that its symbol must hold.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
    pub(crate) message: Vec<u8>,
    pub(crate) format: &'static str,
    /// Names and values, not yet encoded.
    pub(crate) options: Vec<(&'static str, String)>,
}

impl Request {
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn kind(&self) -> &str {
        self.option("kind").unwrap_or("qr")
    }

    pub(crate) fn has_kanji(&self) -> bool {
        self.option("mode").is_some_and(|mode| mode.contains("kanji"))
    }
}

/// Returns the names of all parameters that requests can have.
pub(crate) fn names() -> Vec<&'static str> {
    let listed = VALUES.iter().chain(&WORDS).map(|(name, ..)| *name);
    listed.chain(["text", "data", "format"]).collect()
}

fn pick<T: Copy>(random: &mut fastrand::Rng, values: &[T]) -> T {
    values[random.usize(..values.len())]
}

pub(crate) fn random_request(random: &mut fastrand::Rng) -> Request {
    let (message, mut options) = random_message(random);
    for (name, of_256, values) in VALUES.iter().chain(&WORDS) {
        if random.u8(..) < *of_256 {
            options.push((*name, pick(random, values).to_owned()));
        }
    }
    // Without a largest version, one symbol mostly suffices, and there are no parts.
    if options.iter().any(|(name, _)| *name == "part") && random.bool() {
        options.retain(|(name, _)| *name != "version_max");
        options.push(("version_max", pick(random, &["1", "3", "6"]).to_owned()));
    }
    if random.u8(..) < 12 {
        let (name, value) = pick(random, &WRONG);
        options.retain(|(it, _)| *it != name);
        options.push((name, value.to_owned()));
    }
    let format = pick(random, &FORMATS);
    let mut request = Request {
        method: "GET",
        target: "/v1/qr".to_owned(),
        headers: String::new(),
        body: Vec::new(),
        message,
        format,
        options,
    };
    choose_format(random, &mut request);
    match random.u8(..4) {
        0 => as_json(&mut request),
        1 => as_form(&mut request),
        _ => as_query(random, &mut request),
    }
    request
}

/// Returns a message, and the options `text` or `data` that carry it.
fn random_message(random: &mut fastrand::Rng) -> (Vec<u8>, Vec<(&'static str, String)>) {
    let letters =
        ["0123456789", "AZ $%*+-./:19", "abc&=%#/?", "äß€漢字", "漢字東京", "\u{0}\u{1d}~"];
    let letters: Vec<char> = pick(random, &letters).chars().collect();
    let most = pick(random, &[10, 40, 200, 1200]);
    let length = random.usize(1..most);
    let text: String = (0..length).map(|_| pick(random, &letters)).collect();
    match random.u8(..16) {
        0..2 => {
            let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            let data = STANDARD.encode(&bytes);
            (bytes, vec![("data", data)])
        }
        // A fault: only one of the two is allowed.
        2 if random.bool() => {
            (text.clone().into_bytes(), vec![("text", text), ("data", "AAAA".to_owned())])
        }
        _ => (text.clone().into_bytes(), vec![("text", text)]),
    }
}

/// Asks for the format by the path, a parameter or a header.
fn choose_format(random: &mut fastrand::Rng, request: &mut Request) {
    let format = request.format;
    match random.u8(..4) {
        0 => request.options.push(("format", format.to_owned())),
        1 => {
            let media = match format {
                "svg" => "image/svg+xml",
                "pdf" => "application/pdf",
                "eps" => "application/postscript",
                "txt" => "text/plain",
                "zpl" => "application/zpl",
                "epl" => "application/epl",
                "json" => "application/json",
                _ => "image/png",
            };
            request.headers += &format!("accept: {media}\r\n");
        }
        _ => request.target += &format!(".{format}"),
    }
}

/// The most bytes of a query. A longer request line may be answered 431, so such requests use a body.
const MAX_QUERY: usize = 6000;

fn as_query(random: &mut fastrand::Rng, request: &mut Request) {
    let mut pairs: Vec<String> =
        request.options.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    if random.u8(..) < 4 {
        pairs.push(pairs[0].clone());
    }
    let query = pairs.join("&");
    if query.len() > MAX_QUERY {
        return as_json(request);
    }
    request.target += &format!("?{query}");
}

fn as_json(request: &mut Request) {
    let mut object = Map::new();
    for (name, value) in &request.options {
        let is_text = ["text", "data", "dark", "light", "background"].contains(name)
            || name.ends_with("color");
        let number = serde_json::from_str::<Value>(value).ok().filter(|_| !is_text);
        object.insert((*name).to_owned(), number.unwrap_or_else(|| json!(value)));
    }
    request.method = "POST";
    request.headers += "content-type: application/json\r\n";
    request.body = Value::Object(object).to_string().into_bytes();
}

fn as_form(request: &mut Request) {
    let part = |(name, value): &(&str, String)| {
        let file = value.strip_prefix("data:image/png;base64,").map(|it| STANDARD.decode(it));
        match file {
            Some(file) => {
                let more = "filename=\"logo.png\"\r\ncontent-type: image/png";
                (format!("name=\"{name}\"; {more}"), file.unwrap())
            }
            None => (format!("name=\"{name}\""), value.clone().into_bytes()),
        }
    };
    let parts: Vec<_> = request.options.iter().map(part).collect();
    let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, it)| (&**name, &**it)).collect();
    request.body = form(&parts);
    request.method = "POST";
    request.headers += &format!("content-type: {FORM}\r\n");
}
