//! Everything of an app that no route covers works with the front as without it, before real servers in Node and
//! Python, with a route at 0 %.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;

use route::{CarveFile, Route};

use crate::support::{
    Front, Process, Setup, WebSocket, app, ask, connect, eventually, header, read,
};

/// A front before each app, with this `carve.toml` and a route that only reads.
fn fronts(carve: &str) -> Vec<(Process, Front, SocketAddr)> {
    fronts_of(carve, "path = \"/report/*\"")
}

fn fronts_of(carve: &str, route: &str) -> Vec<(Process, Front, SocketAddr)> {
    let start = |file: &&str| {
        let address = service_kit::free_address().unwrap();
        let process = app(file, address);
        let carve = CarveFile::parse(carve).unwrap();
        (process, Front::start(Setup::of(carve, route, [address; 2])), address)
    };
    ["app.mjs", "app.py"].iter().map(start).collect()
}

#[test]
fn a_websocket_lasts_over_a_reload_that_nothing_delays() {
    for (_app, front, _) in fronts("") {
        let mut socket = WebSocket::open(front.addr, "/ws").unwrap();
        // The path of a route is no exception: the upgrade is not a request of the route.
        let mut below = WebSocket::open(front.addr, "/report/ws").unwrap();
        assert_eq!(socket.echo("before"), "before");
        front.share(100);
        assert_eq!(socket.echo("after"), "after");
        // Longer than the limit of 10 s that old workers used to have.
        thread::sleep(Duration::from_secs(11));
        assert_eq!((socket.echo("long after"), below.echo("a")), ("long after".into(), "a".into()));
    }
}

#[test]
fn an_upgrade_to_http_2_is_not_passed_on_since_it_would_pass_by_the_routes() {
    for (_app, front, _) in fronts("") {
        let upgrade = "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
        let answer = front.ask("GET /", upgrade);
        assert_eq!((answer.status, header(&answer.body, "upgrade")), (200, ""));
    }
}

/// Bytes that no buffer of nginx contains by chance.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn bodies_of_any_size_stream_to_the_app_also_at_the_path_of_a_route() {
    let sum = |body: &[u8]| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), body).unwrap();
        let output = Command::new("sha256sum").arg(file.path()).output().unwrap();
        let digest = String::from_utf8(output.stdout).unwrap();
        format!("{} {}", body.len(), digest.split(' ').next().unwrap())
    };
    let (small, large) = (bytes(100_000), bytes(20 << 20));
    let (small_sum, large_sum) = (sum(&small), sum(&large));
    for (_app, front, app) in fronts("") {
        // A route that only reads leaves other methods to the app.
        for path in ["/upload", "/report/upload"] {
            let answer = ask(front.addr, &format!("POST {path}"), "", &small);
            assert_eq!((answer.status, &answer.body), (200, &small_sum), "{path}");
            let answer = ask(front.addr, &format!("PUT {path}"), "", &large);
            assert_eq!((answer.status, &answer.body), (200, &large_sum), "{path}");
        }

        // Chunked; the app gets the first part before the client has sent the second part.
        let mut stream = connect(front.addr);
        let head = "POST /upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\
                    Expect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
        let chunk =
            |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        stream.write_all(&chunk(&small[..50_000])).unwrap();
        let received = || ask(app, "GET /received", "", b"").body;
        assert!(eventually(|| received() == "50000"), "{}", received());
        stream.write_all(&chunk(&small[50_000..])).unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
        let answer = read(stream);
        assert_eq!((answer.status, header(&answer.head, "connection")), (200, "close"));
        assert!(answer.body.contains(&small_sum), "{}", answer.body);
    }
}

#[test]
fn a_limit_of_the_route_counts_for_the_route_alone() {
    for (_app, front, _) in fronts_of("", "path = \"/report/*\"\nmethods = [\"POST\"]") {
        for percent in [0, 100] {
            front.share(percent);
            let status = |body: &[u8]| ask(front.addr, "POST /report/a", "", body).status;
            assert_eq!((status(&bytes(16 << 10)), status(&bytes((16 << 10) + 1))), (200, 413));
            assert_eq!(status(&bytes(100_000)), 413);
            let chunk = [b"4e20\r\n", &bytes(20_000)[..], b"\r\n0\r\n\r\n"];
            let mut stream = connect(front.addr);
            let head = "POST /report/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                        Transfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            let _ = stream.write_all(&chunk.concat());
            assert_eq!(read(stream).status, 413, "chunked, at {percent}%");
        }
    }
}

#[test]
fn events_come_at_once_and_last_over_silence_and_a_reload() {
    for (_app, front, _) in fronts("") {
        let open = |path: &str| {
            let mut stream = connect(front.addr);
            let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            BufReader::new(stream).lines().map_while(Result::ok)
        };
        // The path of a route is no exception.
        let mut streams = ["/events?17", "/report/events?17"].map(open);
        for lines in &mut streams {
            assert!(lines.any(|line| line == "data: first"));
        }
        front.reload();
        for lines in &mut streams {
            assert!(lines.any(|line| line == "data: last"), "after 17 s of silence");
        }
    }
}

#[test]
fn a_route_at_0_percent_gets_what_the_app_answers() {
    for (_app, front, app) in fronts("") {
        let long = front.ask("GET /report/long-cookie", "");
        assert_eq!((long.status, long.header("set-cookie").len()), (200, 9002));
        // The app decides what a body of a GET means.
        let asked = |addr, body: &[u8]| ask(addr, "GET /report/a", "", body);
        for body in [&b""[..], b"body", &bytes(100_000)] {
            let (through, direct) = (asked(front.addr, body), asked(app, body));
            let length = body.len().to_string();
            assert_eq!((through.status, through.header("x-body")), (200, &*length));
            assert_eq!((direct.status, direct.header("x-body")), (200, &*length));
        }
    }
}

#[test]
fn requests_that_an_app_drops_fail_alone() {
    let writes = "path = \"/report/*\"\nmethods = [\"any\"]";
    for (_app, front, _) in fronts("").into_iter().chain(fronts_of("", writes)) {
        for path in ["/drop", "/report/drop"] {
            for _ in 0..10 {
                assert_eq!(front.ask(&format!("GET {path}"), "").status, 502);
                assert_eq!(front.ask("GET /", "").status, 200);
                assert_eq!(front.ask("GET /report/a", "").status, 200);
            }
        }
    }
}

#[test]
fn headers_are_what_the_client_sent_but_for_those_that_are_nginx_own() {
    let cookie = format!("session={}", "c".repeat(9_000));
    let headers = format!(
        "api_key: secret\r\nCookie: {cookie}\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\
         X-Forwarded-Port: 1\r\nX_Forwarded_Host: evil\r\nX-Forwarded_For: evil\r\nX_Real_IP: evil\r\n\
         Forwarded: host=evil\r\nX_Route_Arm: new\r\n"
    );
    for (_app, front, _) in fronts("") {
        for path in ["/", "/report/a"] {
            let answer = front.ask(&format!("GET {path}"), &headers);
            let got = |name: &str| header(&answer.body, name);
            assert_eq!(answer.status, 200, "{}", answer.head);
            assert_eq!((got("api_key"), got("cookie")), ("secret", cookie.as_str()));
            assert_eq!((got("host"), got("x-forwarded-proto")), ("app.example", "http"));
            assert_eq!((got("x-forwarded-for"), got("x-real-ip")), ("127.0.0.1", "127.0.0.1"));
            assert!(!answer.body.contains("evil"), "{path}: {}", answer.body);
            assert!(!answer.body.to_lowercase().contains("x_route_arm"), "{}", answer.body);
        }
        assert_eq!(front.ask("GET /long-cookie", "").header("set-cookie").len(), 9_002);
        let line = format!("GET /?{}", "q".repeat(9_000));
        assert_eq!(front.ask(&line, "").status, 200);
    }
}

#[test]
fn what_carve_toml_limits_is_limited() {
    let carve = "[front]\nmax_line = \"8k\"\nunderscores = false\nclient_timeout = \"1s\"\n\
                 [app]\nmax_body = \"50k\"\ntimeout = \"1s\"\nwebsocket = false\n";
    for (_app, front, _) in fronts(carve) {
        assert_eq!(ask(front.addr, "POST /upload", "", &bytes(50 << 10)).status, 200);
        assert_eq!(ask(front.addr, "POST /upload", "", &bytes((50 << 10) + 1)).status, 413);
        assert_eq!(front.ask("GET /events?3", "").body.matches("data:").count(), 1);
        assert!(WebSocket::open(front.addr, "/ws").is_err());
        let answer = front.ask("GET /", "api_key: secret\r\n");
        assert_eq!((answer.status, header(&answer.body, "api_key")), (200, ""));
        assert_eq!(front.ask("GET /", &format!("Cookie: {}\r\n", "c".repeat(9_000))).status, 431);
    }
}

#[test]
fn what_a_trusted_proxy_says_of_a_client_reaches_the_app_and_no_clients_own_word_does() {
    let carve = "front.trusted_proxies = [\"127.0.0.1\"]";
    for (_app, front, _) in fronts(carve) {
        let got = |from: &str, path: &str| {
            let mut curl = Command::new("curl");
            curl.args(["-s", "--interface", from, "-H", "X-Forwarded-For: 10.1.1.1, 192.0.2.7"]);
            curl.args(["-H", "X-Forwarded-Proto: https", "-H", "X-Forwarded-Host: app.example"]);
            curl.args(["-H", "X-Forwarded-Port: 443", &format!("http://{}{path}", front.addr)]);
            String::from_utf8(curl.output().unwrap().stdout).unwrap()
        };
        for path in ["/", "/report/a"] {
            let text = got("127.0.0.1", path);
            let names = ["proto", "host", "port", "for"].map(|name| format!("x-forwarded-{name}"));
            let values = || names.each_ref().map(|name| header(&text, name));
            assert_eq!(values(), ["https", "app.example", "443", "192.0.2.7"], "{path}: {text}");
            let text = got("127.0.0.9", path);
            let values = || names.each_ref().map(|name| header(&text, name));
            assert_eq!(values(), ["http", "", "", "127.0.0.9"], "{path}: {text}");
        }
    }
}

#[test]
fn a_client_chooses_a_side_by_the_header_or_cookie_that_is_named_or_not_at_all() {
    let here = "front.choose.from = [\"127.0.0.1\"]";
    for (by, from, header, is_chosen) in [
        ("header:X-Route-Arm", here, "X-Route-Arm: new\r\n", true),
        // This machine is no exception: a TLS terminator here makes every client local.
        ("header:X-Route-Arm", "", "X-Route-Arm: new\r\n", false),
        ("cookie:beta", here, "Cookie: a=b; beta=new\r\n", true),
        ("cookie:beta", here, "X-Route-Arm: new\r\n", false),
        ("none", here, "X-Route-Arm: new\r\n", false),
    ] {
        let (_old, _new, front) =
            sides(&format!("front.choose.by = \"{by}\"\n{from}"), "path = \"/report\"");
        let answer = front.ask("GET /report", header);
        assert_eq!(answer.status, 200, "{by}");
        assert_eq!(who(&front), if is_chosen { "new" } else { "old" }, "{by} {header}");
    }
}

/// An old side in Node and a new side in Python, with one route at 0 %.
fn sides(carve: &str, route: &str) -> (Process, Process, Front) {
    let [old, new] = [(); 2].map(|()| service_kit::free_address().unwrap());
    let processes = (app("app.mjs", old), app("app.py", new));
    let carve = CarveFile::parse(carve).unwrap();
    (processes.0, processes.1, Front::start(Setup::of(carve, route, [old, new])))
}

/// The side of the last request in nginx' log.
fn who(front: &Front) -> String {
    let line = || {
        let log = std::fs::read_to_string(front.at("edge/access.log")).unwrap_or_default();
        log.lines().rfind(|line| line.contains("\treport\t")).map(str::to_owned)
    };
    assert!(eventually(|| line().is_some()));
    line().unwrap().split('\t').nth(3).unwrap().to_owned()
}

#[test]
fn nobody_stands_in_for_an_old_side_that_is_down_before_a_share_is_given() {
    for (fallback, at_0, at_1) in [("", 502, 200), ("fallback = \"both\"", 200, 200)] {
        let (old, _new, front) = sides("", &format!("path = \"/report\"\n{fallback}"));
        assert_eq!(front.ask("GET /report", "").status, 200);
        drop(old);
        assert_eq!(front.ask("GET /report", "").status, at_0, "{fallback}");
        assert_eq!(front.ask("GET /", "").status, 502);
        // In its first step a run may hold a share of 0 %.
        for (percent, is_held) in [(1, false), (0, true)] {
            front.split("report", percent, is_held);
            front.reload();
            let status = || front.ask("GET /report", "").status;
            assert!(eventually(|| status() == at_1), "{fallback} {percent}: {}", status());
        }
    }
}

#[test]
fn every_address_of_a_name_is_asked() {
    let address = service_kit::free_address().unwrap();
    let gone = service_kit::free_address().unwrap();
    let _app = app("app.mjs", address);
    let name: route::SideUrl = "http://app.example:80".parse().unwrap();
    let setup = Setup {
        carve: CarveFile::default(),
        routes: vec![Route::parse("report", "path = \"/report\"").unwrap()],
        old: name.clone(),
        new: name,
    };
    let addresses = [("app.example:80".to_owned(), vec![gone, address])].into();
    let front = Front::start_at(setup, addresses);
    for number in 0..50 {
        for path in ["/", "/report"] {
            assert_eq!(front.ask(&format!("GET {path}"), "").status, 200, "{path}, {number}");
        }
    }
}

#[test]
fn of_routes_that_overlap_the_more_exact_one_has_a_request_whatever_their_names() {
    let (old, new) = (service_kit::free_address().unwrap(), service_kit::free_address().unwrap());
    let _apps = (app("app.mjs", old), app("app.py", new));
    // Each gives all of its requests to the new side in turn, so that the answer names the route.
    let files =
        [("z", "/img/*"), ("thumb", "/img/*/thumb"), ("big", "/img/big/*"), ("a", "/img/a")];
    let front = Front::start(Setup {
        carve: CarveFile::default(),
        routes: files
            .map(|(name, path)| Route::parse(name, &format!("path = \"{path}\"")).unwrap())
            .into(),
        old: format!("http://{old}").parse().unwrap(),
        new: format!("http://{new}").parse().unwrap(),
    });
    for (name, _) in files {
        for (other, _) in files {
            front.split(other, if other == name { 100 } else { 0 }, false);
        }
        front.reload_to(name, 100);
        for (path, route) in [
            ("/img/1", "z"),
            ("/img/", "z"),
            ("/img/1/thumb", "thumb"),
            ("/img/1%2F2/thumb", "z"),
            ("/img/big/thumb", "big"),
            ("/img/big/1?a", "big"),
            ("/img/a", "a"),
            ("/img/a/thumb", "thumb"),
            ("/img", "none"),
        ] {
            let by = if route == name { "Python" } else { "Node" };
            let served = || front.ask(&format!("GET {path}"), "").header("x-powered-by").to_owned();
            assert!(eventually(|| served() == by), "{path} at 100 % of {name}: {}", served());
        }
    }
}

#[test]
fn a_route_of_segments_has_its_paths_and_no_others() {
    let (_old, _new, front) = sides("", "path = \"/users/*/orders\"\nshare = 100");
    front.share(100);
    let by = |path: &str| {
        let answer = front.ask(&format!("GET {path}"), "");
        answer.header("x-powered-by").to_owned()
    };
    // A worker from before the reload may answer at first.
    for path in ["/users/1/orders", "/users/a.b/orders?c=d/e", "/users/%C3%A9/orders"] {
        assert!(eventually(|| by(path) == "Python"), "{path}");
    }
    // A slash written as %2F is not a slash, and nginx passes it on unchanged.
    for path in [
        "/users//orders",
        "/users/1/orders/",
        "/users/1/2/orders",
        "/users/1%2F2/orders",
        "/users/1",
    ] {
        assert_eq!(by(path), "Node", "{path}");
    }
}
