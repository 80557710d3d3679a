//! Tests that the service answers every request, and that its memory is bounded and given back, while clients that send
//! or read nearly nothing hold connections to both listeners.
//!
//! `SLOW=1000 cargo test --release -p qr-service --test slow_clients -- --nocapture` prints latencies; no test fails
//! because of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use service_kit::testing::{Service, on_free_ports, status_bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

/// Requests per second to each of the two listeners, each on a connection of its own.
const RATE: u32 = 50;

/// Reads a number from the environment.
fn setting(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[derive(Clone, Copy)]
enum Slow {
    /// Sends one byte.
    OneByte,
    /// Sends a byte of a body every few seconds.
    Body,
    /// Goes on sending a body that was refused.
    Refused,
    /// Asks for answers and reads none.
    NoReader,
    /// Sends nothing.
    Idle,
}

const KINDS: [Slow; 5] = [Slow::OneByte, Slow::Body, Slow::Refused, Slow::NoReader, Slow::Idle];

/// A path, and how often [`Slow::NoReader`] asks for it. With the API, the answers exceed the kernels' buffers.
#[cfg(feature = "api")]
const LONG: (&str, usize) = ("/v1/openapi.json", 4);
#[cfg(not(feature = "api"))]
const LONG: (&str, usize) = ("/nothing", 1);
/// The same for the admin listener, where thousands of scrapes would be a flood.
const ADMIN: (&str, usize) = ("/livez", 1);

/// Holds a connection until the service closes it.
async fn hold(
    service: SocketAddr,
    slow: Slow,
    (path, times): (&str, usize),
) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut stream = socket.connect(service).await?;
    match slow {
        Slow::OneByte => stream.write_all(b"g").await?,
        Slow::Body => {
            let head = b"POST /v1/qr HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                content-length: 16000\r\n\r\n{";
            stream.write_all(head).await?;
            loop {
                sleep(Duration::from_secs(5)).await;
                stream.write_all(b" ").await?;
            }
        }
        Slow::Refused => {
            let head = b"POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n";
            stream.write_all(head).await?;
            loop {
                stream.write_all(&[b' '; 1000]).await?;
                sleep(Duration::from_secs(1)).await;
            }
        }
        Slow::NoReader => {
            let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.write_all(request.repeat(times).as_bytes()).await?;
            loop {
                sleep(Duration::from_secs(1)).await;
                stream.write_all(b"\n").await?;
            }
        }
        Slow::Idle => {}
    }
    while stream.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}

/// Sends one request on a connection of its own; tells whether the answer was 200 and complete.
async fn ask(server: SocketAddr, path: String) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let is_whole = answer.ends_with(b"IEND\xae\x42\x60\x82") || answer.ends_with(b"ready\n");
    Ok(answer.starts_with(b"HTTP/1.1 200 ") && is_whole)
}

/// Asks both listeners at a fixed rate. Returns how long each request took from the moment it was due, and whether it
/// failed.
async fn ask_all(service: &Service, lasts: Duration) -> Vec<(Duration, bool)> {
    let (start, mut asked) = (Instant::now(), JoinSet::new());
    for number in 0.. {
        let due = start + Duration::from_secs(1) * number / RATE;
        if due >= start + lasts {
            break;
        }
        sleep_until(due.into()).await;
        let picture = (service.addr, format!("/qrcode?text=real{number}"));
        for (addr, path) in [picture, (service.admin_addr, "/readyz".to_owned())] {
            asked.spawn(async move {
                let answer = timeout(Duration::from_secs(20), ask(addr, path)).await;
                (due.elapsed(), !matches!(answer, Ok(Ok(true))))
            });
        }
    }
    asked.join_all().await
}

/// Returns the resident memory that is not mapped from a file, in bytes.
fn resident(pid: u32) -> u64 {
    status_bytes(pid, "RssAnon:")
}

/// Returns the processor time that the process has used, in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<_> = fields.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[tokio::test]
async fn slow_clients_of_all_kinds_at_both_listeners_delay_nobody() {
    let each = setting("SLOW", 250);
    let clients = usize::try_from(each).unwrap() * KINDS.len();
    let sockets = u32::try_from(2 * clients + 500).unwrap();
    assert_eq!(service_kit::connections_up_to(sockets), sockets);
    let mut command = on_free_ports(env!("CARGO_BIN_EXE_qr-service"), "QR_");
    command.env("QR_WORKER_THREADS", "1").env("QR_IDLE_TIMEOUT", "30s");
    let service = Service::start(&mut command);
    let pid = service.child.id();
    ask_all(&service, Duration::from_secs(1)).await;
    let before = resident(pid);

    let mut slow = JoinSet::new();
    for number in 0..each {
        for kind in KINDS {
            slow.spawn(hold(service.addr, kind, LONG));
            slow.spawn(hold(service.admin_addr, kind, ADMIN));
        }
        if number % 10 == 0 {
            // The listeners' queues are shorter than the number of connections.
            sleep(Duration::from_millis(10)).await;
        }
    }
    let samples = ask_all(&service, Duration::from_secs(5)).await;
    let most = resident(pid);
    let ticks = cpu_ticks(pid);
    sleep(Duration::from_secs(3)).await;
    let busy = cpu_ticks(pid) - ticks;

    slow.abort_all();
    while slow.join_next().await.is_some() {}
    let after = async {
        while resident(pid) > before + (most - before) / 2 {
            // An allocator gives memory back only when it is asked for some.
            ask_all(&service, Duration::from_millis(100)).await;
        }
    };
    let given_back = timeout(Duration::from_secs(20), after).await;

    let mut times: Vec<Duration> = samples.iter().map(|(took, _)| *took).collect();
    times.sort();
    let (p99, slowest) = (times[times.len() * 99 / 100], times[times.len() - 1]);
    let failed = samples.iter().filter(|(_, failed)| *failed).count();
    let after = resident(pid);
    anstream::println!(
        "{failed} of {} requests failed, p99 {p99:?}, slowest {slowest:?}; {busy} % of a core in three seconds of \
         silence; {before} bytes resident before, {most} with {} slow clients, {after} after",
        samples.len(),
        2 * clients
    );
    assert_eq!(failed, 0, "of {}", samples.len());
    // hyper's read buffer has 8 kB; where answers wait, the buffers in both directions have 16 kB.
    let bound = before + 24_000 * clients as u64 + 5_000_000;
    assert!(most < bound, "{most} bytes resident, {bound} allowed");
    assert!(busy < 15, "{busy} hundredths of a second of a processor in three seconds of silence");
    assert!(given_back.is_ok(), "{before} bytes resident before, {most} at most, {after} after");
}
