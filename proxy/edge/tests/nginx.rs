//! `edge` as a process beside a real nginx that logs as the README shows: what it counts. print.rs tests what it
//! prints.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{HashMap, HashSet};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use service_kit::testing::{CLOSE, Process, Service, built, eventually, get, serve};
use tempfile::TempDir;

/// The README's lines for nginx.
fn log_format() -> &'static str {
    let readme = include_str!("../README.md");
    readme.split_once("```nginx\n").unwrap().1.split_once("```").unwrap().0
}

/// A server that answers each request with `answer` of the request's target.
fn start_backend(answer: fn(&str) -> &'static str) -> SocketAddr {
    serve(move |asked| {
        if let Some((_, part)) = ANSWERS.iter().find(|(name, _)| asked.target().contains(name)) {
            asked.answer(part)?;
        } else if asked.target().contains("long") {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n";
            asked.answer(format!("{head}{}", "x".repeat(1000)))?;
            thread::sleep(Duration::from_secs(1));
            asked.answer("x".repeat(998_999))?; // until nginx hangs up
        } else {
            let status = answer(asked.target());
            asked.answer(format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok"))?;
        }
        Err(CLOSE.into())
    })
}

/// Answers by the word in the request, after which the connection closes.
const ANSWERS: [(&str, &str); 6] = [
    ("cut-length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
    ("cut-chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
    ("cut-in-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"),
    (
        "cut-events",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Accel-Buffering: no\r\n\
         Content-Type: text/event-stream\r\n\r\n6\r\ndata:\n\r\n",
    ),
    ("all-chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n\r\n"),
    ("all-length", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhalf"),
];

/// nginx with two sides, in a temporary folder.
struct Place {
    nginx: Option<Process>,
    folder: TempDir,
    addr: SocketAddr,
}

impl Place {
    fn start() -> Self {
        let new = start_backend(|target| match target {
            _ if target.contains("fails") => "503 Service Unavailable",
            _ if target.contains("bad") => "400 Bad Request",
            _ => "200 OK",
        });
        let old = start_backend(|_| "200 OK");
        // nginx' workers may run as another user, and they reopen the log.
        let readable = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(readable).tempdir().unwrap();
        let addr = service_kit::free_address().unwrap();
        let configuration = CONFIGURATION
            .replace("LOG_FORMAT", log_format())
            .replace("ADDR", &addr.to_string())
            .replace("NEW", &new.to_string())
            .replace("OLD", &old.to_string());
        fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
        let nginx = Some(start_nginx(&folder, addr));
        Place { nginx, folder, addr }
    }

    fn restart_nginx(&mut self) {
        self.nginx = None;
        self.nginx = Some(start_nginx(&self.folder, self.addr));
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("edge.log")
    }

    fn edge(&self) -> Service {
        let mut command = Command::new(built("carve"));
        command.arg("edge").env("EDGE_LOG", self.log()).env("EDGE_ADMIN_ADDR", "127.0.0.1:0");
        command.env("EDGE_STATUS_URL", format!("http://{}/stub_status", self.addr));
        command.env("EDGE_JSON_FILE", self.folder.path().join("requests.log"));
        Service::start(command.env("EDGE_ROUTES", "qrcode"))
    }

    /// The ids of the requests with a JSON line, in order.
    fn printed_ids(&self) -> Vec<String> {
        let file = |name: &str| fs::read_to_string(self.folder.path().join(name));
        let text = ["requests.log.2", "requests.log.1", "requests.log"].map(file);
        let text: String = text.into_iter().flatten().collect();
        let id = |line: &str| {
            Some(line.split("\"request_id\":\"").nth(1)?.split('"').next()?.to_owned())
        };
        text.lines().map(|line| id(line).unwrap()).collect()
    }

    /// Sends a request and returns the status.
    fn ask(&self, path: &str) -> u16 {
        ask(self.addr, path)
    }

    fn signal_nginx(&self, signal: Signal) {
        self.nginx.as_ref().unwrap().signal(signal);
    }
}

fn start_nginx(folder: &TempDir, addr: SocketAddr) -> Process {
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path());
    let nginx = Process::start(&mut command);
    eventually("nginx listens", || TcpStream::connect(addr).is_ok());
    nginx
}

fn ask(addr: SocketAddr, path: &str) -> u16 {
    get(addr, path)[9..12].parse().unwrap()
}

fn metrics(edge: &Service) -> String {
    get(edge.admin_addr, "/metrics")
}

/// The sum of all series that begin with `prefix`.
fn sum(metrics: &str, prefix: &str) -> u64 {
    let series = metrics.lines().filter(|line| line.starts_with(prefix));
    series.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// `$arm` is the argument `arm`. The route `limited` allows one request per minute.
const CONFIGURATION: &str = r#"
daemon off;
pid nginx.pid;
error_log stderr error;
worker_processes 2;
events { worker_connections 1024; }
http {
    LOG_FORMAT
    map $uri $edge_route { default other; /qrcode qrcode; /limited limited; /stub_status admin; }
    map $arg_arm $arm { default ""; new new; old old; }
    map "" $trace_id { default ""; }
    map "" $chosen_arm { default ""; }
    map "" $media_type { default ""; }
    map "" $names { default ""; }
    map "" $spelling { default ""; }
    map "$arg_key" $key_hash { default $arg_key; }
    map $uri $path { default $uri; }
    limit_req_zone $uri zone=limited:1m rate=1r/m;
    client_body_temp_path client_body_temp;
    proxy_temp_path proxy_temp;
    fastcgi_temp_path fastcgi_temp;
    uwsgi_temp_path uwsgi_temp;
    scgi_temp_path scgi_temp;
    recursive_error_pages on;
    server {
        listen ADDR backlog=1024;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        location = /qrcode {
            error_page 418 = @old;
            error_page 502 503 504 = @fallback;
            proxy_intercept_errors on;
            if ($arm = old) { return 418; }
            set $side new;
            proxy_pass http://NEW;
        }
        location @old { set $side old; proxy_pass http://OLD; }
        location @fallback { set $side fallback; proxy_pass http://OLD; }
        location = /limited {
            set $side new;
            limit_req zone=limited;
            proxy_pass http://NEW;
        }
        location = /stub_status { stub_status; }
        location = /unlogged { access_log off; return 200; }
        location = /missing { return 404; }
    }
}
"#;

#[test]
fn an_answer_that_a_side_cuts_short_counts_by_side() {
    let place = Place::start();
    let edge = place.edge();
    // Clients that keep the connection, on which the other side has just answered, and those that do not.
    for connection in ["keep-alive", "close"] {
        for (arm, other, answers) in [("new", "old", &ANSWERS[..]), ("old", "new", &ANSWERS[1..])] {
            for (answer, _) in answers {
                let mut stream = TcpStream::connect(place.addr).unwrap();
                let mut ask = |query: &str| {
                    let head = format!("GET /qrcode?{query} HTTP/1.1\r\nHost: a\r\n");
                    write!(stream, "{head}Connection: {connection}\r\n\r\n").unwrap();
                };
                if connection == "keep-alive" {
                    ask(&format!("arm={arm}&all-length"));
                    ask(&format!("arm={other}&all-length"));
                }
                ask(&format!("arm={arm}&{answer}"));
                stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                let _ = stream.read_to_end(&mut Vec::new()); // a whole answer leaves it open
            }
        }
    }
    // A client that leaves in the middle of an answer.
    for arm in ["new", "old"] {
        let mut stream = TcpStream::connect(place.addr).unwrap();
        write!(stream, "GET /qrcode?arm={arm}&long HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
    }
    let cut = |count: u64, arm: &str| {
        format!("edge_cut_answers_total{{route=\"qrcode\",arm=\"{arm}\"}} {count}\n")
    };
    let is_counted =
        || metrics(&edge).contains(&(cut(8, "new"))) && metrics(&edge).contains(&cut(6, "old"));
    eventually("all lines are counted", is_counted);
    thread::sleep(Duration::from_secs(3)); // nginx' last lines
    assert!(is_counted(), "{}", metrics(&edge));
}

#[test]
fn the_counts_agree_with_the_requests_exactly() {
    let place = Place::start();
    let edge = place.edge();
    for _ in 0..200 {
        assert_eq!(place.ask("/qrcode?arm=new"), 200);
        assert_eq!(place.ask("/qrcode?arm=old"), 200);
    }
    for _ in 0..30 {
        assert_eq!(place.ask("/qrcode?arm=new&fails"), 200);
        assert_eq!(place.ask("/qrcode?arm=new&bad"), 400);
        assert_eq!(place.ask("/missing"), 404);
    }
    assert_eq!(place.ask("/limited?arm=new"), 200);
    assert_eq!(place.ask("/limited?arm=new"), 503);
    // nginx refuses this before it has read a path.
    assert!(service_kit::testing::exchange(place.addr, "nonsense\r\n\r\n").contains(" 400 "));
    let other = "edge_requests_total{route=\"other\"";
    eventually("all lines", || [other, QRCODE].map(|name| sum(&metrics(&edge), name)) == [31, 460]);
    let text = metrics(&edge);
    for (labels, count) in [
        ("route=\"qrcode\",arm=\"new\",side=\"new\",code=\"2xx\"", 200),
        ("route=\"qrcode\",arm=\"old\",side=\"old\",code=\"2xx\"", 200),
        ("route=\"qrcode\",arm=\"new\",side=\"fallback\",code=\"2xx\"", 30),
        ("route=\"qrcode\",arm=\"new\",side=\"new\",code=\"4xx\"", 30),
        ("route=\"other\",arm=\"none\",side=\"none\",code=\"4xx\"", 31),
        ("route=\"limited\",arm=\"new\",side=\"new\",code=\"2xx\"", 1),
        ("route=\"limited\",arm=\"new\",side=\"none\",code=\"5xx\"", 1),
    ] {
        let counted = sum(&text, &format!("edge_requests_total{{{labels}}}"));
        assert_eq!(counted, count, "{labels}\n{text}");
    }
    assert_eq!(sum(&text, "edge_requests_total{route=\"qrcode\""), 460);
    let own = "edge_own_errors_total{route=\"limited\",arm=\"new\",status=\"503\"}";
    assert_eq!(sum(&text, own), 1);
    assert_eq!(sum(&text, "edge_malformed_lines_total "), 0);
    assert!(sum(&text, "edge_response_bytes_total{route=\"qrcode\",arm=\"new\"}") > 260 * 50);
    assert!(sum(&text, "edge_nginx_requests_total ") >= sum(&text, "edge_lines_total "));
}

/// Sends requests from two threads until it is stopped, and counts them.
struct Traffic {
    sent: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Traffic {
    fn start(addr: SocketAddr) -> Self {
        let (sent, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let send = || {
            let (sent, is_over) = (Arc::clone(&sent), Arc::clone(&is_over));
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(ask(addr, "/qrcode?arm=new"), 200);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let threads = vec![send(), send()];
        Traffic { sent, is_over, threads }
    }

    /// Stops and returns the number of requests sent.
    fn stop(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        self.sent.load(Ordering::Relaxed)
    }
}

const QRCODE: &str = "edge_request_seconds_count{route=\"qrcode\"";

#[test]
fn an_edge_that_is_killed_again_and_again_loses_nothing() {
    let place = Place::start();
    let traffic = Traffic::start(place.addr);
    let noted = || fs::read_to_string(place.folder.path().join("edge.log.printed")).ok();
    let mut scraped = 0;
    for _ in 0..2 {
        let mut edge = place.edge();
        eventually("lines", || sum(&metrics(&edge), QRCODE) > 0);
        let before = noted();
        eventually("it notes what it has printed", || noted() != before);
        thread::sleep(Duration::from_millis(300)); // more lines before the next scrape
        scraped += sum(&metrics(&edge), QRCODE);
        edge.signal("KILL");
        edge.wait();
    }
    let edge = place.edge();
    let sent = traffic.stop();
    eventually("all lines", || scraped + sum(&metrics(&edge), QRCODE) >= sent);
    thread::sleep(Duration::from_millis(1500)); // nginx flushes after a second
    let text = metrics(&edge);
    assert_eq!(scraped + sum(&text, QRCODE), sent);
    let odd = ["edge_malformed_lines_total ", "edge_restarts_of_log_total "];
    assert_eq!(odd.map(|name| sum(&text, name)), [0, 0]);
    eventually("all is printed", || sum(&metrics(&edge), "edge_unprinted_bytes ") == 0);
    let mut times = HashMap::new();
    place.printed_ids().into_iter().for_each(|id| *times.entry(id).or_insert(0) += 1);
    assert_eq!(times.len() as u64, sent);
    // A process notes once per second what it has printed. After a kill the next one prints the lines since then again,
    // and no line is printed a third time.
    assert_eq!(times.values().find(|&&count| count > 2), None);
}

/// After an orderly stop, each line is printed once.
#[test]
fn a_restart_and_a_rotation_print_every_line_once() {
    let place = Place::start();
    let traffic = Traffic::start(place.addr);
    for number in 0..3 {
        let mut edge = place.edge();
        eventually("lines", || sum(&metrics(&edge), QRCODE) > 0);
        fs::rename(place.log(), place.folder.path().join(format!("edge.log.{number}"))).unwrap();
        thread::sleep(Duration::from_millis(300)); // nginx goes on writing to the renamed file
        place.signal_nginx(Signal::USR1);
        eventually("nginx reopens its log", || place.log().exists());
        eventually("it is read", || sum(&metrics(&edge), "edge_restarts_of_log_total ") == 1);
        assert_eq!(sum(&metrics(&edge), "edge_malformed_lines_total "), 0);
        edge.signal("TERM");
        assert_eq!(edge.wait(), Some(0));
    }
    let sent = traffic.stop();
    let edge = place.edge();
    thread::sleep(Duration::from_millis(1500)); // nginx flushes after a second
    eventually("all is printed", || {
        place.printed_ids().len() as u64 >= sent
            && sum(&metrics(&edge), "edge_unprinted_bytes ") == 0
    });
    let ids = place.printed_ids();
    let different: HashSet<&String> = ids.iter().collect();
    assert_eq!((ids.len() as u64, different.len() as u64), (sent, sent));
}

#[test]
fn requests_without_a_line_are_reported_as_lost() {
    let place = Place::start();
    let edge = place.edge();
    for _ in 0..100 {
        place.ask("/qrcode?arm=new");
    }
    eventually("all lines are read", || sum(&metrics(&edge), QRCODE) == 100);
    // The losses of the first readings stay hidden.
    let readings = || sum(&metrics(&edge), "edge_nginx_requests_total ");
    let seen = readings();
    eventually("a window of readings", || readings() >= seen + 12);
    for _ in 0..100 {
        place.ask("/unlogged");
    }
    let lost = || sum(&metrics(&edge), "edge_lost_total ");
    assert_eq!(lost(), 0);
    eventually("the loss", || lost() == 100);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(lost(), 100);
}

#[test]
fn reloads_and_restarts_of_nginx_lose_nothing() {
    let mut place = Place::start();
    let edge = place.edge();
    let lost = || sum(&metrics(&edge), "edge_lost_total ");
    let mut sent = 0;
    for _ in 0..2 {
        let traffic = Traffic::start(place.addr);
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(700));
            place.signal_nginx(Signal::HUP);
        }
        sent += traffic.stop();
        place.restart_nginx();
    }
    eventually("all lines", || sum(&metrics(&edge), QRCODE) >= sent);
    thread::sleep(Duration::from_secs(13)); // longer than the lag
    assert_eq!((sum(&metrics(&edge), QRCODE), lost()), (sent, 0));
}

#[test]
fn a_bad_setting_ends_it_with_one_line() {
    for (variable, value, part) in [
        ("EDGE_ROUTES", "a b", "--routes <NAMES> (EDGE_ROUTES): invalid value \"a b\""),
        ("EDGE_STATUS_URL", "x", "(EDGE_STATUS_URL): invalid value \"x\": must be http://"),
        ("EDGE_JSON_PERCENT", "101", "\"101\": must be a number from 0 to 100"),
    ] {
        let mut command = Command::new(built("carve"));
        let output = command.args(["edge", "--log", "x"]).env(variable, value).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
}
