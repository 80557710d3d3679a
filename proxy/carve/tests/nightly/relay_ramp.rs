//! `carve ramp` moves the relay on a real stack, with real pairs and Prometheus.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use carve::local::{Share, Stack};
use service_kit::testing::repository;

use crate::support::{EndsLoad, built, said, share};

/// The number of bytes after which a faulty side cuts an answer.
const CUT_AFTER: usize = 20_000;

/// Stands before the new side and cuts the answer of every third connection.
struct Cutter {
    addr: SocketAddr,
    behind: Arc<Mutex<Option<SocketAddr>>>,
}

impl Cutter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let behind: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let to = Arc::clone(&behind);
        thread::spawn(move || {
            for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let server = to.lock().unwrap().map(TcpStream::connect);
                let Some(Ok(server)) = server else { continue };
                let most = if number % 3 == 2 { CUT_AFTER } else { usize::MAX };
                let (from, into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pass(client, server, usize::MAX));
                thread::spawn(move || pass(into, from, most));
            }
        });
        Cutter { addr, behind }
    }
}

/// Passes bytes on until the end, or until `most` bytes are passed, and closes both streams.
fn pass(mut from: TcpStream, mut into: TcpStream, most: usize) {
    let (mut bytes, mut passed) = ([0; 4096], 0);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        passed += count;
        if passed > most || into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    for stream in [from, into] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// The project's routes, with gates for steps of seconds, and the new side of the relay at another address.
fn routes(folder: &Path, new: Option<SocketAddr>) {
    for name in ["qrcode.toml", "relay.toml"] {
        let mut text =
            std::fs::read_to_string(repository().join("proxy/routes").join(name)).unwrap();
        if name == "relay.toml" {
            for (own, short) in [
                ("proof = 0.01", "proof = 0.2"),
                ("own.lasts = \"5m\"", ""),
                ("limit = 50", "limit = 20"),
            ] {
                assert!(text.contains(own), "{own}");
                text = text.replace(own, short);
            }
            text += "\n[gates.failures]\nproof = 0.2\n[gates.requests]\nlimit = 20\n";
            if let Some(new) = new {
                let url = "url = \"http://127.0.0.1:42090\"";
                assert!(text.contains(url));
                text = text.replace(url, &format!("url = \"http://{new}\""));
            }
        }
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Runs `carve ramp` under ten pairs per second. Also returns the number of failed pairs.
fn run_under_load(stack: &Stack) -> (Output, usize) {
    let (over, wrong) = (AtomicBool::new(false), AtomicUsize::new(0));
    let proxy = stack.settings().addresses.proxy;
    let output = thread::scope(|scope| {
        let (over, wrong) = (&over, &wrong);
        scope.spawn(move || {
            for number in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                scope.spawn(move || {
                    // In one pair in ten the sender leaves.
                    let (leaves, is_whole) =
                        (number % 10 == 0, play(proxy, number, number % 10 == 0));
                    wrong.fetch_add(usize::from(!leaves && !is_whole), Ordering::Relaxed);
                });
                thread::sleep(Duration::from_millis(100));
            }
        });
        let _ends_load = EndsLoad(over);
        let mut ramp = Command::new(built("carve"));
        ramp.args(["ramp", "relay", "--steps", "50,100", "--every", "500ms"]);
        ramp.args(["--hold", "15s", "--patience", "90s"]);
        ramp.envs(stack.environment()).output().unwrap()
    });
    (output, wrong.into_inner())
}

/// Plays both halves of a pair, whose sender may leave midway. Returns whether the receiver got every byte.
fn play(proxy: SocketAddr, number: u32, leaves: bool) -> bool {
    let (key, bytes) =
        (format!("ramp-{number}-{:08x}", fastrand::u32(..)), fastrand::usize(1_000..200_000));
    let connect = || {
        let stream = TcpStream::connect(proxy)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        io::Result::Ok(stream)
    };
    let send = || {
        let mut stream = connect()?;
        let head = "HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length";
        write!(stream, "PUT /p/{key} {head}: {bytes}\r\n\r\n")?;
        stream.write_all(&vec![b'x'; if leaves { bytes / 2 } else { bytes }])?;
        if leaves {
            // Otherwise a small half would be sent and gone before the receiver comes.
            thread::sleep(Duration::from_millis(500));
            return Ok(());
        }
        stream.read_to_end(&mut Vec::new()).map(drop)
    };
    let receive = || {
        let mut stream = connect()?;
        write!(stream, "GET /p/{key} HTTP/1.0\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        io::Result::Ok(answer.ends_with(&vec![b'x'; bytes]))
    };
    thread::scope(|scope| {
        let sender = scope.spawn(send);
        let is_whole = receive().unwrap_or(false);
        is_whole && sender.join().unwrap().is_ok()
    })
}

fn start(new: Option<SocketAddr>) -> (Stack, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    routes(folder.path(), new);
    let stack = crate::support::start(|it| {
        (it.wanted.share, it.routes) = (Some(Share::NONE), folder.path().to_owned());
    });
    (stack, folder)
}

#[test]
fn an_equal_side_reaches_100_percent() {
    let (stack, _routes) = start(None);
    let (output, wrong) = run_under_load(&stack);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!((share(&stack, "relay").as_str(), wrong), ("100", 0));
}

#[test]
fn a_side_that_cuts_streams_is_rolled_back() {
    let cutter = Cutter::start();
    let (stack, _routes) = start(Some(cutter.addr));
    *cutter.behind.lock().unwrap() = Some(stack.settings().addresses.of("relay"));
    let (output, wrong) = run_under_load(&stack);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    // Whichever is sure first: nginx saw the answers end early, or the relays' own counts of halves.
    let reasons = ["rolled back: failures (", "rolled back: broken-pairs ("];
    assert!(reasons.iter().any(|it| said.contains(it)), "{said}");
    assert_eq!(share(&stack, "relay"), "0");
    assert!(wrong > 0);
}
