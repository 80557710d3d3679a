//! Slow clients hold connections; real clients beside them are all answered, and memory is bounded.
//!
//! `SLOW=10000 SECONDS=30 cargo test --release -p qr-service --test slow_clients -- --nocapture
//! --test-threads 1` prints latencies; no test fails for them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use service_kit::testing::{Service, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Real requests per second, each on a connection of its own.
const RATE: u32 = 100;

/// New slow connections in ten milliseconds, at most.
const PACE: usize = 20;

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Holds a connection until the service closes it: two fifths of the clients dribble heads, two fifths
/// bodies, one fifth reads no answer.
async fn hold(mut stream: TcpStream, number: u64) -> std::io::Result<()> {
    let begin = match number % 5 {
        0 | 2 => "GET /qrcode?text=slow HTTP/1.1\r\nHost: slow\r\nX-Slow: ".to_owned(),
        1 | 3 => "POST /qrcode HTTP/1.1\r\nHost: slow\r\nContent-Length: 16000\r\n\r\n{".to_owned(),
        // The kernel keeps these answers. Thousands of requests would be a flood, not a slow client.
        _ => "GET /qrcode?text=slow HTTP/1.1\r\nHost: slow\r\n\r\n".repeat(4),
    };
    let reads = number % 5 != 4;
    stream.write_all(begin.as_bytes()).await?;
    let mut answer = [0; 512];
    loop {
        if !reads {
            sleep(Duration::from_secs(1)).await;
        } else if let Ok(read) = timeout(Duration::from_secs(1), stream.read(&mut answer)).await
            && read? == 0
        {
            return Ok(());
        }
        stream.write_all(if reads { b"a" } else { b"\n" }).await?;
    }
}

async fn connect(service: SocketAddr, from: Ipv4Addr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    socket.bind((from, 0).into())?;
    socket.connect(service).await
}

/// Lets slow clients connect, as fast as the service and the real clients keep up. It runs where the real clients
/// run: if the machine stopped only them, between their connections and their requests, so many slow ones would come
/// meanwhile that theirs would have waited longest. If it stopped the service, its queue of connections would
/// overflow, and the system tries those again only after seconds.
async fn keep_pace(admin: SocketAddr, may_connect: Arc<Semaphore>) {
    loop {
        may_connect.add_permits(PACE - may_connect.available_permits());
        sleep(Duration::from_millis(10)).await;
        exchange(admin, "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
    }
}

/// Comes back a second after each end.
async fn come_back(
    service: SocketAddr,
    number: u64,
    open: Arc<AtomicUsize>,
    may_connect: Arc<Semaphore>,
) {
    // One address has too few ports for all.
    let from = Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(number / 2000).unwrap());
    loop {
        may_connect.acquire().await.unwrap().forget();
        if let Ok(stream) = connect(service, from).await {
            open.fetch_add(1, Ordering::Relaxed);
            let _ = hold(stream, number).await;
            open.fetch_sub(1, Ordering::Relaxed);
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// Sends a request on a connection of its own, and reads until the server closes it.
async fn exchange(server: SocketAddr, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// One request on a connection of its own; whether the answer came whole.
async fn ask(service: SocketAddr, number: u32) -> std::io::Result<bool> {
    let request =
        format!("GET /qrcode?text=real{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = exchange(service, &request).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(b"IEND\xae\x42\x60\x82"))
}

/// Sends real requests at a fixed rate; how long each took from when it was due, and if it failed.
async fn ask_all(service: SocketAddr, lasts: Duration) -> Vec<(Duration, bool)> {
    let start = Instant::now();
    let mut asked = JoinSet::new();
    for number in 0.. {
        let due = start + Duration::from_secs(1) * number / RATE;
        if due >= start + lasts {
            break;
        }
        tokio::time::sleep_until(due.into()).await;
        asked.spawn(async move {
            let answer = timeout(Duration::from_secs(20), ask(service, number)).await;
            (due.elapsed(), !matches!(answer, Ok(Ok(true))))
        });
    }
    asked.join_all().await
}

fn peak_resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Real clients beside so many slow ones; returns the service's metrics and its peak of memory. So many real
/// requests in a hundred may fail.
fn play(slow: u64, max_connections: u64, may_fail: usize) -> (String, u64) {
    service_kit::allow_connections(usize::try_from(slow).unwrap() + 1000).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_qr-service"));
    command.env_clear().env("QR_ADDR", "127.0.0.1:0").env("QR_ADMIN_ADDR", "127.0.0.1:0");
    command.env("QR_WORKER_THREADS", "1").env("QR_MAX_CONNECTIONS", max_connections.to_string());
    let service = Service::start(&mut command);
    let (addr, admin_addr) = (service.addr, service.admin_addr);

    // The slow clients have a thread of their own, so they do not delay the real ones by themselves.
    let open = Arc::new(AtomicUsize::new(0));
    let may_connect = Arc::new(Semaphore::new(0));
    let (counted, paced) = (Arc::clone(&open), Arc::clone(&may_connect));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let attack = std::thread::spawn(move || {
        runtime().block_on(async {
            for number in 0..slow {
                let (counted, paced) = (Arc::clone(&counted), Arc::clone(&paced));
                tokio::spawn(come_back(addr, number, counted, paced));
            }
            let _ = stopped.await;
        });
    });
    // Those that dribble bodies are answered at once, so they are mostly away.
    let enough = usize::try_from(max_connections.min(slow / 2)).unwrap();
    let lasts = Duration::from_secs(setting("SECONDS", 5));
    let samples = runtime().block_on(async {
        tokio::spawn(keep_pace(admin_addr, may_connect));
        let began = Instant::now();
        while open.load(Ordering::Relaxed) < enough {
            assert!(began.elapsed() < Duration::from_secs(60), "the slow clients do not come");
            sleep(Duration::from_millis(10)).await;
        }
        ask_all(addr, lasts).await
    });
    let metrics = get(admin_addr, "/metrics");
    drop(stop);
    attack.join().unwrap();

    let mut times: Vec<Duration> = samples.iter().map(|(took, _)| *took).collect();
    times.sort();
    let (p99, slowest) = (times[times.len() * 99 / 100], times[times.len() - 1]);
    let failed = samples.iter().filter(|(_, failed)| *failed).count();
    let peak = peak_resident_bytes(service.child.id());
    let counts = metrics.lines().filter(|line| line.starts_with("http_connections"));
    anstream::println!("{}", counts.collect::<Vec<_>>().join("\n"));
    anstream::println!(
        "{failed} of {} requests failed, p99 {p99:?}, slowest {slowest:?}; {peak} bytes resident at most",
        samples.len()
    );
    assert!(100 * failed <= may_fail * samples.len(), "{failed} of {} failed", samples.len());
    // Below the timeouts that end slow clients, whatever the machine does besides.
    assert!(slowest < Duration::from_secs(8), "{slowest:?}");
    (metrics, peak)
}

fn count(metrics: &str, name: &str) -> u64 {
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name} in\n{metrics}")).parse().unwrap()
}

#[test]
fn slow_clients_that_have_places_delay_nobody_and_take_little_memory() {
    let slow = setting("SLOW", 3000);
    let (metrics, peak) = play(slow, slow + 1000, 0);
    assert_eq!(count(&metrics, "http_connections_refused_total"), 0);
    // With hyper's buffers, each would take 24 kB.
    assert!(peak < 23_000_000 + slow * 6000, "{peak} bytes resident");
}

#[test]
fn slow_clients_that_have_no_places_give_way() {
    // A real client that a busy machine keeps from sending is awaited longest, too.
    let (metrics, _) = play(setting("SLOW", 3000), 700, 1);
    assert!(count(&metrics, "http_connections_shed_total{phase=\"head\"}") > 0);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
