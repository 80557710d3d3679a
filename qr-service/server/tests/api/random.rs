//! Sends random requests over all options: each gets a picture that two decoders read, or the reason for refusal.

mod drawn;
mod requests;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::decode::{Pixels, decode_pixels_by_rqrr};
use resvg::usvg::roxmltree::Document;
use service_kit::testing::connect;

use crate::support::{Answer, Picture, get, padded, read, send, start};
use drawn::draw;
use requests::{Request, names, random_request};

#[test]
fn random_requests_have_every_parameter() {
    let service = start(&[]);
    let description = get(service.addr, "/v1/openapi.json").json();
    let parameters = description["paths"]["/v1/qr"]["get"]["parameters"].as_array().unwrap();
    let mut described: Vec<&str> =
        parameters.iter().map(|it| it["name"].as_str().unwrap()).collect();
    let mut generated = names();
    described.sort_unstable();
    generated.sort_unstable();
    assert_eq!(generated, described);
}

#[test]
fn a_random_request_gets_a_picture_that_two_decoders_read_or_a_reason() {
    let requests: u32 = std::env::var("REQUESTS").map_or(200, |count| count.parse().unwrap());
    let service = start(&[]);
    // Most of the time other programs draw and decode.
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let counts = std::thread::scope(|scope| {
        let check = |seed| check_requests(service.addr, seed, requests.div_ceil(threads));
        let checks: Vec<_> = (0..threads).map(|it| scope.spawn(move || check(it.into()))).collect();
        let mut counts = BTreeMap::<String, u32>::new();
        for (what, count) in checks.into_iter().flat_map(|it| it.join().unwrap()) {
            *counts.entry(what).or_default() += count;
        }
        counts
    });
    anstream::println!("{counts:?}");
    let of = |what: &str| counts.get(what).copied().unwrap_or(0);
    assert!(of("pictures") > requests / 5 && of("refusals") > requests / 5, "{counts:?}");
    for format in ["png", "svg", "pdf", "eps", "txt", "json", "zpl", "epl"] {
        assert!(of(format) > requests / 250, "{counts:?}");
    }
    assert!(of("by rqrr") > requests / 10 && of("by rxing") > requests / 50, "{counts:?}");
    assert!(of("by nobody else") * 500 <= requests, "{counts:?}");
}

/// Checks so many requests; returns how many had each format and each outcome.
fn check_requests(addr: SocketAddr, seed: u64, requests: u32) -> BTreeMap<String, u32> {
    let mut random = fastrand::Rng::with_seed(17 + seed);
    let mut counts = BTreeMap::<String, u32>::new();
    let mut count = |what: &str| *counts.entry(what.to_owned()).or_default() += 1;
    for _ in 0..requests {
        let request = random_request(&mut random);
        let Request { method, target, headers, body, .. } = &request;
        let ask = || send(&mut connection(addr), method, target, headers, body);
        match until_there_is_room(ask) {
            answer if answer.status == 200 => {
                count("pictures");
                count(request.format);
                let picture = check_picture(&request, &answer);
                count(read_again(addr, &request, &answer, &picture));
            }
            answer if [400, 422].contains(&answer.status) => {
                count("refusals");
                assert!(!answer.faults().is_empty(), "{request:?}");
            }
            answer => panic!("{} to {request:?}: {answer:?}", answer.status),
        }
    }
    counts
}

/// A new connection: a kept one may end while other programs draw and decode.
fn connection(addr: SocketAddr) -> BufReader<TcpStream> {
    BufReader::new(connect(addr))
}

/// The answer to a request that is sent again while the service is too busy.
fn until_there_is_room(mut ask: impl FnMut() -> Answer) -> Answer {
    loop {
        let answer = ask();
        if answer.status != 503 {
            return answer;
        }
    }
}

/// Draws the answer and reads it with zxing-cpp.
fn check_picture(request: &Request, answer: &Answer) -> Picture {
    if request.option("filename").is_some() {
        assert!(answer.header("content-disposition").is_some(), "{request:?}");
    }
    if let Some(title) = request.option("title") {
        let svg = Document::parse(answer.text()).unwrap();
        let element = svg.descendants().find(|node| node.has_tag_name("title"));
        assert_eq!(element.and_then(|it| it.text()), Some(title), "{request:?}");
    }
    // Adds the quiet zone, which pictures may lack.
    let picture = padded(&draw(request, answer));
    let Some(barcode) = read(&picture, request.kind()) else {
        panic!("{request:?}: zxing-cpp cannot read it");
    };
    // Kanji are bytes of Shift JIS, so their text is compared. Others are not: zxing-cpp names control characters.
    let is_same_text = || request.has_kanji() && holds(request, barcode.text().as_bytes());
    assert!(holds(request, &barcode.bytes()) || is_same_text(), "{request:?}: another message");
    picture
}

/// Whether these bytes are the message, or the part of it that was asked for.
fn holds(request: &Request, bytes: &[u8]) -> bool {
    match request.option("part") {
        Some(_) => request.message.windows(bytes.len()).any(|it| it == bytes),
        None => request.message == bytes,
    }
}

/// Reads the picture with another decoder: rqrr if it can, else rxing.
fn read_again(
    addr: SocketAddr,
    request: &Request,
    answer: &Answer,
    picture: &Picture,
) -> &'static str {
    let picture = shrunk(picture);
    // rqrr supports neither FNC1 nor structured append, and returns Kanji as Shift JIS.
    let is_for_rqrr = request.kind() == "qr"
        && request.option("gs1").is_none()
        && request.option("part").is_none()
        && !request.has_kanji();
    if is_for_rqrr {
        let (width, height) = (picture.width as usize, picture.height as usize);
        let pixels = Pixels { width, height, grey: picture.grey.clone() };
        // With overflow checks, rqrr panics on some pictures.
        let decoded = std::panic::catch_unwind(|| decode_pixels_by_rqrr(&pixels));
        if decoded.is_ok_and(|it| it.is_ok_and(|decoded| decoded.bytes == request.message)) {
            return "by rqrr";
        }
    }
    let (kind, png) = ("content-type: image/png\r\n", png_of(&picture));
    let read =
        until_there_is_room(|| send(&mut connection(addr), "POST", "/v1/decode", kind, &png));
    let read = read.json();
    let symbol = &read["symbols"][0];
    let version = answer.header("x-qr-version").unwrap();
    let is_same = symbol["data"] == STANDARD.encode(&request.message);
    let has_other_bytes = request.has_kanji() || request.option("gs1").is_some();
    if symbol["version"] == version
        && (is_same || has_other_bytes || request.option("part").is_some())
    {
        return "by rxing";
    }
    anstream::println!("only zxing-cpp reads {:?}: {read}", request.options);
    "by nobody else"
}

/// Keeps every second, third ... pixel of a large picture.
fn shrunk(picture: &Picture) -> Picture {
    let step = (picture.width.max(picture.height) as usize).div_ceil(1800);
    let (mut grey, mut height) = (Vec::new(), 0);
    for row in picture.grey.chunks(picture.width as usize).step_by(step) {
        match step {
            1 => grey.extend_from_slice(row),
            _ => grey.extend(row.iter().step_by(step)),
        }
        height += 1;
    }
    Picture { width: picture.width.div_ceil(step as u32), height, grey }
}

fn png_of(picture: &Picture) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, picture.width, picture.height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header().unwrap().write_image_data(&picture.grey).unwrap();
    file
}
