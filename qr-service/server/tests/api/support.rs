//! Sends HTTP requests with binary bodies, and reads the pictures in the answers with zxing-cpp.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use serde_json::Value;
use service_kit::testing::{Service, connect, on_free_ports, read_head, status_bytes};
use zxingcpp::{Barcode, BarcodeFormat, ImageFormat, ImageView};

/// A PNG of 4 x 2 red pixels.
pub(crate) const LOGO: &str = "data:image/png;base64,\
    iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAIAAADwyuo0AAAAEElEQVR42mM4IKAARwzIHABmmgeBGFJCrgAAAABJRU5ErkJggg==";

pub(crate) fn start(environment: &[(&str, &str)]) -> Service {
    let mut command = on_free_ports(env!("CARGO_BIN_EXE_qr-service"), "QR_");
    Service::start(command.envs(environment.iter().copied()))
}

/// An answer, with its body as bytes.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names are in lower case, as hyper writes them.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Returns the faults of a problem document as `parameter code`, in order.
    pub(crate) fn faults(&self) -> Vec<String> {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert_eq!(self.header("cache-control"), Some("no-store"));
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        let faults = problem["faults"].as_array().cloned().unwrap_or_default();
        let name = |fault: &Value| {
            assert!(fault["detail"].as_str().is_some_and(|detail| detail.len() > 5), "{fault}");
            format!("{} {}", fault["parameter"].as_str().unwrap(), fault["code"].as_str().unwrap())
        };
        let mut names: Vec<String> = faults.iter().map(name).collect();
        names.sort();
        names
    }
}

/// Sends one request on a connection that stays open.
pub(crate) fn send(
    stream: &mut BufReader<TcpStream>,
    method: &str,
    target: &str,
    headers: &str,
    body: &[u8],
) -> Answer {
    let length =
        if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    let mut request =
        format!("{method} {target} HTTP/1.1\r\nhost: x\r\n{length}{headers}\r\n").into_bytes();
    request.extend_from_slice(body);
    let sent = stream.get_mut().write_all(&request);
    // The service refuses a body that is too long, and closes the connection, while it is being sent.
    assert!(sent.is_ok() || !body.is_empty(), "{sent:?}");
    read_answer(stream, method == "HEAD")
}

pub(crate) fn read_answer(stream: &mut impl BufRead, is_head: bool) -> Answer {
    let head = read_head(stream).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap()[9..12].parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; if is_head { 0 } else { length }];
    stream.read_exact(&mut body).unwrap();
    Answer { status, headers, body }
}

pub(crate) fn get(addr: SocketAddr, target: &str) -> Answer {
    get_with(addr, target, "")
}

pub(crate) fn get_with(addr: SocketAddr, target: &str, headers: &str) -> Answer {
    request(addr, "GET", target, headers, b"")
}

/// Sends one request on a connection of its own.
pub(crate) fn request(
    addr: SocketAddr,
    method: &str,
    target: &str,
    headers: &str,
    body: &[u8],
) -> Answer {
    send(&mut BufReader::new(connect(addr)), method, target, headers, body)
}

/// Asks again while the service is too busy to answer.
pub(crate) fn unless_busy(ask: impl Fn() -> Answer) -> Answer {
    std::iter::repeat_with(ask).find(|answer| answer.status != 503).unwrap()
}

/// Sends a file of this media type, until the service is free to answer.
pub(crate) fn post_file(addr: SocketAddr, target: &str, media: &str, file: &[u8]) -> Answer {
    let head = format!("content-type: {media}\r\n");
    unless_busy(|| request(addr, "POST", target, &head, file))
}

/// The media type of [`form`].
pub(crate) const FORM: &str = "multipart/form-data; boundary=b";

/// A body of a form. Each part has the rest of its disposition, and its content.
pub(crate) fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let part = |(disposition, content): &(&str, &[u8])| {
        let head = format!("--b\r\ncontent-disposition: form-data; {disposition}\r\n\r\n");
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let parts = parts.iter().flat_map(part);
    parts.chain(*b"--b--\r\n").collect()
}

pub(crate) fn post_json(addr: SocketAddr, target: &str, body: &Value) -> Answer {
    let head = "content-type: application/json\r\n";
    request(addr, "POST", target, head, body.to_string().as_bytes())
}

/// Sends a body and reads an answer whose length is not announced.
pub(crate) fn post_many(addr: SocketAddr, target: &str, media: &str, body: &[u8]) -> Answer {
    let mut stream = connect(addr);
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {media}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A body that is too long is answered before all of it is read.
    let _ = stream.write_all(body);
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let at = all.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(all[..at].to_vec()).unwrap();
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers: Vec<_> =
        headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let is_chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let rest = &all[at + 4..];
    let body = if is_chunked { unchunk(rest) } else { rest.to_vec() };
    Answer { status: head[9..12].parse().unwrap(), headers, body }
}

/// Does so again while the service is too busy, or too slow for so many items.
pub(crate) fn post_in_time(addr: SocketAddr, target: &str, media: &str, body: &[u8]) -> Answer {
    loop {
        let answer = post_many(addr, target, media, body);
        let is_late = answer.status == 422 && answer.faults() == ["items out-of-range"];
        if answer.status != 503 && !is_late {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|it| it == b"\r\n").expect("a chunk's length");
        let length = std::str::from_utf8(&rest[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        body.extend_from_slice(&rest[end + 2..][..length]);
        rest = &rest[end + 2 + length + 2..];
        if length == 0 {
            return body;
        }
    }
}

/// Percent-encodes a value of a query.
pub(crate) fn encode(value: &str) -> String {
    value
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// Pixels in grey, row by row, over white.
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) grey: Vec<u8>,
}

fn grey([red, green, blue, alpha]: [u8; 4]) -> u8 {
    let luma = (299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue)) / 1000;
    let alpha = u32::from(alpha);
    ((luma * alpha + 255 * (255 - alpha)) / 255) as u8
}

pub(crate) fn of_png(body: &[u8]) -> Picture {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(body));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let pixels = &pixels[..info.buffer_size()];
    let grey = match info.color_type.samples() {
        2 => lines_of(pixels, info.line_size, 2, |it| grey([it[0], it[0], it[0], it[1]])),
        4 => lines_of(pixels, info.line_size, 4, |it| grey([it[0], it[1], it[2], it[3]])),
        samples => panic!("{samples} samples"),
    };
    Picture { width: info.width, height: info.height, grey }
}

/// Converts lines with `samples` per pixel to grey. A line that equals the one above is copied: most lines do, and
/// tests, which are not optimised, take a second to convert 16 million pixels one by one.
fn lines_of(
    pixels: &[u8],
    line_bytes: usize,
    samples: usize,
    grey: impl Fn(&[u8]) -> u8,
) -> Vec<u8> {
    let width = line_bytes / samples;
    let mut all = Vec::with_capacity(pixels.len() / samples);
    let mut above: &[u8] = &[];
    for line in pixels.chunks(line_bytes) {
        if line == above {
            all.extend_from_within(all.len() - width..);
        } else {
            all.extend(line.chunks(samples).map(&grey));
        }
        above = line;
    }
    all
}

/// Draws an SVG over white at its own size, or with `scale` pixels per module if it has none.
pub(crate) fn of_svg(body: &[u8], scale: f32) -> Picture {
    let tree = Tree::from_data(body, &Options::default()).unwrap();
    let has_size = String::from_utf8_lossy(body).split('>').next().unwrap().contains(" width=");
    let scale = if has_size { 1.0 } else { scale };
    let size = tree.size();
    let (width, height) = ((size.width() * scale).ceil(), (size.height() * scale).ceil());
    let mut pixmap = Pixmap::new(width as u32, height as u32).unwrap();
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    let of_pixel = |it: &[u8]| grey([it[0], it[1], it[2], 255]);
    let grey = lines_of(pixmap.data(), 4 * width as usize, 4, of_pixel);
    Picture { width: width as u32, height: height as u32, grey }
}

/// Draws a page of a PDF with poppler, or of an EPS with Ghostscript.
pub(crate) fn of_print(body: &[u8], extension: &str, dpi: f64) -> Picture {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join(format!("page.{extension}"));
    std::fs::write(&path, body).unwrap();
    let mut command = match extension {
        "pdf" => Command::new("pdftoppm"),
        _ => Command::new("gs"),
    };
    match extension {
        "pdf" => command.args(["-gray", "-r", &format!("{dpi:.3}")]),
        _ => command
            .args(["-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-dEPSCrop"])
            // Without colour profiles, which take two thirds of the time.
            .arg("-dUseFastColor")
            .args(["-sDEVICE=pgmraw", "-dGraphicsAlphaBits=4", "-sOutputFile=-"])
            .arg(format!("-r{dpi:.3}")),
    };
    let output = command.arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    of_pgm(&output.stdout)
}

/// Reads a portable graymap with 8 bits.
fn of_pgm(pgm: &[u8]) -> Picture {
    let (most, none) = (b"\n255\n", "not a graymap");
    let end = pgm.windows(most.len()).position(|it| it == most).expect(none) + most.len();
    let (head, grey) = pgm.split_at(end);
    // Ghostscript adds a comment.
    let size = std::str::from_utf8(head).unwrap().lines().filter(|it| !it.starts_with('#')).nth(1);
    let (width, height) = size.and_then(|size| size.trim().split_once(' ')).expect(none);
    let (width, height) = (width.parse().unwrap(), height.parse().unwrap());
    assert_eq!(grey.len(), width as usize * height as usize);
    Picture { width, height, grey: grey.to_vec() }
}

/// Draws the graphic fields of a label in ZPL.
pub(crate) fn of_zpl(label: &str) -> Picture {
    let fields = label.strip_prefix("^XA\n").and_then(|it| it.strip_suffix("^XZ\n")).unwrap();
    let (mut rows, mut row_bytes) = (Vec::<Vec<u8>>::new(), 0);
    for field in fields.lines() {
        let field = field.strip_prefix("^FO0,").and_then(|it| it.strip_suffix("^FS")).unwrap();
        let (head, data) = field.split_once("^GFA,").unwrap();
        assert_eq!(head.parse::<usize>().unwrap(), rows.len());
        let mut numbers = data.splitn(4, ',');
        let counts = [(); 3].map(|()| numbers.next().unwrap().parse::<usize>().unwrap());
        row_bytes = counts[2];
        assert!(counts[0] == counts[1] && counts[0] <= 99_999, "{counts:?}");
        let (first, mut digits) = (rows.len(), String::new());
        for char in numbers.next().unwrap().chars() {
            match char {
                ':' => rows.push(rows[first..].last().unwrap().clone()),
                ',' => digits += &"0".repeat(2 * row_bytes - digits.len()),
                digit => digits.push(digit),
            }
            if digits.len() == 2 * row_bytes {
                let pairs = digits.as_bytes().chunks(2).map(|it| std::str::from_utf8(it).unwrap());
                rows.push(pairs.map(|it| u8::from_str_radix(it, 16).unwrap()).collect());
                digits.clear();
            }
        }
        assert_eq!(((rows.len() - first) * row_bytes, digits.len()), (counts[0], 0));
    }
    of_bits(&rows.concat(), row_bytes)
}

/// Draws the graphic of a label in EPL.
pub(crate) fn of_epl(label: &[u8]) -> Picture {
    let rest =
        label.strip_prefix(b"\nN\nGW0,0,").and_then(|it| it.strip_suffix(b"\nP1\n")).unwrap();
    let mut parts = rest.splitn(3, |byte| *byte == b',');
    let mut number =
        || std::str::from_utf8(parts.next().unwrap()).unwrap().parse::<usize>().unwrap();
    let (row_bytes, height) = (number(), number());
    let bits: Vec<u8> = parts.next().unwrap().iter().map(|byte| !byte).collect();
    assert_eq!(bits.len(), row_bytes * height);
    of_bits(&bits, row_bytes)
}

fn of_bits(bits: &[u8], row_bytes: usize) -> Picture {
    let dots = bits.iter().flat_map(|byte| (0..8).map(move |bit| byte << bit & 0x80 != 0));
    let grey = dots.map(|is_black| if is_black { 0 } else { 255 }).collect();
    Picture { width: row_bytes as u32 * 8, height: (bits.len() / row_bytes) as u32, grey }
}

/// Draws modules, given as rows of 0 and 1, with `scale` pixels each and a quiet zone of 4.
pub(crate) fn of_rows(rows: &[Vec<bool>], scale: usize) -> Picture {
    let (width, height) = ((rows[0].len() + 8) * scale, (rows.len() + 8) * scale);
    let mut grey = vec![255; width * height];
    for (y, row) in rows.iter().enumerate() {
        let mut line = vec![255; width];
        for (x, _) in row.iter().enumerate().filter(|(_, dark)| **dark) {
            line[(x + 4) * scale..][..scale].fill(0);
        }
        grey[(y + 4) * scale * width..][..scale * width].copy_from_slice(&line.repeat(scale));
    }
    Picture { width: width as u32, height: height as u32, grey }
}

/// Returns a PNG of grey pixels.
pub(crate) fn png_of(width: u32, height: u32, grey: &[u8]) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(grey).unwrap();
    png
}

/// Returns the modules of an answer in JSON.
pub(crate) fn rows_of(answer: &Answer) -> Vec<Vec<bool>> {
    let symbol = answer.json();
    let rows = symbol["rows"].as_array().unwrap().iter();
    rows.map(|row| row.as_str().unwrap().chars().map(|c| c == '1').collect()).collect()
}

/// Adds light pixels around a picture, as a page does.
pub(crate) fn padded(picture: &Picture) -> Picture {
    let lightest = || picture.grey.iter().copied().max().unwrap();
    // Most pictures have white, and looking for it is fast.
    let light = if picture.grey.contains(&255) { 255 } else { lightest() };
    let pad = 4 * (picture.width.max(picture.height) as usize / 20 + 4);
    let (width, height) = (picture.width as usize, picture.height as usize);
    let wide = width + 2 * pad;
    let mut grey = vec![light; wide * (height + 2 * pad)];
    for (y, row) in picture.grey.chunks(width).enumerate() {
        grey[(y + pad) * wide + pad..][..width].copy_from_slice(row);
    }
    Picture { width: wide as u32, height: (height + 2 * pad) as u32, grey }
}

/// Reads the one symbol of a picture; `None` if there is not exactly one.
pub(crate) fn read(picture: &Picture, kind: &str) -> Option<Barcode> {
    let mut found = read_all(picture, kind);
    (found.len() == 1).then(|| found.remove(0))
}

/// Reads every symbol of a picture.
pub(crate) fn read_all(picture: &Picture, kind: &str) -> Vec<Barcode> {
    let format = match kind {
        "micro" => BarcodeFormat::MicroQRCode,
        "rmqr" => BarcodeFormat::RMQRCode,
        _ => BarcodeFormat::QRCode,
    };
    let Picture { width, height, grey } = picture;
    let view = ImageView::from_slice(grey, *width, *height, ImageFormat::Lum).unwrap();
    zxingcpp::read().formats([format]).try_invert(false).from(view).unwrap()
}

/// Returns names and contents of an archive's files, in order. Python reads them, which checks lengths and checksums.
pub(crate) fn files_of(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let script = "import base64, io, json, sys, zipfile\n\
        archive = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))\n\
        print(json.dumps([[name, base64.b64encode(archive.read(name)).decode()] for name in archive.namelist()]))";
    let mut python = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(archive).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let listed: Vec<(String, String)> = serde_json::from_slice(&output.stdout).unwrap();
    let decode = |text: String| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    listed.into_iter().map(|(name, content)| (name, decode(content))).collect()
}

/// Returns the most memory that the process has had in RAM.
pub(crate) fn resident_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmHWM:")
}
