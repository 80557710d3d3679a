//! Uploads that a service refuses before it has read them: curl and Node's fetch learn why, through nginx and directly,
//! and other clients notice nothing.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use carve::local::Stack;

use crate::support::{EndsLoad, get, start};

/// A refused upload: the status, what is sent, and the service's own address.
struct Upload {
    status: u16,
    method: &'static str,
    path: &'static str,
    media: &'static str,
    bytes: usize,
    service: SocketAddr,
}

fn uploads(stack: &Stack) -> Vec<Upload> {
    let at = &stack.settings().addresses;
    let (service, relay) = (at.of("new"), at.of("relay"));
    [
        (404, "POST", "/v1/nothing", "text/plain", 5_000_000, service),
        (405, "PUT", "/v1/qr", "application/json", 5_000_000, service),
        (413, "POST", "/v1/decode", "image/png", 11 << 20, service),
        (413, "POST", "/v1/batch", "text/csv", 2_000_000, service),
        (413, "POST", "/v1/qr", "application/json", 500_000, service),
        (415, "POST", "/v1/decode", "text/plain", 5_000_000, service),
        (400, "PUT", "/p/a?n=0", "text/plain", 5_000_000, relay),
    ]
    .map(|(status, method, path, media, bytes, service)| Upload {
        status,
        method,
        path,
        media,
        bytes,
        service,
    })
    .into()
}

/// Sends an upload this many times; `framing` is a header, or empty. Returns the statuses, one per line.
fn curl(upload: &Upload, addr: SocketAddr, framing: &str, tries: usize) -> String {
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), vec![b'x'; upload.bytes]).unwrap();
    let mut command = Command::new("curl");
    command.args(["-s", "-o", "/dev/null", "-w", "%{http_code}\\n", "-X", upload.method]);
    command.args(["-H", &format!("Content-Type: {}", upload.media), "-H", framing]);
    command.args(["--data-binary", &format!("@{}", body.path().display())]);
    // Beside the other client's, less than the limit for an address in app-http.conf.
    command.args(["--rate", "100/s"]).arg(format!("http://{addr}{}#[1-{tries}]", upload.path));
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

const FETCH: &str = r"
const [url, method, media, bytes, streams, tries] = process.argv.slice(1);
for (let number = 0; number < tries; number++) {
  const whole = new Blob([new Uint8Array(Number(bytes))]);
  const body = streams === 'true' ? whole.stream() : await whole.arrayBuffer();
  const asked = fetch(url, { method, headers: { 'Content-Type': media }, body, duplex: 'half' });
  console.log(await asked.then(async (answer) => (await answer.text(), answer.status), String));
}";

/// Does the same with Node's fetch, in chunks if it `streams`.
fn fetch(upload: &Upload, addr: SocketAddr, streams: bool, tries: usize) -> String {
    let mut command = Command::new("node");
    command.args(["--input-type=module", "-e", FETCH, "--"]);
    command.args([&format!("http://{addr}{}", upload.path), upload.method, upload.media]);
    command.args([upload.bytes.to_string(), streams.to_string(), tries.to_string()]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// Lets `send` send each upload so many times through nginx, and ten times directly, while another client asks for
/// pictures.
fn arrive(tries: usize, send: impl Fn(&Upload, SocketAddr, usize) -> Vec<String>) {
    let stack = start(|_| {});
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let picture = get(&format!("{}/v1/qr.png?text=a", stack.url()), &[]);
                assert_eq!(picture.status, 200, "{}", picture.text());
                thread::sleep(Duration::from_millis(20));
            }
        });
        let _ends_load = EndsLoad(&over);
        for upload in uploads(&stack) {
            let expected = format!("{}\n", upload.status);
            let proxy = stack.settings().addresses.proxy;
            for (addr, tries) in [(proxy, tries), (upload.service, 10)] {
                for statuses in send(&upload, addr, tries) {
                    assert_eq!(statuses, expected.repeat(tries), "{addr}{}", upload.path);
                }
            }
        }
    });
}

const LENGTH: &str = "Expect:";
const CHUNKS: &str = "Transfer-Encoding: chunked";
const EXPECT: &str = "Expect: 100-continue";

fn curl_learns_why(framings: &[&str], tries: usize) {
    arrive(tries, |upload, addr, tries| {
        framings.iter().map(|framing| curl(upload, addr, framing, tries)).collect()
    });
}

fn fetch_learns_why(tries: usize) {
    arrive(tries, |upload, addr, tries| {
        [false, true].map(|streams| fetch(upload, addr, streams, tries)).into()
    });
}

#[test]
fn curl_learns_why_its_upload_is_refused() {
    curl_learns_why(&[LENGTH, CHUNKS, EXPECT], 10);
}

#[test]
fn fetch_learns_why_its_upload_is_refused() {
    fetch_learns_why(10);
}

/// Only `make test-all` runs these; service-kit's own sends a thousand directly.
mod nightly {
    use super::*;

    #[test]
    fn curl_learns_it_a_thousand_times() {
        curl_learns_why(&[LENGTH, CHUNKS, EXPECT], 1000);
    }

    #[test]
    fn fetch_learns_it_a_hundred_times() {
        fetch_learns_why(100);
    }
}
