//! Tests the memory that the process takes when clients ask for everything expensive at once, and that it gives the
//! memory back.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use image::{DynamicImage, ImageFormat, RgbaImage};
use serde_json::{Value, json};
use service_kit::testing::{Service, eventually, status_bytes};

use crate::support::{LOGO, get, post_many, request, resident_bytes, start};
use crate::uploads::{encoded, gif_in_json, interlaced_png, progressive_jpeg};

/// The largest picture that is decoded in any format, and the largest in formats that take little memory.
const SIDES: (u32, u32) = (3700, 2400);
const MOST_SIDES: (u32, u32) = (5000, 5000);

#[test]
fn everything_at_once_fits_the_limit_of_the_container_and_is_given_back() {
    // As in the container, memory is given back at once.
    let service = start(&[
        ("QR_WORKER_THREADS", "1"),
        ("QR_COMPAT", "quickchart"),
        ("MIMALLOC_PURGE_DELAY", "0"),
    ]);
    let pid = service.child.id();
    let uploads = uploads();
    ask_for_all(&service, &uploads);
    // Code does not count, of which a debug build has more: it is mapped from its file, so the kernel can drop it.
    let peak = resident_bytes(pid) - status_bytes(pid, "RssFile:");
    let limit = limit_bytes();
    anstream::println!(
        "peak {} of {} MiB, now {} MiB",
        peak >> 20,
        limit >> 20,
        status_bytes(pid, "VmRSS:") >> 20
    );
    // A quarter is reserved for the sockets' kernel memory, and for differences between machines.
    assert!(peak * 5 / 4 < limit, "{peak} bytes resident at most, and {limit} allowed");
    eventually("memory is given back", || status_bytes(pid, "RssAnon:") < limit / 4);
    assert_eq!(get(service.addr, "/qrcode?text=a").status, 200);
}

/// The largest pictures, with their names.
fn uploads() -> Vec<(&'static str, Vec<u8>)> {
    let grey = |x: u32, y: u32| (x / 90 * 31 + y / 70 * 17) as u8;
    let image = |(width, height): (u32, u32)| {
        let color = |x, y| image::Rgba([grey(x, y), 9, 200, 250]);
        DynamicImage::from(RgbaImage::from_fn(width, height, color))
    };
    let (large, image) = (image(MOST_SIDES), image(SIDES));
    let opaque = DynamicImage::from(image.to_rgb8());
    let large_opaque = DynamicImage::from(large.to_rgb8());
    let uploads = vec![
        ("png", encoded(&large, ImageFormat::Png)),
        ("interlaced png", interlaced_png(MOST_SIDES, grey)),
        ("jpeg", encoded(&large_opaque, ImageFormat::Jpeg)),
        // In the four colours of print. Its coefficients are kept until the end, so it takes the most memory.
        ("progressive jpeg", progressive_jpeg(SIDES, &[(1, 1); 4], |_, _| false)),
        ("webp", encoded(&image, ImageFormat::WebP)),
        ("opaque webp", encoded(&opaque, ImageFormat::WebP)),
        ("grey png", encoded(&DynamicImage::from(large_opaque.to_luma8()), ImageFormat::Png)),
        ("gif", encoded(&opaque, ImageFormat::Gif)),
    ];
    assert!(uploads.iter().all(|(_, file)| file.len() < 10 << 20));
    uploads
}

fn post(addr: SocketAddr, target: &str, media: &str, body: &[u8]) -> u16 {
    request(addr, "POST", target, &format!("content-type: {media}\r\n"), body).status
}

/// Threads ask for everything that takes memory at once, until each was answered.
fn ask_for_all(service: &Service, uploads: &[(&str, Vec<u8>)]) {
    let addr = service.addr;
    let texts: Vec<_> =
        (0..1000).map(|i| json!({"text": format!("{i} {}", "x".repeat(900))})).collect();
    let (items, texts) = (texts, "x".repeat(2000));
    let styled = json!({"text": "x".repeat(100), "size": 4096, "dark": "036", "shape": "dots",
                        "margin": 0, "caption": "Scan me"});
    let with_logo = json!({"text": "logo", "size": 4096, "logo": LOGO, "level": "H"});
    let smallest = json!({"text": texts, "size": 4096, "dark": "036", "compression": "smallest"});
    thread::scope(|scope| {
        for (what, file) in uploads {
            scope.spawn(move || {
                let target = match *what {
                    "gif" => "/qr-read",
                    "interlaced png" => "/v1/grade",
                    _ => "/v1/decode",
                };
                let ask = || match *what {
                    // The picture has no symbol, which QuickChart's path answers with an error.
                    "gif" => match post(addr, target, "application/json", &gif_in_json(file)) {
                        400 => 200,
                        status => status,
                    },
                    _ => post(addr, target, "application/octet-stream", file),
                };
                until_answered(ask, what);
            });
        }
        for target in ["/v1/batch", "/v1/batch", "/v1/labels"] {
            let items = &items;
            scope.spawn(move || until_made(addr, target, items));
        }
        for body in [&styled, &with_logo, &smallest, &smallest] {
            let body = body.to_string();
            scope.spawn(move || {
                until_answered(|| post(addr, "/v1/qr", "application/json", body.as_bytes()), &body);
            });
        }
    });
}

/// Asks for all items until the service has room, and then, if a slow build has not made them in time, for half of what
/// it says that it makes.
fn until_made(addr: SocketAddr, target: &str, items: &[Value]) {
    let mut count = items.len();
    let ask = |count: usize| {
        let body = json!(items[..count]).to_string();
        post_many(addr, target, "application/json", body.as_bytes())
    };
    loop {
        let answer = ask(count);
        match answer.status {
            200 => return,
            503 => thread::sleep(Duration::from_millis(50)),
            status => {
                assert_eq!((status, answer.faults()), (422, vec!["items out-of-range".into()]));
                let most = answer.json()["faults"][0]["maximum"].as_f64().unwrap();
                count = (most as usize / 2).max(1);
            }
        }
    }
}

/// Repeats the request while the service is busy.
fn until_answered(ask: impl Fn() -> u16, what: &str) {
    loop {
        match ask() {
            200 => return,
            503 => thread::sleep(Duration::from_millis(50)),
            status => panic!("{what}: {status}"),
        }
    }
}

/// Returns the limit of the container in the manifests, which the chart copies.
pub(crate) fn limit_bytes() -> u64 {
    let manifest = include_str!("../../../../../deploy/k8s/base/qr-service.yaml");
    let (_, limit) = manifest.split_once("limits: { memory: ").unwrap();
    limit.split_once("Mi").unwrap().0.parse::<u64>().unwrap() << 20
}
