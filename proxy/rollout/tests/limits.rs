//! What nginx repeats, refuses and trusts: kept connections, limits, clients' addresses and marks.

use std::fs;
use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rollout::Route;
use service_kit::testing::{CLOSE, header, read_answer, serve, timed};

use crate::support::{Place, eventually, routes};

/// How the server treats a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// It answers the first request of a connection and closes it at the second one, like a server that closes an idle
    /// connection while a request is on its way.
    FirstOfConnection,
    /// It closes at every request.
    Never,
    /// It answers each request after this time.
    Late(Duration),
    /// It answers.
    Always,
}

/// A server that records the head of every request.
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answers: Answers) -> Self {
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&heads);
        let address = serve(move |asked| {
            asked.body()?;
            let cached = match asked.header("x-cached") {
                "" => String::new(),
                cached => format!("Cache-Control: {cached}\r\n"),
            };
            seen.lock().unwrap().push(asked.head.clone());
            match answers {
                Answers::FirstOfConnection if asked.number > 0 => return Err(CLOSE.into()),
                Answers::Never => return Err(CLOSE.into()),
                Answers::Late(time) => thread::sleep(time),
                Answers::FirstOfConnection | Answers::Always => {}
            }
            asked.answer(format!("HTTP/1.1 200 OK\r\n{cached}Content-Length: 6\r\n\r\nserver"))
        });
        Server { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The methods of all requests so far, which it then forgets.
    fn take_methods(&self) -> Vec<String> {
        let heads = std::mem::take(&mut *self.heads.lock().unwrap());
        heads.iter().map(|head| head.split(' ').next().unwrap().to_owned()).collect()
    }
}

/// A place with a second route, /other, whose new side is this server.
fn place_with(server: &Server, settings: &str) -> Place {
    let url = format!("http://{}", server.address);
    let text = format!("path = \"/other\"\n{settings}\n[new]\nurl = \"{url}\"\n");
    let other = Route::parse("other-side", &text).unwrap();
    let place = Place::with(&[routes().remove(0), other]);
    place.succeeds(&["split", "other-side", "100"]);
    place
}

/// Changes a file of nginx and restarts nginx.
fn with_change(place: &mut Place, file: &str, from: &str, to: &str) {
    let file = place.file(file);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{} has no {from}", file.display());
    fs::write(&file, text.replace(from, to)).unwrap();
    place.stop_nginx();
    place.start_nginx();
}

/// A client's connection from this address.
fn connect(place: &Place, from: Ipv4Addr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((from, 0))).unwrap();
    connect(&socket, &place.at.proxy).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends a request and returns its answer: status, head and body.
fn ask(stream: &mut TcpStream, line: &str, headers: &str, body: &str) -> (u16, String, String) {
    let length = body.len();
    let request =
        format!("{line} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let (status, head, body) = read_answer(&mut BufReader::new(&*stream), false);
    (status, head, String::from_utf8(body).unwrap())
}

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

#[test]
fn what_fails_on_a_stale_kept_connection_is_repeated_once_but_no_post() {
    let server = Server::start(Answers::FirstOfConnection);
    let place = place_with(&server, "methods = [\"GET\", \"POST\"]\nfallback = \"none\"");
    // With one connection, one worker of nginx serves all requests and has all kept connections.
    let mut client = connect(&place, HERE);
    let mut ask = |method: &str| ask(&mut client, &format!("{method} /other"), "", "body").0;
    assert_eq!(ask("GET"), 200);
    assert_eq!(server.take_methods(), ["GET"]);
    assert_eq!(ask("GET"), 200, "over a connection that closes, then over a fresh one");
    assert_eq!(server.take_methods(), ["GET", "GET"]);
    assert_eq!(ask("POST"), 502, "it may have changed something");
    assert_eq!(server.take_methods(), ["POST"]);
    assert_eq!(ask("POST"), 200, "over a fresh one");
}

#[test]
fn what_fails_on_a_fresh_connection_is_not_repeated() {
    let server = Server::start(Answers::Never);
    let place = place_with(&server, "fallback = \"none\"");
    assert_eq!(place.get("/other").0, 502);
    assert_eq!(server.take_methods(), ["GET"]);
}

#[test]
fn stale_connections_of_the_app_are_no_failures_of_pages() {
    let server = Server::start(Answers::FirstOfConnection);
    let mut place = Place::new();
    let old = place.at.old.to_string();
    with_change(&mut place, "upstreams.conf", &old, &server.address.to_string());
    let mut client = connect(&place, HERE);
    for number in 0..6 {
        let (status, ..) = ask(&mut client, "GET /page", "", "");
        assert_eq!(status, 200, "request {number}");
    }
    assert!(server.take_methods().len() > 6, "some were repeated");
}

/// Occupies the connections of an address until the returned value is dropped.
fn occupy(
    place: &Place,
    server: &Server,
    from: Ipv4Addr,
    headers: &str,
    count: usize,
) -> Vec<TcpStream> {
    let before = server.heads().len();
    let open: Vec<TcpStream> = (0..count)
        .map(|_| {
            let mut stream = connect(place, from);
            let request = format!("GET /other HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert!(eventually(|| server.heads().len() == before + count), "they hang");
    open
}

#[test]
fn a_stopped_route_waits_for_an_old_side_that_is_slow() {
    let server = Server::start(Answers::Late(Duration::from_millis(400)));
    let old = format!("[old]\nurl = \"http://{}\"\ntimeout = \"100ms\"\n", server.address);
    let other = Route::parse("other-side", &format!("path = \"/other\"\n{old}")).unwrap();
    let place = Place::with(&[routes().remove(0), other]);
    place.succeeds(&["split", "other-side", "1"]);
    // The new side answers, and after three failures nginx asks the old side no more.
    let ask = |_: u32| place.get("/other?to=old");
    let rescued = (200, "new".to_owned());
    let by_old = (200, "server".to_owned());
    assert!((0..9).map(ask).filter(|answer| *answer == rescued).count() > 7);
    let asked = server.heads().len();
    assert!(asked < 9, "{asked}");

    place.succeeds(&["rollback", "other-side"]);
    assert_eq!((0..9).map(ask).collect::<Vec<_>>(), vec![by_old; 9]);
    assert_eq!(server.heads().len(), asked + 9);
}

#[test]
fn a_fallback_waits_for_an_old_side_that_is_slow() {
    let server = Server::start(Answers::Late(Duration::from_millis(400)));
    let gone = service_kit::free_address().unwrap();
    let sides = format!(
        "[old]\nurl = \"http://{}\"\ntimeout = \"100ms\"\n[new]\nurl = \"http://{gone}\"\n",
        server.address
    );
    let other = Route::parse("other-side", &format!("path = \"/other\"\n{sides}")).unwrap();
    let place = Place::with(&[routes().remove(0), other]);
    place.succeeds(&["split", "other-side", "100"]);
    for _ in 0..5 {
        assert_eq!(place.get("/other?to=new"), (200, "server".to_owned()));
    }
}

#[test]
fn answers_are_cached_for_a_minute_at_most_while_the_route_is_ramped() {
    let server = Server::start(Answers::Always);
    let place = place_with(&server, "");
    let cached = |value: &str| {
        let headers = format!("X-Route-Arm: new\r\nX-Cached: {value}\r\n");
        let (status, head, _) = ask(&mut connect(&place, HERE), "GET /other", &headers, "");
        assert_eq!(status, 200);
        header(&head, "cache-control").to_owned()
    };
    let cases = [
        ("public, max-age=86400", "max-age=60"),
        ("Max-Age=0061", "max-age=60"),
        ("max-age=5, stale-while-revalidate=600", "max-age=60"),
        ("private, max-age=600", "no-cache"),
        ("max-age=600, private", "no-cache"),
        ("max-age=59", "max-age=59"),
        ("no-store", "no-store"),
        ("no-cache, private", "no-cache, private"),
        ("", ""),
    ];
    for share in ["0", "100"] {
        place.succeeds(&["split", "other-side", share]);
        for (own, _) in cases {
            assert_eq!(cached(own), own, "at {share}%");
        }
    }
    place.succeeds(&["split", "other-side", "40"]);
    for (own, ramped) in cases {
        assert_eq!(cached(own), ramped, "{own}");
    }
}

#[test]
fn the_limit_by_address_answers_429_and_never_falls_back() {
    let server = Server::start(Answers::Late(Duration::from_secs(60)));
    let mut place = place_with(&server, "");
    let limit = |count| format!("limit_conn by_address {count};");
    with_change(&mut place, "front.conf", &limit(2048), &limit(2));
    let _open = occupy(&place, &server, HERE, "", 2);
    // Paths of the new side, of the old side and of a page.
    place.succeeds(&["split", "qrcode", "50"]);
    let paths = ["/other", "/qrcode?text=1", "/qrcode?text=2", "/qrcode?text=3", "/", "/api/links"];
    for path in paths {
        let ((status, head, body), took) =
            timed(|| ask(&mut connect(&place, HERE), &format!("GET {path}"), "", ""));
        let refused = (429, "too many requests at once, try again");
        assert_eq!((status, body.as_str()), refused, "{path}");
        let headers = ["retry-after", "content-type", "cache-control"].map(|it| header(&head, it));
        assert_eq!(headers, ["1", "text/plain; charset=utf-8", "no-store"], "{path}");
        assert!(took < Duration::from_secs(1), "{path}: {took:?}");
    }
    // Another address has its own limit.
    let other = Ipv4Addr::new(127, 0, 0, 9);
    assert_eq!(ask(&mut connect(&place, other), "GET /", "", "").0, 200);
    let edge = || fs::read_to_string(place.file("edge/access.log")).unwrap();
    assert!(eventually(|| edge().matches("\t429\t").count() == paths.len()), "{}", edge());
    let edge = edge();
    let mut refused = edge.lines().filter(|line| line.contains("\t429\t"));
    assert!(refused.all(|line| line.split('\t').nth(3) == Some("none")));
}

/// A place that also has the paths of QuickChart and Google.
fn place_with_other_services() -> Place {
    let mut place = Place::new();
    for service in ["google", "quickchart"] {
        let file = format!("{}/../compat/{service}.conf", env!("CARGO_MANIFEST_DIR"));
        let beside = place.file("nginx.conf").with_file_name(format!("compat-{service}.conf"));
        fs::copy(file, beside).unwrap();
    }
    place.stop_nginx();
    place.start_nginx();
    place
}

/// Paths of the API and of other services, which a client may ask for many times at once.
const PICTURES: [&str; 12] = [
    "/v1/qr?text=a",
    "/v1/qr?text=a&dark=036",
    "/v1/qr.pdf?text=a",
    "/v1/qr.svg?text=a&size=200",
    "/v1/qr?text=a&compression=smallest",
    "/v1/create-qr-code/?data=a&color=f00",
    "/qr?text=a&dotStyle=dot",
    "/qr-read?text=a",
    "/chart?cht=qr&chs=300x300&chl=a",
    "/v1/",
    "/v1/docs",
    "/v1/assets/swagger-ui/bundle.js",
];

#[test]
fn pictures_are_limited_by_address_and_never_fall_back() {
    let mut place = place_with_other_services();
    // A low limit, so that even a slow machine exceeds it.
    let zone = |rate| format!("zone=pictures:1m rate={rate}r/s");
    with_change(&mut place, "app-http.conf", &zone(200), &zone(1));
    for file in ["app-locations.conf", "compat-google.conf", "compat-quickchart.conf"] {
        with_change(&mut place, file, "burst=400", "burst=4");
    }
    for (number, path) in (1..).zip(PICTURES) {
        // Each path is asked for from an address of its own.
        let from = Ipv4Addr::new(127, 0, 1, number);
        let asked = |_| ask(&mut connect(&place, from), &format!("GET {path}"), "", "");
        let answers: Vec<(u16, String, String)> = (0..30).map(asked).collect();
        assert!(answers[..5].iter().all(|(status, ..)| *status == 200), "{path}: {answers:?}");
        let refused = answers.iter().find(|(status, ..)| *status == 429);
        let (_, head, body) = refused.unwrap_or_else(|| panic!("{path}: {answers:?}"));
        assert_eq!(header(head, "retry-after"), "1");
        if path.starts_with("/v1/") {
            assert_eq!(header(head, "content-type"), "application/problem+json");
            assert_eq!(header(head, "access-control-allow-origin"), "*");
            let problem: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(problem["status"], 429);
        }
    }
    let mut other = connect(&place, Ipv4Addr::new(127, 0, 0, 9));
    assert_eq!(ask(&mut other, &format!("GET {}", PICTURES[0]), "", "").0, 200);
}

#[test]
fn what_nginx_refuses_below_v1_is_a_problem_document() {
    let place = place_with_other_services();
    let large = "x".repeat((11 << 20) + 1);
    // 980 Chinese characters.
    let long = format!("GET /v1/qr?text={}", "%E6%BC%A2".repeat(980));
    for (line, body, status) in [("POST /v1/decode", &*large, 413), (&*long, "", 414)] {
        let (found, head, body) = ask(&mut connect(&place, HERE), line, "", body);
        assert_eq!((found, header(&head, "content-type")), (status, "application/problem+json"));
        assert_ne!(header(&head, "x-request-id"), "");
        let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().is_some_and(|it| it.len() > 20), "{problem}");
    }
}

#[test]
fn a_page_of_a_hundred_pictures_is_no_storm() {
    let place = place_with_other_services();
    for (number, path) in (1..).zip(PICTURES) {
        let from = Ipv4Addr::new(127, 0, 2, number);
        for _ in 0..100 {
            let (status, ..) = ask(&mut connect(&place, from), &format!("GET {path}"), "", "");
            assert_eq!(status, 200, "{path}");
        }
    }
}

#[test]
fn behind_a_load_balancer_that_is_named_the_clients_address_counts() {
    let server = Server::start(Answers::Late(Duration::from_secs(60)));
    let mut place = place_with(&server, "");
    let limit = |count| format!("limit_conn by_address {count};");
    with_change(&mut place, "front.conf", &limit(2048), &limit(2));
    let trusted = "set_real_ip_from 127.0.0.1;\nset_real_ip_from 198.51.100.0/24;\ngeo $may_choose";
    with_change(&mut place, "clients.conf", "geo $may_choose", trusted);
    // The client's own value comes first, and a second load balancer comes last.
    let client = "X-Forwarded-For: 10.0.0.1, 192.0.2.7, 198.51.100.1\r\n";
    let _open = occupy(&place, &server, HERE, client, 2);
    for head in server.heads() {
        assert_eq!(header(&head, "x-forwarded-for"), "192.0.2.7");
        assert_eq!(header(&head, "x-real-ip"), "192.0.2.7");
    }
    let status = |headers| ask(&mut connect(&place, HERE), "GET /", headers, "").0;
    assert_eq!(status(client), 429);
    assert_eq!(status("X-Forwarded-For: 10.0.0.1, 192.0.2.8\r\n"), 200);
    // From elsewhere, the header is not trusted.
    let elsewhere = Ipv4Addr::new(127, 0, 0, 9);
    let _open = occupy(&place, &server, elsewhere, client, 2);
    assert_eq!(header(server.heads().last().unwrap(), "x-forwarded-for"), "127.0.0.9");
}

#[test]
fn without_a_named_load_balancer_a_client_cannot_give_itself_an_address() {
    let server = Server::start(Answers::Always);
    let place = place_with(&server, "");
    let forged =
        "X-Forwarded-For: 192.0.2.7\r\nX-Real-IP: 192.0.2.7\r\nForwarded: for=192.0.2.7\r\n";
    assert_eq!(ask(&mut connect(&place, HERE), "GET /other", forged, "").0, 200);
    let head = server.heads().remove(0);
    assert!(!head.contains("192.0.2.7"), "{head}");
    assert_eq!(header(&head, "x-forwarded-for"), "127.0.0.1");
}

#[test]
fn only_addresses_that_are_named_choose_a_side_and_nobody_sends_the_marks() {
    let server = Server::start(Answers::Always);
    let mut place = place_with(&server, "");
    let trusted = "set_real_ip_from 127.0.0.1;\ngeo $may_choose";
    with_change(&mut place, "clients.conf", "geo $may_choose", trusted);
    with_change(&mut place, "clients.conf", "    ::1/128 1;", "    10.0.0.0/8 1;");
    let body = |arm: &str, client: &str| {
        let headers = format!(
            "X-Route-Arm: {arm}\r\nX-Route-Fallback: 1\r\nX-Route-Name: qrcode\r\n\
             X-Route-Shadow: 1\r\n{client}"
        );
        ask(&mut connect(&place, HERE), "GET /other", &headers, "").2
    };
    assert_eq!(body("old", ""), "old");
    assert_eq!(body("old", "X-Forwarded-For: 10.1.2.3\r\n"), "old", "a private network");
    assert_eq!(server.heads().len(), 0);
    // All other clients get the side of the split, here the new side.
    for client in ["192.0.2.7", "10.1.2.3, 192.0.2.7", "172.15.0.1", "2001:db8::1"] {
        let forwarded = format!("X-Forwarded-For: {client}\r\n");
        assert_eq!(body("old", &forwarded), "server", "{client}");
        let head = server.heads().pop().unwrap();
        for mark in ["x-route-arm", "x-route-fallback", "x-route-name", "x-route-shadow"] {
            assert_eq!(header(&head, mark), "", "{client}: {head}");
        }
    }
}
