//! The fallback and the mirror of the proxy.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use service_kit::testing::serve_on;

use crate::support::{Place, eventually};

#[test]
fn only_502_503_and_504_of_the_new_side_fall_back() {
    let place = Place::new();
    place.succeeds(&["split", "100"]);
    for status in [400, 404, 500] {
        let answer = place.get(&format!("/qrcode?text=a&status={status}"));
        assert_eq!(answer, (status, "new".to_owned()));
    }
    for status in [502, 503, 504] {
        let answer = place.get(&format!("/qrcode?text=a&status={status}"));
        assert_eq!(answer, (200, "fallback".to_owned()), "{status}");
    }
    // An answered 503 does not count for max_fails, so the new side still gets requests.
    assert_eq!(place.get("/qrcode?text=a").1, "new");
}

/// Receives the mirrored requests, and answers them at once or never.
struct Shadow {
    received: Arc<Mutex<Vec<String>>>,
}

impl Shadow {
    fn start(place: &Place, answers: bool) -> Self {
        let shadow = Shadow { received: Arc::default() };
        let received = Arc::clone(&shadow.received);
        serve_on(TcpListener::bind(place.at.shadow).unwrap(), move |asked| {
            received.lock().unwrap().push(asked.head.lines().next().unwrap().to_owned());
            asked.answer(if answers { "HTTP/1.1 204 No Content\r\n\r\n" } else { "" })
        });
        shadow
    }

    fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

#[test]
fn a_share_of_all_requests_is_mirrored_unchanged() {
    let place = Place::new();
    let shadow = Shadow::start(&place, true);
    place.succeeds(&["split", "50", "--mirror", "100"]);
    let odd = ["/qrcode?text=a%20b+c/d?e=f&g", "/qrcode?text=%E2%82%AC&text=2", "/qrcode"];
    for (before, path) in odd.into_iter().enumerate() {
        place.get(path);
        // Each request has a connection of its own, so the next one could arrive first.
        assert!(eventually(|| shadow.received().len() == before + 1), "{path}");
    }
    for path in ["/", "/%71rcode?text=a", "/.mirror/qrcode", "/qrcode/"] {
        place.get(path);
    }
    // A request that falls back is mirrored once, not twice.
    place.succeeds(&["split", "100"]);
    place.get("/qrcode?text=a&status=503");
    let expected: Vec<String> = odd
        .iter()
        .chain(&["/qrcode?text=a&status=503"])
        .map(|path| format!("GET {path} HTTP/1.1"))
        .collect();
    assert!(eventually(|| shadow.received() == expected), "{:?}", shadow.received());

    place.succeeds(&["split", "50", "--mirror", "10"]);
    let keys: Vec<String> = (0..4000).map(|i| i.to_string()).collect();
    let new = place.served_by_new(&keys);
    thread::sleep(Duration::from_millis(200));
    let mirrored = &shadow.received()[expected.len()..];
    // Five standard deviations are 95.
    assert!((300..=500).contains(&mirrored.len()), "{} of 4000", mirrored.len());
    let of_new = mirrored.iter().filter(|line| {
        let key = line.split(['=', ' ']).nth(2).and_then(|key| key.parse::<usize>().ok());
        key.is_some_and(|key| new[key])
    });
    let of_new = of_new.count();
    assert!(of_new > 100 && of_new < mirrored.len() - 100, "both arms are mirrored: {of_new}");

    let before = shadow.received().len();
    place.succeeds(&["split", "--mirror", "0"]);
    place.served_by_new(&keys);
    assert_eq!(shadow.received().len(), before);
}

#[test]
fn a_shadow_that_hangs_or_is_down_delays_nobody() {
    let place = Place::new();
    let keys: Vec<String> = (0..5000).map(|i| i.to_string()).collect();
    let timed = |mirror| {
        place.succeeds(&["split", "100", "--mirror", mirror]);
        let since = Instant::now();
        assert!(place.served_by_new(&keys).iter().all(|&new| new));
        since.elapsed()
    };
    let without = timed("0");
    let down = timed("100");
    let shadow = Shadow::start(&place, false);
    let hangs = timed("100");
    let received = shadow.received().len();
    println!(
        "5000 requests: {without:?} unmirrored, {down:?} if it is down, {hangs:?} if it hangs"
    );
    assert!(received > 4500, "{received} of 5000 reached the shadow");
    // If each request waited for 100 ms, this would take minutes.
    let slowest = without * 4 + Duration::from_secs(30);
    assert!(down < slowest && hangs < slowest, "{without:?}, {down:?}, {hangs:?}");
}

#[test]
fn the_next_request_on_a_connection_waits_no_longer_for_a_shadow_that_hangs() {
    let place = Place::new();
    let _shadow = Shadow::start(&place, false);
    let median = |mirror| {
        place.succeeds(&["split", "100", "--mirror", mirror]);
        let client = ureq::agent(); // keeps its connection
        let ask = |_| {
            let since = Instant::now();
            let answer = client.get(format!("http://{}/qrcode?text=a", place.at.proxy)).call();
            assert_eq!(answer.unwrap().body_mut().read_to_string().unwrap(), "new");
            since.elapsed()
        };
        let mut times: Vec<Duration> = (0..7).map(ask).collect();
        times.sort();
        times[3]
    };
    let (without, hangs) = (median("0"), median("100"));
    // Each waited for 100 ms before.
    assert!(hangs < without * 20 + Duration::from_millis(50), "{without:?}, {hangs:?}");
}
