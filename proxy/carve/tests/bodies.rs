//! Requests with a body: nginx, both sides, the shadow and the fallback get the same bytes.

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use carve::local::{Share, Sides, Stack};
use service_kit::testing::{CLOSE, connect, header, serve};

use crate::support::{get, holds_within, start};

/// `client_body_buffer_size` of nginx.conf; nginx writes a longer body to a file.
const BUFFER_BYTES: usize = 16 << 10;
/// `max_body` of the routes here.
const MAX_BODY_BYTES: usize = 64 << 10;
const TYPE: &str = "application/x-test; part=1";

/// How a side treats a request.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Answers,
    /// Answers 503.
    Refuses,
    /// Closes the connection when it has read half the body.
    DropsInTheMiddle,
}

/// A request as a side received it.
#[derive(Clone)]
struct Got {
    head: String,
    body: Vec<u8>,
}

impl Got {
    fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    fn header(&self, name: &str) -> &str {
        header(&self.head, name)
    }

    fn is_shadows(&self) -> bool {
        !self.header("x-route-shadow").is_empty()
    }
}

/// A side that records what it receives. Both sides answer the same except for their name.
#[derive(Clone)]
struct Side {
    addr: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    mood: Arc<Mutex<Mood>>,
}

impl Side {
    fn start(name: &'static str) -> Self {
        let (got, mood) = (Arc::<Mutex<Vec<Got>>>::default(), Arc::new(Mutex::new(Mood::Answers)));
        let (all, of_side) = (Arc::clone(&got), Arc::clone(&mood));
        let addr = serve(move |asked| {
            let mood = *of_side.lock().unwrap();
            if mood == Mood::DropsInTheMiddle {
                let length: usize = asked.header("content-length").parse().unwrap_or(0);
                asked.stream.read_exact(&mut vec![0; length / 2])?;
                return Err(CLOSE.into());
            }
            let body = asked.body()?;
            let answer = format!("{} bytes", body.len());
            all.lock().unwrap().push(Got { head: asked.head.clone(), body });
            let status = if mood == Mood::Refuses { 503 } else { 200 };
            asked.answer(format!(
                "HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
                 X-Served-By: {name}\r\n\r\n{answer}",
                answer.len()
            ))
        });
        Side { addr, got, mood }
    }

    /// All requests with this id that the side received, from clients or from the shadow.
    fn got(&self, id: &str, by_shadow: bool) -> Vec<Got> {
        let got = self.got.lock().unwrap();
        let wanted = |got: &&Got| got.header("x-request-id") == id && got.is_shadows() == by_shadow;
        got.iter().filter(wanted).cloned().collect()
    }
}

/// How a client sends a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sent {
    /// With a content length.
    Whole,
    /// In chunks of a thousand bytes.
    Chunked,
    /// With neither, so there is no body.
    Without,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn served_by(&self) -> &str {
        header(&self.head, "x-served-by")
    }
}

/// A body of bytes that are not text.
fn body_of(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Sends a request with this id and body to nginx, byte for byte.
fn send(stack: &Stack, what: &str, arm: &str, id: &str, body: &[u8], sent: Sent) -> Answer {
    let mut request = format!(
        "{what} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {TYPE}\r\n\
         X-Request-Id: {id}\r\nX-Route-Arm: {arm}\r\nCookie: private=1\r\n"
    )
    .into_bytes();
    match sent {
        Sent::Whole => {
            write!(request, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
            request.extend_from_slice(body);
        }
        Sent::Chunked => {
            request.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(1000) {
                write!(request, "{:x}\r\n", chunk.len()).unwrap();
                request.extend_from_slice(chunk);
                request.extend_from_slice(b"\r\n");
            }
            request.extend_from_slice(b"0\r\n\r\n");
        }
        Sent::Without => request.extend_from_slice(b"\r\n"),
    }
    let mut stream = connect(stack.settings().addresses.proxy);
    // nginx may refuse a body that is too long before reading all of it.
    let _ = stream.write_all(&request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{id}: {answer}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Every kind of body, each with a name.
fn bodies() -> Vec<(&'static str, Vec<u8>, Sent)> {
    let in_a_file = BUFFER_BYTES * 5 / 2;
    vec![
        ("small", body_of(20), Sent::Whole),
        ("in-a-file", body_of(in_a_file), Sent::Whole),
        ("longest", body_of(MAX_BODY_BYTES), Sent::Whole),
        ("chunked", body_of(2500), Sent::Chunked),
        ("chunked-in-a-file", body_of(in_a_file), Sent::Chunked),
        ("chunked-longest", body_of(MAX_BODY_BYTES), Sent::Chunked),
        ("empty", Vec::new(), Sent::Whole),
        ("empty-chunked", Vec::new(), Sent::Chunked),
        ("none", Vec::new(), Sent::Without),
    ]
}

/// A stack around two recording sides, with everything mirrored.
struct Place {
    stack: Stack,
    new: Side,
    old: Side,
    _routes: tempfile::TempDir,
}

impl Place {
    fn start() -> Self {
        let (new, old) = (Side::start("new"), Side::start("old"));
        let gone = service_kit::free_address().unwrap();
        let routes = tempfile::tempdir().unwrap();
        let write = |name: &str, more: &str| {
            let text = format!("path = \"/{name}\"\nmax_body = \"64k\"\n{more}");
            fs::write(routes.path().join(format!("{name}.toml")), text).unwrap();
        };
        let post = "methods = [\"POST\"]\n";
        let both = format!("{post}fallback = \"both\"\n");
        write("once", &format!("{post}shadow.methods = [\"POST\"]\n"));
        write("again", &both);
        write("new-gone", &format!("{both}new.url = \"http://{gone}\"\n"));
        write("old-gone", &format!("{both}old.url = \"http://{gone}\"\n"));
        write("read", "");
        write("bare", "body = \"none\"");
        let front = "[front]\nchoose.from = [\"127.0.0.0/8\"]\n";
        fs::write(routes.path().join("carve.toml"), front).unwrap();
        let url = |side: &Side| format!("http://{}", side.addr).parse().unwrap();
        let stack = start(|it| {
            it.routes = routes.path().to_owned();
            it.sides = Some(Sides { old: url(&old), new: url(&new) });
            it.wanted.mirror = Some(Share::ALL);
        });
        Place { stack, new, old, _routes: routes }
    }

    fn side(&self, name: &str) -> &Side {
        if name == "new" { &self.new } else { &self.old }
    }

    fn conf(&self, name: &str) -> std::path::PathBuf {
        self.stack.settings().nginx_dir().join(name)
    }
}

fn assert_is_whole(got: &Got, line: &str, body: &[u8]) {
    let length = got.body.len();
    assert!(got.body == body, "{line}: {length} of {} bytes", body.len());
    assert_eq!(got.line(), format!("{line} HTTP/1.1"));
    assert_eq!(got.header("content-type"), TYPE, "{line}");
    assert_eq!(got.header("transfer-encoding"), "", "{line}");
}

/// Sends requests until the shadow has sent one to both sides: nginx gives a copy up after 100 ms, and a busy machine may
/// take as long. `ask` sends a request with an id. Returns the id of the one that was copied.
fn send_with_copy(place: &Place, name: &str, ask: impl Fn(&str)) -> String {
    let is_copied =
        |id: &str| [&place.new, &place.old].iter().all(|side| !side.got(id, true).is_empty());
    let mut ids = (0..5).map(|attempt| format!("{name}-{attempt}"));
    let copied = ids.find(|id| {
        ask(id);
        holds_within(Duration::from_secs(5), || is_copied(id))
    });
    copied.unwrap_or_else(|| panic!("{name}: the shadow got no copy"))
}

#[test]
fn a_body_reaches_the_side_and_the_shadow_as_it_was_sent() {
    let place = Place::start();
    let stack = &place.stack;
    let conf = fs::read_to_string(place.conf("nginx.conf")).unwrap();
    assert!(conf.contains("client_body_buffer_size 16k;"), "BUFFER_BYTES here");
    let mut sent = Vec::new();
    for arm in ["new", "old"] {
        for (name, body, how) in bodies() {
            let what = |id: &str| format!("POST /once?id={id}");
            let id = send_with_copy(&place, &format!("{arm}-{name}"), |id| {
                let answer = send(stack, &what(id), arm, id, &body, how);
                let served = (answer.status, answer.served_by());
                assert_eq!(served, (200, arm), "{id}: {}", answer.body);
                let got = place.side(arm).got(id, false);
                assert_eq!(got.len(), 1, "{id}");
                assert_is_whole(&got[0], &what(id), &body);
            });
            sent.push((what(&id), id, body));
        }
    }
    // The shadow sends each request to both sides once more, and they agree.
    let metrics = format!("http://{}/metrics", stack.settings().addresses.shadow_admin);
    let compared = |result: &str| -> usize {
        let name = format!("shadow_comparisons_total{{route=\"once\",result=\"{result}\"}} ");
        let metrics = get(&metrics, &[]).text();
        metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or("0").parse().unwrap()
    };
    assert!(holds_within(Duration::from_secs(30), || compared("match") >= sent.len()));
    assert_eq!(compared("mismatch"), 0);
    for (what, id, body) in &sent {
        for side in [&place.new, &place.old] {
            let got = side.got(id, true);
            assert_eq!(got.len(), 1, "{id} by the shadow");
            assert_is_whole(&got[0], what, body);
            assert_eq!(got[0].header("cookie"), "", "no other header of the client");
        }
    }
    a_body_that_is_too_long_reaches_nobody(&place);
    other_methods_and_routes_without_bodies(&place);
    assert_eq!(files_below(&place.conf("client_body_temp")), 0, "nginx keeps no body");
}

fn a_body_that_is_too_long_reaches_nobody(place: &Place) {
    let too_long = body_of(MAX_BODY_BYTES + 1);
    for arm in ["new", "old"] {
        for (name, how) in [("whole", Sent::Whole), ("chunked", Sent::Chunked)] {
            for route in ["once", "again"] {
                let id = format!("too-long-{route}-{name}-{arm}");
                let what = format!("POST /{route}");
                let answer = send(&place.stack, &what, arm, &id, &too_long, how);
                assert_eq!(answer.status, 413, "{id}");
                assert!(answer.body.contains("413 Request Entity Too Large"), "{}", answer.body);
                assert!(answer.head.contains(&format!("X-Request-Id: {id}")), "{}", answer.head);
                for side in [&place.new, &place.old] {
                    assert!(side.got(&id, false).is_empty(), "{id}");
                    assert!(side.got(&id, true).is_empty(), "{id}");
                }
            }
        }
    }
}

fn other_methods_and_routes_without_bodies(place: &Place) {
    let body = body_of(2500);
    for how in [Sent::Whole, Sent::Chunked] {
        // The old side answers methods that are not carved out.
        let id = format!("put-{how:?}");
        let answer = send(&place.stack, "PUT /once", "new", &id, &body, how);
        assert_eq!((answer.status, answer.served_by()), (200, "old"));
        assert_is_whole(&place.old.got(&id, false)[0], "PUT /once", &body);
        // As does the app where a route that only reads gets a body.
        let id = format!("read-{how:?}");
        let answer = send(&place.stack, "GET /read", "new", &id, &body, how);
        assert_eq!((answer.status, answer.served_by()), (200, "old"));
        assert_is_whole(&place.old.got(&id, false)[0], "GET /read", &body);
        // It is dropped, for the shadow too, if the route file says so.
        let bare = |side: &Side, id: &str, by_shadow| {
            let got = side.got(id, by_shadow);
            got.first().map(|got| (got.line().to_owned(), got.body.len()))
        };
        let expected = Some(("GET /bare HTTP/1.1".to_owned(), 0));
        let id = send_with_copy(place, &format!("bare-{how:?}"), |id| {
            let answer = send(&place.stack, "GET /bare", "new", id, &body, how);
            assert_eq!((answer.status, answer.served_by()), (200, "new"));
            assert_eq!(bare(&place.new, id, false), expected);
        });
        for side in [&place.new, &place.old] {
            assert_eq!(bare(side, &id, true), expected, "{id} by the shadow");
        }
    }
}

fn files_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

#[test]
fn the_other_side_gets_the_same_body_only_if_the_file_allows_a_fallback() {
    let place = Place::start();
    let stack = &place.stack;
    for (way, mood) in [("refuses", Mood::Refuses), ("drops", Mood::DropsInTheMiddle)] {
        *place.new.mood.lock().unwrap() = mood;
        for (name, body, how) in bodies() {
            let id = format!("{way}-{name}");
            let answer = send(stack, "POST /again?a=b", "new", &id, &body, how);
            assert_eq!((answer.status, answer.served_by()), (200, "old"), "{id}");
            let got = place.old.got(&id, false);
            assert_eq!(got.len(), 1, "{id}");
            assert_is_whole(&got[0], "POST /again?a=b", &body);
            assert_eq!(got[0].header("x-route-fallback"), "1", "{id}");

            // Without a fallback, no side gets the request a second time.
            let id = format!("{way}-{name}-once");
            let answer = send(stack, "POST /once", "new", &id, &body, how);
            assert!(matches!(answer.status, 502 | 503), "{id}: {}", answer.status);
            assert!(place.old.got(&id, false).is_empty(), "{id}");
        }
    }
    *place.new.mood.lock().unwrap() = Mood::Answers;
    for (route, arm, other) in [("new-gone", "new", "old"), ("old-gone", "old", "new")] {
        for (name, body, how) in bodies() {
            let id = format!("{route}-{name}");
            let what = format!("POST /{route}");
            let answer = send(stack, &what, arm, &id, &body, how);
            assert_eq!((answer.status, answer.served_by()), (200, other), "{id}");
            let got = place.side(other).got(&id, false);
            assert_eq!(got.len(), 1, "{id}");
            assert_is_whole(&got[0], &what, &body);
        }
    }
    let shadows =
        |side: &Side| side.got.lock().unwrap().iter().filter(|got| got.is_shadows()).count();
    let of_once = |side: &Side| {
        let got = side.got.lock().unwrap();
        got.iter().filter(|got| got.is_shadows() && got.line().starts_with("POST /once ")).count()
    };
    for side in [&place.new, &place.old] {
        assert_eq!(shadows(side), of_once(side), "only this route's file allows a second request");
    }
}
