//! What a run makes of new sides that are worse, each in a way of its own, and of equal sides: real stacks, around
//! servers of this test. `JUDGEMENT_TRIES` is how often each is tried, and `JUDGEMENT_ROW` a part of the names of those
//! that are.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use service_kit::testing::{CLOSE, serve};

use crate::support::{EndsLoad, Site, holds_within};

/// A request's head in lower case, and the key of its client.
struct Asked<'a> {
    head: &'a str,
    key: &'a str,
}

/// A side's answer: the head's lines without a length, the body, and how much of it comes.
struct Answer {
    status: u16,
    headers: Vec<&'static str>,
    body: Vec<u8>,
    sent: usize,
}

const HEADERS: [&str; 4] = [
    "Content-Type: application/json",
    "Cache-Control: private",
    "Set-Cookie: a=1; Path=/",
    "Set-Cookie: b=2; Path=/",
];

fn fine() -> Answer {
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(500)).into_bytes();
    Answer { status: 200, headers: HEADERS.to_vec(), sent: body.len(), body }
}

fn error(text: impl Into<Vec<u8>>) -> Answer {
    let body = text.into();
    Answer { status: 500, headers: vec!["Content-Type: text/html"], sent: body.len(), body }
}

fn without(header: &str) -> Answer {
    Answer { headers: HEADERS.into_iter().filter(|it| *it != header).collect(), ..fine() }
}

/// Whether a key is one of so many percent of them.
fn is_one_of(percent: u64, key: &str) -> bool {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    !key.is_empty() && hasher.finish() % 100 < percent
}

fn second() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

type Side = fn(&Asked<'_>) -> Answer;

/// How a run must end, or not end, within a time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Back,
    NotBack,
    NotDone,
    /// It waits for this gate.
    Waits(&'static str),
}

struct Row {
    name: &'static str,
    keys: &'static str,
    old: Side,
    new: Side,
    end: End,
    within: u64,
    /// How many of the new side's lines nginx does not log.
    drops: &'static str,
    /// The time between two requests.
    pause_ms: u64,
}

const FINE: Side = |_| fine();
const BY_KEY: &str = "key = \"cookie:uid\"";
const BY_REQUEST: &str = "key = \"request\"";

fn rows() -> Vec<Row> {
    let row = |name, keys, new, end, within| Row {
        name,
        keys,
        old: FINE,
        new,
        end,
        within,
        drops: "",
        pause_ms: 25,
    };
    let both = |name, keys, side| Row { old: side, ..row(name, keys, side, End::NotBack, 130) };
    let in_an_incident: Side = |_| match second() % 60 {
        0 => error(format!("{:x}", fastrand::u128(..))),
        _ => fine(),
    };
    let fails_3_percent: Side = |it| if is_one_of(3, it.key) { error("no") } else { fine() };
    let lossy = Row {
        drops: "2%",
        pause_ms: 10,
        ..row(
            "2 % of the new side's lines dropped",
            BY_REQUEST,
            FINE,
            End::Waits("lines-lost"),
            300,
        )
    };
    vec![
        lossy,
        row("500 for all", BY_KEY, |_| error("no"), End::Back, 300),
        row(
            "500 with gzip",
            BY_KEY,
            |it| if it.head.contains("accept-encoding: gzip") { error("no") } else { fine() },
            End::Back,
            300,
        ),
        row("500 for 3 % of keys", BY_KEY, fails_3_percent, End::NotDone, 200),
        row(
            "307 for 5 % of keys",
            BY_KEY,
            |it| match is_one_of(5, it.key) {
                true => {
                    Answer { status: 307, headers: vec!["Location: /login"], body: vec![], sent: 0 }
                }
                false => fine(),
            },
            End::NotDone,
            200,
        ),
        row(
            "half a body in 5 % of answers",
            BY_REQUEST,
            |_| Answer { sent: if fastrand::u8(..100) < 5 { 250 } else { fine().sent }, ..fine() },
            End::Back,
            300,
        ),
        row("no private", BY_REQUEST, |_| without(HEADERS[1]), End::Back, 300),
        row("one cookie", BY_REQUEST, |_| without(HEADERS[3]), End::Back, 300),
        both("incidents of both", BY_REQUEST, in_an_incident),
        both("3 % of keys fail on both", BY_KEY, fails_3_percent),
    ]
}

/// Serves a side until the test ends.
fn start(side: impl Fn(&Asked<'_>) -> Answer + Send + Sync + 'static) -> SocketAddr {
    serve(move |asked| {
        let head = asked.head.to_ascii_lowercase();
        let key = head.split("uid=").nth(1).and_then(|it| it.split(['\r', ';']).next());
        let Answer { status, headers, body, sent } =
            side(&Asked { head: &head, key: key.unwrap_or_default() });
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let text =
            format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        asked.answer([text.as_bytes(), &body[..sent]].concat())?;
        if sent < body.len() { Err(CLOSE.into()) } else { Ok(()) }
    })
}

/// A stack around two sides, which ends with it.
struct Place {
    site: Site,
    webhook: String,
}

impl Place {
    fn start(route: &str, old: SocketAddr, new: SocketAddr, webhook: &str) -> Place {
        let place = Place { site: Site::new(), webhook: webhook.to_owned() };
        let text = format!("path = \"/report\"\njudge = \"json\"\n{route}\n");
        place.site.write("routes/report.toml", &text);
        let (old, new) = (format!("http://{old}"), format!("http://{new}"));
        let routes = place.site.path("routes");
        let up = ["up", routes.to_str().unwrap(), "--old", &old, "--new", &new];
        assert!(place.carve(&up).status().unwrap().success());
        place
    }

    fn carve(&self, args: &[&str]) -> Command {
        let mut command = self.site.carve(args);
        if !self.webhook.is_empty() {
            command.env("RAMP_WEBHOOKS", &self.webhook);
        }
        command.stdout(Stdio::null());
        command
    }

    /// Makes nginx leave out a part of the new side's lines.
    fn drop_lines(&self, part: &str) {
        let nginx = self.site.path("run/nginx");
        let read = |name: &str| fs::read_to_string(nginx.join(name)).unwrap();
        let logged = "access_log edge/access.log edge buffer=64k flush=1s";
        let without = format!(
            "split_clients $request_id $is_dropped {{ {part} 1; * 0; }}\n\
             map \"$arm$is_dropped\" $is_logged {{ default 1; new1 0; }}\n{logged} if=$is_logged"
        );
        let conf = read("nginx.conf");
        assert!(conf.contains(logged));
        fs::write(nginx.join("nginx.conf"), conf.replace(logged, &without)).unwrap();
        let pid = read("nginx.pid");
        assert!(Command::new("kill").args(["-s", "HUP", pid.trim()]).status().unwrap().success());
    }

    /// Whether a run waits for this gate.
    fn waits_for(&self, gate: &str) -> bool {
        let said = self.carve(&["status", "report"]).stdout(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.lines().any(|line| line.trim().starts_with("inconclusive") && line.contains(gate))
    }

    fn ramp(&self, args: &[&str], said: &Path) -> Child {
        let args = [&["ramp", "report", "--patience", "10m"], args].concat();
        self.carve(&args).stdout(fs::File::create(said).unwrap()).spawn().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.carve(&["down"]).status();
    }
}

/// Sends requests until `over`, of a thousand clients that all take gzip, each over its own connection, with a pause
/// between two. Counts answers of 500.
fn load(proxy: SocketAddr, pause_ms: u64, over: &AtomicBool, failed: &AtomicUsize) {
    thread::scope(|scope| {
        while !over.load(Ordering::Relaxed) {
            scope.spawn(|| {
                let head = format!(
                    "GET /report HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: gzip\r\nCookie: uid=u{}\r\n\r\n",
                    fastrand::u16(..1000)
                );
                let mut answer = String::new();
                let Ok(mut stream) = TcpStream::connect(proxy) else { return };
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.read_to_string(&mut answer);
                failed.fetch_add(usize::from(answer.starts_with("HTTP/1.1 500")), Ordering::Relaxed);
            });
            thread::sleep(Duration::from_millis(pause_ms));
        }
    });
}

/// Runs a row, and returns what is wrong.
fn run(row: &Row) -> Result<(), String> {
    let place = Place::start(row.keys, start(row.old), start(row.new), "");
    let (over, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (proxy, file) = (place.site.at.proxy, place.site.path("said"));
    let mut took = Duration::ZERO;
    let code = thread::scope(|scope| {
        scope.spawn(|| load(proxy, row.pause_ms, &over, &failed));
        let _ends_load = EndsLoad(&over);
        if !row.drops.is_empty() {
            place.drop_lines(row.drops);
        }
        let mut ramp = place.ramp(&["--steps", "5,25", "--hold", "30s"], &file);
        let within = Duration::from_secs(row.within);
        let begun = Instant::now();
        holds_within(within, || match row.end {
            End::Waits(gate) => place.waits_for(gate),
            _ => ramp.try_wait().unwrap().is_some(),
        });
        took = begun.elapsed();
        let code = ramp.try_wait().unwrap().and_then(|status| status.code());
        let _ = ramp.kill();
        let _ = ramp.wait();
        code
    });
    let is_right = match row.end {
        End::Back => code == Some(3),
        End::NotBack => code.is_none_or(|code| code == 0),
        End::NotDone => code != Some(0),
        End::Waits(_) => code.is_none() && took < Duration::from_secs(row.within),
    };
    let said = fs::read_to_string(&file).unwrap();
    let failed = failed.into_inner();
    println!("{}: {code:?} after {took:.0?}, {failed} clients got 500", row.name);
    is_right.then_some(()).ok_or_else(|| format!("{}: {code:?}\n{said}", row.name))
}

#[test]
fn worse_sides_go_back_or_wait_and_equal_ones_stay() {
    let setting = |name: &str| std::env::var(name).unwrap_or_default();
    let (tries, part) = (setting("JUDGEMENT_TRIES").parse().unwrap_or(1), setting("JUDGEMENT_ROW"));
    let mut rows: Vec<Row> = (0..tries).flat_map(|_| rows()).collect();
    rows.retain(|row| row.name.contains(&part));
    let (rows, wrong) = (Mutex::new(rows), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(row) = rows.lock().unwrap().pop() else { break };
                    let problem = run(&row).err();
                    wrong.lock().unwrap().extend(problem);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Gates for steps of seconds.
const QUICK: &str = "share = 0\n[shadow]\npercent = 50\n[gates]\nfailures.proof = 0.2\npair-failures.proof = 0.2\n\
                     pair-latency.proof = 0.5\ncomparisons.limit = 20\nrequests.limit = 20";

#[test]
fn a_side_that_breaks_after_its_run_was_done_goes_back_and_the_webhooks_hear_of_it() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let heard = Arc::new(Mutex::new(HashSet::new()));
    let (new, to) = (Arc::clone(&is_broken), Arc::clone(&heard));
    let new = start(move |_| if new.load(Ordering::Relaxed) { error("no") } else { fine() });
    let hook = serve(move |asked| {
        to.lock().unwrap().insert(String::from_utf8(asked.body()?).unwrap());
        asked.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    });
    let url = format!("http://{hook}");
    let place = Place::start(&format!("{BY_REQUEST}\n{QUICK}"), start(FINE), new, &url);
    let (over, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let file = place.site.path("said");
    thread::scope(|scope| {
        scope.spawn(|| load(place.site.at.proxy, 25, &over, &failed));
        let _ends_load = EndsLoad(&over);
        let done = place.ramp(&["--steps", "50,100", "--hold", "15s"], &file).wait().unwrap();
        assert!(done.success(), "{}", fs::read_to_string(&file).unwrap());
        is_broken.store(true, Ordering::Relaxed);
        let said = |what: &str| heard.lock().unwrap().iter().any(|text| text.contains(what));
        assert!(holds_within(Duration::from_secs(120), || said("\"phase\":\"rolled_back\"")));
        assert!(said("after the run was done"));
        let before = failed.load(Ordering::Relaxed);
        thread::sleep(Duration::from_secs(3));
        assert!(failed.load(Ordering::Relaxed) <= before + 1, "all goes to the old side again");
        // The old side's code is still needed.
        assert_eq!(place.carve(&["retire", "report"]).status().unwrap().code(), Some(4));
    });
}
