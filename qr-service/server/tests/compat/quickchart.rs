//! Tests QuickChart: `/qr` and `/qr/batch`.

use std::net::SocketAddr;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::pictures::{extra, margins, picture, seen};
use crate::support::{Answer, files_of, get, post_json, request, start};

pub(crate) const ON: [(&str, &str); 1] = [("QR_COMPAT", "quickchart")];

pub(crate) fn qr(addr: SocketAddr, query: &str) -> Answer {
    get(addr, &format!("/qr?{query}"))
}

#[test]
fn each_parameter_has_its_values_and_its_default() {
    let service = start(&ON);
    let plain = qr(service.addr, "text=hello");
    assert_eq!(plain.header("content-type"), Some("image/png"));
    assert_eq!(plain.header("cache-control"), Some("public, max-age=604800"));
    // 29 modules of 5 pixels.
    assert_eq!((picture(&plain).width, margins(&plain)), (150, [22, 22, 23, 23]));
    let same = "format=png format=webp size=150 size=0 size= size=abc size=150px margin=4 \
        margin=-1 margin=x dark=000 dark=%23000000 light=fff light=ffffffff dark=000f ecLevel=M \
        ecLevel=medium ecLevel=X mode=byte text=second";
    for same in same.split(' ') {
        assert_eq!(qr(service.addr, &format!("text=hello&{same}")).body, plain.body, "{same}");
    }
    for (names, level) in [(["L", "low"], "L"), (["Q", "Quartile"], "Q"), (["h", "HIGH"], "H")] {
        for name in names {
            let answer = qr(service.addr, &format!("text=hello&ecLevel={name}"));
            assert_eq!(extra(&answer, "ECLevel"), level);
        }
    }
    for (query, width) in [
        ("size=300", 300),
        ("size=5000", 3000),
        ("size=29", 29),
        ("size=28", 116),
        ("size=-5", 116),
        ("size=10&margin=0", 84),
    ] {
        let answer = qr(service.addr, &format!("text=hello&{query}"));
        assert_eq!(picture(&answer).width, width, "{query}");
    }
    assert_eq!(margins(&qr(service.addr, "text=hello&margin=0&size=147")), [0; 4]);
    for (format, media) in [("svg", "image/svg+xml"), ("jpg", "image/jpeg")] {
        let answer = qr(service.addr, &format!("text=hello&size=290&format={format}"));
        assert_eq!(answer.header("content-type"), Some(media));
        assert_eq!(seen(&answer), (290, 290, "hello".to_owned()));
    }
    let transparent = qr(service.addr, "text=hello&light=0000&dark=036");
    assert_eq!(seen(&transparent).2, "hello");
    let image = image::load_from_memory(&transparent.body).unwrap().into_rgba8();
    assert_eq!((image.get_pixel(0, 0).0[3], image.get_pixel(24, 24).0), (0, [0, 0x33, 0x66, 255]));
    let kanji = qr(service.addr, "text=%E6%BC%A2%E5%AD%97&mode=sjis");
    assert_eq!(seen(&kanji).2, "漢字");
}

/// Returns the colour of a pixel.
fn pixel(answer: &Answer, x: u32, y: u32) -> [u8; 3] {
    let image = image::load_from_memory(&answer.body).unwrap();
    assert_eq!(seen(answer).2, "hello");
    image.into_rgb8().get_pixel(x, y).0
}

#[test]
fn styles_are_drawn() {
    let service = start(&ON);
    let plain = qr(service.addr, "text=hello&size=290");
    for same in ["dotStyle=square", "finderStyle=square", "finderDotStyle=square", "dotStyle=star"]
    {
        assert_eq!(qr(service.addr, &format!("text=hello&size=290&{same}")).body, plain.body);
    }
    for same in ["finderColor=000", "finderColor="] {
        assert_eq!(qr(service.addr, &format!("text=hello&size=290&{same}")).body, plain.body);
    }
    // The corners of the first finder pattern's ring and core, and of a module of the timing pattern.
    let (ring, core, module) = ((40, 40), (60, 60), (120, 100));
    let looks = |query: &str| {
        let answer = qr(service.addr, &format!("text=hello&size=290&{query}"));
        [ring, core, module].map(|(x, y)| pixel(&answer, x, y)[0] < 128)
    };
    assert_eq!(looks(""), [true; 3]);
    assert_eq!(looks("dotStyle=dot"), [true, true, false]);
    assert_ne!(qr(service.addr, "text=hello&size=290&dotStyle=rounded").body, plain.body);
    assert_eq!(looks("finderStyle=rounded"), [false, false, true]);
    assert_eq!(looks("finderStyle=circle"), [false, false, true]);
    assert_eq!(looks("finderStyle=circle&finderDotStyle=square"), [false, true, true]);
    assert_eq!(looks("finderDotStyle=dot"), [true, false, true]);
    assert_eq!(looks("finderDotStyle=rounded"), [true, false, true]);
    let red = qr(service.addr, "text=hello&size=290&finderColor=a00&dark=003366");
    let colors = [(45, 45), (65, 65), (125, 105), (5, 5)].map(|(x, y)| pixel(&red, x, y));
    assert_eq!(colors, [[170, 0, 0], [170, 0, 0], [0, 51, 102], [255; 3]]);
    for format in ["svg", "jpg"] {
        let styled =
            "size=290&finderColor=a00&dotStyle=dot&finderStyle=circle&finderDotStyle=square";
        let answer = qr(service.addr, &format!("text=hello&{styled}&format={format}"));
        assert_eq!(seen(&answer), (290, 290, "hello".to_owned()), "{format}");
        assert!(format == "jpg" || answer.text().contains("#aa0000"));
    }
}

/// Returns a red square as a `data:` URI.
fn logo() -> String {
    let mut file = std::io::Cursor::new(Vec::new());
    let square = image::RgbImage::from_pixel(8, 8, image::Rgb([200, 0, 0]));
    square.write_to(&mut file, image::ImageFormat::Png).unwrap();
    let base64 = base64::engine::general_purpose::STANDARD.encode(file.into_inner());
    format!("data:image/png;base64,{base64}")
}

#[test]
fn a_picture_in_the_middle_comes_as_data() {
    let service = start(&ON);
    let ask = |fields: Value| {
        let mut body = json!({"text": "hello", "size": 400, "centerImageUrl": logo()});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        post_json(service.addr, "/qr", &body)
    };
    let red = |answer: &Answer| {
        assert_eq!(seen(answer).2, "hello");
        let image = image::load_from_memory(&answer.body).unwrap().into_rgb8();
        image.pixels().filter(|it| it.0[0] > 150 && it.0[1] < 60).count()
    };
    let plain = ask(json!({}));
    assert_eq!(extra(&plain, "ECLevel"), "H");
    assert_eq!(pixel(&plain, 200, 200), [200, 0, 0]);
    let small = ask(json!({"centerImageSizeRatio": 0.15}));
    assert!(red(&small) * 2 < red(&plain), "{} {}", red(&small), red(&plain));
    let pixels = ask(json!({"centerImageWidth": 50, "centerImageHeight": "40"}));
    assert!((30 * 30..50 * 50).contains(&red(&pixels)), "{}", red(&pixels));
    assert_eq!(ask(json!({"ecLevel": "Q", "centerImageSizeRatio": 0.15})).status, 200);
    // In a query, with an unencoded +.
    let url = logo().replace('/', "%2F");
    let queried = qr(service.addr, &format!("text=hello&size=400&centerImageUrl={url}"));
    assert_eq!(pixel(&queried, 200, 200), [200, 0, 0]);
    let svg = ask(json!({"format": "svg"}));
    assert!(svg.text().contains("<image ") && seen(&svg).2 == "hello");
    for (fields, says) in [
        (json!({"centerImageSizeRatio": 1}), "centerImageSizeRatio: "),
        (json!({"centerImageUrl": "https://example.com/a.png"}), "centerImageUrl: "),
        (json!({"centerImageUrl": "data:image/png;base64,AAAA"}), "centerImageUrl: "),
        (json!({"centerImageUrl": "data:image/png,AAAA"}), "centerImageUrl: "),
    ] {
        let answer = ask(fields.clone());
        let error = answer.header("x-quickchart-error").unwrap_or_default();
        assert!(answer.status == 400 && error.starts_with(says), "{fields}: {error}");
        assert!(!error.contains("logo_size"), "{error}");
    }
}

#[test]
fn base64_is_the_png_as_text() {
    let service = start(&ON);
    let answer = qr(service.addr, "text=hello&size=290&dark=036&format=base64");
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    let png = base64::engine::general_purpose::STANDARD.decode(answer.text()).unwrap();
    assert_eq!(png, qr(service.addr, "text=hello&size=290&dark=036").body);
}

#[test]
fn what_qr_draws_qr_read_reads() {
    let service = start(&ON);
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let ask = |body: &Value| post_json(service.addr, "/qr-read", body);
    for format in ["png", "jpg"] {
        let code = qr(service.addr, &format!("text=Hello%20World!&size=300&format={format}"));
        let answer = ask(&json!({"image": base64(&code.body)}));
        assert_eq!((answer.status, answer.json()), (200, json!({"result": "Hello World!"})));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let code = base64(&qr(service.addr, "text=a").body);
    let url = json!({"url": format!("data:image/png;base64,{code}"), "image": "AAAA"});
    assert_eq!(ask(&url).json(), json!({"result": "a"}));
    let blank = base64(&qr(service.addr, "").body);
    for (body, error) in [
        (json!({}), "Please provide either a URL or base64 encoded image"),
        (json!({"url": "http://127.0.0.1/a.png"}), "Could not fetch the image at that URL: "),
        (json!({"image": "AAAA"}), "Could not decode that image."),
        (json!({"image": "no base64"}), "Could not decode that image."),
        (json!({"image": blank}), "No QR code was found in that image."),
    ] {
        let answer = ask(&body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json()["error"].as_str().unwrap().starts_with(error), "{body}");
    }
    let read = get(service.addr, "/qr-read?url=https%3A%2F%2Fexample.com%2Fa.png");
    assert!(read.text().contains("not fetched"), "{}", read.text());
    let long = vec![b' '; 6 << 20];
    assert_eq!(request(service.addr, "POST", "/qr-read", "", &long).status, 413);
}

#[test]
fn validate_says_what_qr_would_answer() {
    let service = start(&ON);
    let ask = |body: Value| post_json(service.addr, "/api/validate-qr", &body);
    let body = json!({"text": "https://example.com", "format": "png", "size": 300, "margin": 4});
    let drawn = post_json(service.addr, "/qr", &body);
    let answer = ask(body);
    assert_eq!(answer.status, 200);
    let told = answer.json();
    assert_eq!(told["renderCheck"], json!({"contentType": "image/png", "bytes": drawn.body.len()}));
    assert_eq!((&told["success"], &told["errors"]), (&json!(true), &json!([])));
    assert_eq!(told["normalized"]["size"], 300);
    assert!(!answer.text().contains("example.com"));
    for (body, error) in [
        (json!({}), "text: You are missing variable `text`"),
        (json!({"text": "a", "format": "gif"}), "format: "),
        (json!({"text": "a", "dark": "ccc"}), "dark: "),
        (json!([1]), "body: "),
    ] {
        let answer = ask(body);
        let told = answer.json();
        assert_eq!((answer.status, &told["success"]), (400, &json!(false)));
        assert!(told["errors"][0].as_str().unwrap().starts_with(error), "{told}");
    }
    assert_eq!(get(service.addr, "/api/validate-qr").header("allow"), Some("POST"));
}

#[test]
fn a_post_takes_json() {
    let service = start(&ON);
    let body = json!({"text": "a+b ü", "size": 300, "margin": "2", "dark": "036", "format": "png"});
    let posted = post_json(service.addr, "/qr", &body);
    assert_eq!(seen(&posted), (300, 300, "a+b ü".to_owned()));
    let bad = post_json(service.addr, "/qr", &json!([1]));
    assert_eq!(bad.status, 400);
    assert!(bad.header("x-quickchart-error").unwrap().starts_with("body: "));
    let put = request(service.addr, "PUT", "/qr?text=a", "", b"");
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST")));
}

/// Asks for a batch until workers are free: other tests may keep the machine busy.
pub(crate) fn batch(addr: SocketAddr, codes: &Value) -> Answer {
    let mut answers = (0..20).map(|_| post_json(addr, "/qr/batch", codes));
    let is_late = |answer: &Answer| answer.text().contains("send fewer");
    let is_busy = |answer: &Answer| answer.status == 503 || answer.status == 400 && is_late(answer);
    answers.find(|answer| !is_busy(answer)).expect("all workers are busy all the time")
}

#[test]
fn a_batch_is_a_zip_with_the_names_asked() {
    let service = start(&ON);
    let codes = json!([
        {"text": "one", "filename": "first-code", "size": 300},
        {"text": "two", "filename": "../évil\\first-code.png", "dark": "a00", "light": "0ff"},
        {"text": "three", "format": "svg", "ecLevel": "H"},
        {"text": "four", "filename": "First-Code"},
        {"text": "five", "format": "jpg"},
    ]);
    let answer = batch(service.addr, &codes);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/zip")));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"qr-codes.zip\""));
    let files = files_of(&answer.body);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["first-code.png", "évilfirst-code.png", "qr-3.svg", "First-Code-2.png", "qr-5.jpg"];
    assert_eq!(names, expected);
    for ((name, body), text) in files.into_iter().zip(["one", "two", "three", "four", "five"]) {
        let media = match name.rsplit('.').next() {
            Some("svg") => "image/svg+xml",
            Some("jpg") => "image/jpeg",
            _ => "image/png",
        };
        let headers = vec![("content-type".to_owned(), media.to_owned())];
        assert_eq!(seen(&Answer { status: 200, headers, body }).2, text, "{name}");
    }
    let named = json!({"qrCodes": [{"text": "a"}], "zipFilename": "my-codes.zip"});
    let answer = batch(service.addr, &named);
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"my-codes.zip\""));
    let many: Vec<Value> =
        (0..1000).map(|i| json!({"text": format!("https://example.com/{i}")})).collect();
    let answer = batch(service.addr, &json!(many));
    assert_eq!(files_of(&answer.body).len(), 1000);
}

/// A batch of a thousand pictures of 670 pixels with dots took 10.5 s, which the proxy cut off, and one with a fault at its
/// end 25.8 s.
#[test]
fn a_batch_that_takes_too_long_ends_with_a_reason() {
    let service = start(&ON);
    let code = json!({"text": "https://example.com/", "size": 670, "dotStyle": "dot"});
    let answer = post_json(service.addr, "/qr/batch", &json!(vec![code; 1000]));
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("send fewer at once"), "{}", answer.text());
}

#[test]
fn a_batch_with_one_wrong_code_gets_400_with_its_index() {
    let service = start(&ON);
    let mut codes: Vec<Value> = (0..1000).map(|i| json!({"text": format!("{i}")})).collect();
    codes[999] = json!({"size": 100});
    for (body, error) in [
        (json!([{}]), "qrCodes[0]: Error: You are missing variable `text`"),
        (json!(codes), "qrCodes[999]: Error: You are missing variable `text`"),
        (json!([{"text": "a"}, {"text": "b", "dark": "ddd"}]), "qrCodes[1]: Error: dark: "),
        (json!([{"text": "a", "format": "base64"}]), "qrCodes[0]: Error: format: "),
        (json!([]), "qrCodes: use 1 to 1000 codes"),
        (json!(vec![json!({"text": "a"}); 1001]), "qrCodes: use 1 to 1000 codes"),
        (
            json!(vec![json!({"text": "a", "size": 3000}); 51]),
            "qrCodes: all codes have 459000000 pixels",
        ),
        (json!(vec![json!({"text": "a", "size": 3000, "format": "jpg"}); 6]), "qrCodes: all JPEGs"),
        (json!(["a"]), "qrCodes: every code must be an object"),
        (json!({"codes": []}), "qrCodes: an array of codes is required"),
        (json!("a"), "send an array of codes"),
    ] {
        let answer = batch(service.addr, &body);
        let told = answer.json();
        assert_eq!((answer.status, &told["success"]), (400, &json!(false)));
        let text = told["error"].as_str().unwrap();
        assert!(text.starts_with(error), "{text}");
    }
    assert_eq!(request(service.addr, "POST", "/qr/batch", "", b"{").status, 400);
    assert_eq!(get(service.addr, "/qr/batch").header("allow"), Some("POST"));
    let long = vec![b' '; (1 << 20) + 1];
    assert_eq!(request(service.addr, "POST", "/qr/batch", "", &long).status, 413);
}
