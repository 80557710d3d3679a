//! Compares the time and bytes of qr-core's formats with those of other libraries. A library in another language
//! runs in a process of its own, which measures its own turns, so startup does not count. Prints a table of
//! medians and writes `target/bench/formats.json`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context, ensure};
use clap::Parser;
use fast_qr::convert::Builder;
use fast_qr::convert::svg::SvgBuilder;
use png::Compression;
use qr_bench::files::write_json;
use qr_bench::inputs::{INPUTS, Input};
use qr_bench::makers::{fast_qr_of, write_png};
use qr_bench::turns::{Row, print_table, quartiles, take_turns, time};
use qr_core::{
    Color, Level, Palette, Print, Raster, Svg, encode, write_eps, write_palette_png, write_pdf,
    write_smallest_png, write_svg,
};
use rxing::qrcode::QRCodeWriter;
use rxing::{BarcodeFormat, EncodeHints, Writer};
use serde::Serialize;

/// Measures text to SVG, PDF, EPS and PNG of 1000 pixels in two colours.
#[derive(Parser)]
struct Arguments {
    /// Rounds; each library has one turn per round
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Minimum time of a turn, in milliseconds
    #[arg(long, default_value_t = 20)]
    turn_ms: u64,
    /// Python with segno and zint-bindings; without it, these and the program qrencode are left out
    #[arg(long)]
    python: Option<PathBuf>,
    /// Folder whose node_modules has npm's qrcode; without it, that is left out
    #[arg(long)]
    node_modules: Option<PathBuf>,
    /// File for the figures
    #[arg(long, default_value = "target/bench/formats.json")]
    out: PathBuf,
}

const DARK: [u8; 3] = [26, 35, 126];
const LIGHT: [u8; 3] = [255, 253, 231];
const SIZE_PX: u32 = 1000;
const MARGIN: u32 = 4;
/// Pixels per module of the PNGs that are compared with zopfli's.
const SCALES: [u32; 8] = [1, 2, 3, 4, 5, 8, 10, 16];
const FORMATS: [&str; 4] = ["svg", "pdf", "eps", "png"];

/// Peers that Python runs: their names, formats and arguments of the script.
const IN_PYTHON: [(&str, &[&str], &str); 3] = [
    ("segno", &FORMATS, "segno"),
    ("zint", &["svg", "eps", "png"], "zint"),
    ("qrencode, a process", &["svg", "eps", "png"], "qrencode"),
];

/// The bytes of black-on-white PNGs, relative to the same pixels compressed by zopfli.
#[derive(Serialize)]
struct Scale {
    scale_px: u32,
    /// By input: the medians for [`write_palette_png`] and for [`write_smallest_png`].
    shares: Vec<[f64; 2]>,
}

/// A library that writes a format.
struct Maker<'a> {
    name: &'static str,
    how: How<'a>,
}

enum How<'a> {
    Here(fn(&str, &mut Vec<u8>)),
    /// In another process.
    There(&'a mut Peer),
}

/// A process that makes files of the texts it has been sent.
struct Peer {
    name: &'static str,
    formats: &'static [&'static str],
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(
        name: &'static str,
        formats: &'static [&'static str],
        command: &mut Command,
    ) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| command.get_program().display().to_string())?;
        let orders = child.stdin.take().context("no standard input")?;
        let answers = BufReader::new(child.stdout.take().context("no standard output")?);
        Ok(Peer { name, formats, child, orders, answers })
    }

    /// Sends the texts of the next turns.
    fn texts(&mut self, texts: &[String]) -> anyhow::Result<()> {
        writeln!(self.orders, "{}", serde_json::to_string(texts)?).context(self.name)
    }

    /// Makes files of the texts for at least `least`. Returns nanoseconds per call and the median size of the files.
    fn turn(&mut self, format: &str, least: Duration) -> anyhow::Result<(f64, usize)> {
        writeln!(self.orders, "{format} {}", least.as_millis()).context(self.name)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).context(self.name)?;
        let problem = || format!("{} answered {line:?}", self.name);
        let (ns, bytes) = line.trim().split_once(' ').with_context(problem)?;
        Ok((ns.parse().with_context(problem)?, bytes.parse().with_context(problem)?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut peers = peers(&arguments)?;
    let mut rows = Vec::new();
    for input in &INPUTS {
        for peer in &mut peers {
            peer.texts(&input.texts())?;
        }
        for format in FORMATS {
            rows.extend(measure(format, input, &mut peers, &arguments)?);
        }
    }
    print_table(&rows);
    let scales = SCALES.iter().map(|scale_px| scale_beside_zopfli(*scale_px));
    let scales = scales.collect::<anyhow::Result<Vec<_>>>()?;
    print_scales(&scales);
    write_json(&arguments.out, &(rows, scales))?;
    println!("\n{}", arguments.out.display());
    Ok(())
}

fn peers(arguments: &Arguments) -> anyhow::Result<Vec<Peer>> {
    let scripts = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/peers"));
    let mut peers = Vec::new();
    match &arguments.python {
        Some(python) => {
            for (name, formats, argument) in IN_PYTHON {
                let mut command = Command::new(python);
                command.arg(scripts.join("python_peers.py")).arg(argument);
                peers.push(Peer::start(name, formats, &mut command)?);
            }
        }
        None => eprintln!("without --python, segno, zint and qrencode are left out"),
    }
    match &arguments.node_modules {
        Some(folder) => {
            let mut command = Command::new("node");
            command.arg(scripts.join("qrcode_peer.cjs")).env("NODE_PATH", folder);
            peers.push(Peer::start("npm qrcode", &["svg", "png"], &mut command)?);
        }
        None => eprintln!("without --node-modules, npm's qrcode is left out"),
    }
    Ok(peers)
}

/// Measures all libraries that write a format on one kind of text, in turn, round by round.
fn measure(
    format: &'static str,
    input: &Input,
    peers: &mut [Peer],
    arguments: &Arguments,
) -> anyhow::Result<Vec<Row>> {
    let (least, texts) = (Duration::from_millis(arguments.turn_ms), input.texts());
    let mut makers = here(format);
    let there = peers.iter_mut().filter(|peer| peer.formats.contains(&format));
    makers.extend(there.map(|peer| Maker { name: peer.name, how: How::There(peer) }));
    let mut out = Vec::new();
    let times = take_turns(&mut makers, arguments.rounds, |maker| match &mut maker.how {
        How::There(peer) => Ok(peer.turn(format, least)?.0),
        How::Here(make) => Ok(time(least, &texts, |text| {
            make(text, &mut out);
            std::hint::black_box(&out);
        })),
    })?;
    let mut rows = Vec::new();
    for (maker, quartiles) in makers.iter_mut().zip(times) {
        let sizes = match &mut maker.how {
            How::There(peer) => vec![peer.turn(format, Duration::ZERO)?.1],
            How::Here(make) => {
                let len = |text: &String| {
                    make(text, &mut out);
                    out.len()
                };
                texts.iter().map(len).collect()
            }
        };
        rows.push(Row::new((format, maker.name, input.name), quartiles, sizes));
    }
    Ok(rows)
}

fn here(format: &str) -> Vec<Maker<'static>> {
    let maker = |name, make| Maker { name, how: How::Here(make) };
    match format {
        "svg" => {
            vec![maker("qr-core", svg), maker("fast_qr", fast_qr_svg), maker("rxing", rxing_svg)]
        }
        "pdf" => vec![maker("qr-core", pdf)],
        "eps" => vec![maker("qr-core", eps)],
        _ => vec![
            maker("qr-core", png),
            maker("fast_qr+png fast", |text, out| fast_qr_png(text, Compression::Fast, out)),
            maker("fast_qr+png", |text, out| fast_qr_png(text, Compression::default(), out)),
        ],
    }
}

fn symbol(text: &str) -> qr_core::Symbol {
    encode(text, Level::L).expect("texts of the bench fit")
}

/// Replaces the content of a buffer by the text that `write` appends.
fn with_text(out: &mut Vec<u8>, write: impl FnOnce(&mut String)) {
    let mut text = String::from_utf8(std::mem::take(out)).unwrap_or_default();
    text.clear();
    write(&mut text);
    *out = text.into_bytes();
}

fn svg(text: &str, out: &mut Vec<u8>) {
    with_text(out, |out| write_svg(&symbol(text), &Svg::default(), out));
}

fn eps(text: &str, out: &mut Vec<u8>) {
    with_text(out, |out| {
        write_eps(&symbol(text), &Print::default(), out).expect("the default width is fine");
    });
}

fn pdf(text: &str, out: &mut Vec<u8>) {
    out.clear();
    write_pdf(&symbol(text), &Print::default(), out).expect("the default width is fine");
}

fn png(text: &str, out: &mut Vec<u8>) {
    let raster = Raster::new(SIZE_PX).margin_modules(MARGIN);
    let color = |[red, green, blue]: [u8; 3]| Color::rgb(red, green, blue);
    let palette = Palette::new(color(DARK), color(LIGHT));
    out.clear();
    write_palette_png(&symbol(text), &raster, &palette, out).expect("1000 pixels are enough");
}

fn fast_qr_svg(text: &str, out: &mut Vec<u8>) {
    let drawn = SvgBuilder::default().margin(MARGIN as usize).to_str(&fast_qr_of(text));
    *out = drawn.into_bytes();
}

/// rxing draws one rectangle per module; a quiet zone of 4 modules and level L are its defaults.
fn rxing_svg(text: &str, out: &mut Vec<u8>) {
    let hints = EncodeHints { CharacterSet: Some("UTF-8".to_owned()), ..EncodeHints::default() };
    let matrix = QRCodeWriter.encode_with_hints(text, &BarcodeFormat::QR_CODE, 0, 0, &hints);
    let drawn = svg::Document::from(&matrix.expect("texts of the bench fit"));
    *out = drawn.to_string().into_bytes();
}

/// The same picture by fast_qr and the `png` crate: a palette of two colours, each row of modules drawn once.
fn fast_qr_png(text: &str, compression: Compression, out: &mut Vec<u8>) {
    let code = fast_qr_of(text);
    let is_dark = |x: usize, y: usize| code.data[y * code.size + x].value();
    write_png(code.size, is_dark, SIZE_PX, out, |encoder| {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette([DARK, LIGHT].concat());
        encoder.set_compression(compression);
    });
}

/// Compares PNGs with zopfli's at one scale.
fn scale_beside_zopfli(scale_px: u32) -> anyhow::Result<Scale> {
    let palette = Palette::new(Color::BLACK, Color::WHITE);
    let mut scale = Scale { scale_px, shares: Vec::new() };
    for input in &INPUTS {
        let mut shares = [Vec::new(), Vec::new()];
        for text in input.texts().iter().take(4) {
            let symbol = symbol(text);
            let raster = Raster::of_scale(&symbol, scale_px, MARGIN);
            let (mut usual, mut smallest) = (Vec::new(), Vec::new());
            write_palette_png(&symbol, &raster, &palette, &mut usual)?;
            write_smallest_png(&symbol, &raster, &palette, &mut smallest)?;
            let by_zopfli = len_by_zopfli(&usual)? as f64;
            shares[0].push(usual.len() as f64 / by_zopfli);
            shares[1].push(smallest.len() as f64 / by_zopfli);
        }
        scale.shares.push(shares.map(|shares| quartiles(shares)[1]));
    }
    Ok(scale)
}

/// The length of a PNG with its rows compressed by zopfli: without a filter, or with each row as the difference to the
/// one above, whichever is smaller.
fn len_by_zopfli(file: &[u8]) -> anyhow::Result<usize> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("the picture's size")?];
    reader.next_frame(&mut pixels)?;
    let line_bytes = reader.info().raw_row_length() - 1;
    let (mut plain, mut up) = (Vec::new(), Vec::new());
    let mut above = vec![0; line_bytes];
    for line in pixels.chunks(line_bytes) {
        plain.push(0);
        plain.extend_from_slice(line);
        up.push(2);
        up.extend(line.iter().zip(&above).map(|(byte, above)| byte.wrapping_sub(*above)));
        above = line.to_vec();
    }
    let mut smallest = usize::MAX;
    for rows in [plain, up] {
        let mut packed = Vec::new();
        let options = zopfli::Options::default();
        zopfli::compress(options, zopfli::Format::Zlib, rows.as_slice(), &mut packed)?;
        smallest = smallest.min(packed.len());
    }
    Ok(file.len() - data_bytes(file)? + smallest)
}

/// The bytes in a PNG's IDAT chunks.
fn data_bytes(file: &[u8]) -> anyhow::Result<usize> {
    let (mut at, mut sum) = (8, 0);
    while let Some(head) = file.get(at..at + 8) {
        let length = u32::from_be_bytes(head[..4].try_into()?) as usize;
        sum += if &head[4..] == b"IDAT" { length } else { 0 };
        at += 12 + length;
    }
    ensure!(at == file.len(), "the chunks end after {at} of {} bytes", file.len());
    Ok(sum)
}

fn print_scales(scales: &[Scale]) {
    let inputs: String = INPUTS.iter().map(|input| format!(" {:>15}", input.name)).collect();
    println!("\nPNG, black on white: bytes relative to zopfli's; usual and smallest compression\n");
    println!("  pixels / module{inputs}");
    for Scale { scale_px, shares } in scales {
        let shares = shares.iter().map(|[usual, short]| format!("   {usual:>5.3}  {short:>5.3}"));
        println!("  {scale_px:>15}{}", shares.collect::<String>());
    }
}
