//! Tests that the service's memory stays bounded, and `/qrcode` keeps answering, while clients ask for as much as they
//! may, or read as slowly as they can. One test bounds the time of `/qrcode` by what it takes alone.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use service_kit::testing::{Service, connect, eventually};

use crate::artwork::{logo, uri};
use crate::nightly::memory::limit_bytes;
use crate::support::{
    files_of, get, png_of, post_in_time, post_json, post_many, resident_bytes, send, start,
};

/// Tells threads that an attack is over, even if its test fails.
#[derive(Default)]
struct Over(AtomicBool);

struct OnDrop<'a>(&'a Over);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl Over {
    fn is_near(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs an attack while another client asks for `/qrcode` a hundred times a second. All of that client's requests are
/// answered, and the service's memory stays bounded.
fn beside<T>(service: &Service, what: &str, attack: impl FnOnce() -> T) -> T {
    timed_beside(service, what, attack).0
}

/// Does the same, and also returns the longest time of 99 % of those requests.
fn timed_beside<T>(service: &Service, what: &str, attack: impl FnOnce() -> T) -> (T, Duration) {
    let over = Over::default();
    let (result, mut times) = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut stream = BufReader::new(connect(service.addr));
            let mut times = Vec::new();
            while !over.is_near() {
                let begun = Instant::now();
                let answer = send(&mut stream, "GET", "/qrcode?text=beside", "", b"");
                assert_eq!(answer.status, 200);
                times.push(begun.elapsed());
                thread::sleep(Duration::from_millis(10));
            }
            times
        });
        let result = {
            let _end = OnDrop(&over);
            attack()
        };
        (result, client.join().unwrap())
    });
    times.sort();
    let p99 = times[times.len() * 99 / 100];
    let resident = resident_bytes(service.child.id());
    // Of the container's limit, a quarter is reserved; see `memory.rs`.
    assert!(resident < limit_bytes() / 4 * 3, "{what}: {resident} bytes");
    (result, p99)
}

/// Lets this many clients ask at once; returns the statuses of their answers.
fn at_once(clients: usize, ask: impl Fn(usize) -> u16 + Sync) -> Vec<u16> {
    thread::scope(|scope| {
        let ask = &ask;
        let clients: Vec<_> = (0..clients).map(|i| scope.spawn(move || ask(i))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn a_flood_of_the_largest_pictures_is_bounded_in_memory_and_partly_refused() {
    let service = start(&[("QR_API_QUEUE", "16")]);
    let addr = service.addr;
    let text = "x".repeat(2000);
    let statuses = beside(&service, "largest pictures", || {
        at_once(100, |i| {
            let compression = ["fast", "smallest"][usize::from(i % 4 == 0)];
            let query = format!("text={i}{text}&size=4096&dark=123&level=L");
            get(addr, &format!("/v1/qr.png?{query}&compression={compression}")).status
        })
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!(count(200) + count(503), 100, "{statuses:?}");
    assert!(count(200) > 0 && count(503) > 0, "{statuses:?}");
    // Afterwards there is room again.
    assert_eq!(get(addr, "/v1/qr.png?text=a&dark=123").status, 200);
    let _: Value = get(addr, "/v1/qr.json?text=a").json();
}

/// Returns a PNG of 250 x 250 finder patterns.
fn finder_patterns() -> Vec<u8> {
    const PITCH: usize = 10;
    let side = 250 * PITCH;
    let is_dark = |x: usize, y: usize| {
        let ring = (x % PITCH).abs_diff(3).max((y % PITCH).abs_diff(3));
        ring == 3 || ring <= 1
    };
    let grey = (0..side * side).map(|at| if is_dark(at % side, at / side) { 0 } else { 255 });
    png_of(side as u32, side as u32, &grey.collect::<Vec<u8>>())
}

/// Fails if `/qrcode` takes five times as long beside the attack as alone. A busy machine gets several tries.
fn check_delay(service: &Service, what: &str, attack: impl Fn()) {
    let mut tries = Vec::new();
    for _ in 0..5 {
        let (_, alone) = timed_beside(service, "alone", || thread::sleep(Duration::from_secs(1)));
        let ((), p99) = timed_beside(service, what, &attack);
        // On a fast machine, both are too short to compare.
        if p99 <= 5 * alone.max(Duration::from_millis(2)) {
            return;
        }
        tries.push((p99, alone));
    }
    panic!("{what}: p99 beside it, and alone: {tries:?}");
}

/// With one thread, `/qrcode` waited for 0.7 s while one client sent lines that are no items.
#[test]
fn one_hostile_client_hardly_delays_others_even_with_one_thread() {
    let service = start(&[("QR_WORKER_THREADS", "1"), ("QR_COMPAT", "quickchart")]);
    let addr = service.addr;
    let lines = |line: &str| line.repeat(((1 << 20) - 8) / line.len()).into_bytes();
    let nested = |begin: &str, count| format!("{begin}{}0]}}", "[],".repeat(count)).into_bytes();
    let mut items = vec![json!({"text": "an item", "size": 1000, "dark": "036"}); 999];
    items.push(json!({"text": "an item", "dark": "ff0"}));
    let logo_of = |file: &[u8]| json!({"text": "a", "logo": uri(file)}).to_string().into_bytes();
    let dots = json!({"text": "dots", "size": 670, "dotStyle": "dot"});
    let large = json!({"text": "x".repeat(2000), "size": 4096, "compression": "smallest"});
    for (target, media, body) in [
        ("/v1/batch", "text/csv", lines("1\n")),
        ("/v1/batch", "text/csv", lines("a,")),
        ("/v1/batch", "application/x-ndjson", lines("{\"a\":1}\n")),
        ("/v1/batch", "application/json", Value::from(items).to_string().into_bytes()),
        ("/v1/labels", "application/json", [b"[", &lines("{},")[..], b"{}]"].concat()),
        ("/v1/qr", "application/json", nested("{\"text\": [", 130_000)),
        ("/v1/qr", "application/json", nested("{\"text\": \"a\", \"x\": [", 130_000)),
        ("/v1/qr", "application/json", large.to_string().into_bytes()),
        ("/v1/qr.png", "application/json", logo_of(&logo(1000, 1000, [32, 16, 192, 255]))),
        ("/v1/qr.png", "application/json", logo_of(&bomb())),
        ("/qr/batch", "application/json", nested("{\"qrCodes\": [", 300_000)),
        (
            "/qr/batch",
            "application/json",
            json!({"qrCodes": vec![dots; 1000]}).to_string().into_bytes(),
        ),
        ("/v1/decode", "image/png", finder_patterns()),
        ("/v1/grade", "image/png", finder_patterns()),
    ] {
        let attack = || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(1500) {
                let answer = post_many(addr, target, media, &body);
                let is_answered = matches!(answer.status, 200 | 400 | 422 | 503);
                assert!(is_answered, "{target} {}", answer.text());
            }
        };
        check_delay(&service, &format!("{target} {media} of {} bytes", body.len()), attack);
    }
    check_delay(&service, "a slow reader", || {
        let mut client = ask_for_much(addr);
        for _ in 0..15 {
            assert_eq!(client.read(&mut [0]).unwrap(), 1);
            thread::sleep(Duration::from_millis(100));
        }
    });
}

/// Two such pictures held both workers for 43 s, and shapes were answered 503 meanwhile.
#[test]
fn pictures_full_of_finder_patterns_free_their_workers_in_time() {
    let service = start(&[]);
    let (picture, addr) = (finder_patterns(), service.addr);
    let ask = |i: usize| {
        if i < 2 {
            let answer = post_many(addr, "/v1/decode", "image/png", &picture);
            assert!(answer.status == 503 || answer.json()["truncated"] == true, "{answer:?}");
            return answer.status;
        }
        thread::sleep(Duration::from_millis(500));
        get(addr, "/v1/qr.png?text=a&shape=dots").status
    };
    // A busy machine may be too slow for it at first.
    let mut tries = (0..5).map(|_| beside(&service, "finder patterns", || at_once(3, ask)));
    assert!(tries.any(|statuses| statuses[2] == 200));
}

/// Returns a PNG of one pixel whose colour profile is 128 MB of zeros, packed in 128 kB.
fn bomb() -> Vec<u8> {
    let mut file = Vec::new();
    let mut info = png::Info::with_size(1, 1);
    info.color_type = png::ColorType::Rgba;
    info.icc_profile = Some(vec![0; 128 << 20].into());
    let encoder = png::Encoder::with_info(&mut file, info).unwrap();
    encoder.write_header().unwrap().write_image_data(&[9; 4]).unwrap();
    assert!(file.len() < 256_000, "{}", file.len());
    file
}

#[test]
fn logos_that_are_decompression_bombs_take_bounded_memory() {
    let service = start(&[]);
    // The header claims 268 million pixels.
    let mut of_pixels = logo(1, 1, [0; 4]);
    of_pixels[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    for (file, status) in [(of_pixels, 400), (bomb(), 200)] {
        let body = json!({"text": "a", "logo": uri(&file)});
        let statuses = beside(&service, "bombs", || {
            at_once(20, |_| post_json(service.addr, "/v1/qr.png", &body).status)
        });
        assert!(statuses.contains(&status), "{statuses:?}");
        assert!(statuses.iter().all(|it| *it == status || *it == 503), "{statuses:?}");
    }
}

#[test]
fn batches_of_a_thousand_whose_last_item_is_wrong_send_nothing_in_bounded_memory() {
    let service = start(&[]);
    let mut items = vec![json!({"text": "an item", "size": 1000, "dark": "036"}); 999];
    items.push(json!({"text": "an item", "dark": "ff0"}));
    let body = Value::from(items).to_string();
    let answers = beside(&service, "batches with a wrong item", || {
        let ask = || post_in_time(service.addr, "/v1/batch", "application/json", body.as_bytes());
        (0..3).map(|_| ask()).collect::<Vec<_>>()
    });
    for answer in answers {
        assert_eq!((answer.status, &*answer.faults().concat()), (422, "items[999].dark contrast"));
    }
}

/// Connects with small buffers, asks for an archive of 10 MB, and reads the first bytes of its answer.
fn ask_for_much(addr: SocketAddr) -> TcpStream {
    // Each item is 98 kB of characters, which are quickly drawn.
    let items = Value::from(vec![json!({"text": "a"}); 100]).to_string();
    let head = format!(
        "POST /v1/batch?format=txt&style=ascii&margin=100 HTTP/1.1\r\nhost: x\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        items.len()
    );
    loop {
        let mut stream = with_small_buffer(addr);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(items.as_bytes()).unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        match &begin {
            b"HTTP/1.1 200" => return stream,
            // The service is too busy to draw them in time.
            b"HTTP/1.1 422" => {}
            other => panic!("{:?}", std::str::from_utf8(other)),
        }
    }
}

fn with_small_buffer(addr: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(addr).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

#[test]
fn clients_that_read_a_batch_a_byte_a_second_take_little_memory_and_lose_their_places() {
    let service = start(&[("QR_WRITE_TIMEOUT", "8s")]);
    let addr = service.addr;
    let small = |what: &[u8]| post_many(addr, "/v1/batch", "text/csv", what);
    beside(&service, "slow readers", || {
        let over = Over::default();
        thread::scope(|scope| {
            let _end = OnDrop(&over);
            let clients = [(); 2].map(|()| scope.spawn(|| ask_for_much(addr)));
            let clients = clients.map(|client| client.join().unwrap());
            for mut client in clients {
                let over = &over;
                scope.spawn(move || {
                    // Reading continues after the service has closed, from the kernel's buffers.
                    while !over.is_near() && client.read(&mut [0]).is_ok_and(|read| read > 0) {
                        thread::sleep(Duration::from_secs(1));
                    }
                });
            }
            // The two clients have both places, and nobody waits for one.
            let refused = small(b"text\na\n");
            assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
            // The places become free when the clients have read for too long.
            eventually("a place", || small(b"text\na\n").status == 200);
        });
    });
    assert_eq!(files_of(&small(b"text\na\n").body).len(), 2);
    // A batch keeps one picture in memory at a time, and hyper buffers some.
    let resident = resident_bytes(service.child.id());
    assert!(resident < 40_000_000, "{resident} bytes");
}
