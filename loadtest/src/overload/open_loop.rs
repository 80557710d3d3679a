//! Clients that do not wait for each other: a request is sent when it is due, however many are open.
//!
//! Each has a connection of its own, so that one that hangs delays no other. Latency counts from the
//! time a request was due.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

/// Longer than any wait that is allowed, so that a longer one is seen.
const PATIENCE: Duration = Duration::from_secs(40);

/// Requests at a fixed rate.
pub struct Flow {
    /// Requests per second.
    pub rate: f64,
    /// The path and query of the request with this number.
    pub target: Box<dyn Fn(usize) -> String + Send>,
    /// The address from which the request with this number comes; any if there is none.
    pub from: Option<fn(usize) -> IpAddr>,
    /// When a client gives up.
    pub patience: Duration,
}

impl Flow {
    /// A flow of these requests.
    pub fn new(rate: f64, target: impl Fn(usize) -> String + Send + 'static) -> Self {
        Flow { rate, target: Box::new(target), from: None, patience: PATIENCE }
    }
}

/// A request that is over.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its number in its flow.
    pub number: usize,
    /// When it was due.
    pub due: Instant,
    /// From then to the last byte.
    pub took: Duration,
    /// The status; 0 if there was no answer.
    pub status: u16,
    /// The answer, or why there is none.
    pub answer: String,
}

impl Sample {
    /// A header's value; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let lines = self.answer.split("\r\n\r\n").next().unwrap_or_default().lines();
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        let found = headers.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.trim())
    }

    /// The program that made the answer.
    pub fn served_by(&self) -> &str {
        self.header("x-served-by")
    }
}

/// Flows that are being sent.
pub struct Running(JoinHandle<anyhow::Result<Vec<Vec<Sample>>>>);

impl Running {
    /// Waits for the last answer; the samples of each flow, in the order in which they ended.
    ///
    /// # Errors
    /// If the clients could not run, or could not send at the flows' rates.
    pub fn finish(self) -> anyhow::Result<Vec<Vec<Sample>>> {
        self.0.join().map_err(|_| anyhow::anyhow!("the clients failed"))?
    }
}

/// Sends these flows for so long, beside the caller.
///
/// # Errors
/// If no thread can be started.
pub fn start(server: SocketAddr, flows: Vec<Flow>, lasts: Duration) -> anyhow::Result<Running> {
    let thread = std::thread::Builder::new().name("clients".to_owned());
    let run = move || runtime()?.block_on(send_all(server, flows, lasts));
    Ok(Running(thread.spawn(run).context("no thread for the clients")?))
}

/// A runtime of one thread.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")
}

async fn send_all(
    server: SocketAddr,
    flows: Vec<Flow>,
    lasts: Duration,
) -> anyhow::Result<Vec<Vec<Sample>>> {
    let start = Instant::now();
    let mut tasks = Vec::new();
    for flow in flows {
        tasks.push(tokio::spawn(send(server, flow, start, lasts)));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.context("a client failed")??);
    }
    Ok(all)
}

async fn send(
    server: SocketAddr,
    flow: Flow,
    start: Instant,
    lasts: Duration,
) -> anyhow::Result<Vec<Sample>> {
    /// A machine that cannot send in time measures itself.
    const MAX_LATE: Duration = Duration::from_secs(10);
    let mut open = JoinSet::new();
    let mut samples = Vec::new();
    for number in 0.. {
        let after = Duration::from_secs_f64(number as f64 / flow.rate);
        if after >= lasts {
            break;
        }
        let due = start + after;
        tokio::time::sleep_until(due.into()).await;
        ensure!(due.elapsed() < MAX_LATE, "the clients are {:?} late", due.elapsed());
        let target: Arc<str> = (flow.target)(number).into();
        let (from, patience) = (flow.from.map(|from| from(number)), flow.patience);
        open.spawn(async move {
            let answer = tokio::time::timeout(patience, exchange(server, from, &target)).await;
            let answer = answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            let (status, answer) = answer.unwrap_or_else(|error| (0, error.to_string()));
            Sample { number, due, took: due.elapsed(), status, answer }
        });
        while let Some(ended) = open.try_join_next() {
            samples.push(ended.context("a client failed")?);
        }
    }
    while let Some(ended) = open.join_next().await {
        samples.push(ended.context("a client failed")?);
    }
    Ok(samples)
}

/// One request on a connection of its own, from an address; the status, and head and body as text.
pub(super) async fn exchange(
    server: SocketAddr,
    from: Option<IpAddr>,
    target: &str,
) -> io::Result<(u16, String)> {
    let socket = TcpSocket::new_v4()?;
    if let Some(from) = from {
        socket.bind((from, 0).into())?;
    }
    let mut stream = socket.connect(server).await?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let head_ends = answer.windows(4).any(|bytes| bytes == b"\r\n\r\n");
    let text = String::from_utf8_lossy(&answer).into_owned();
    match text.split(' ').nth(1).and_then(|status| status.parse().ok()) {
        Some(status) if head_ends => Ok((status, text)),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no whole answer")),
    }
}

/// The latency that this part of the samples (0.5: half of them) does not exceed.
pub fn quantile<'a>(samples: impl IntoIterator<Item = &'a Sample>, part: f64) -> Duration {
    let mut times: Vec<Duration> = samples.into_iter().map(|sample| sample.took).collect();
    times.sort();
    let index = (times.len() as f64 * part).ceil() as usize;
    times.get(index.saturating_sub(1)).copied().unwrap_or_default()
}
