//! Flows that are being sent, and their outcomes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

use super::connection::Request;
use super::{Clients, Flow, Response, TICK};

/// A request that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) number: u64,
    pub(crate) due: Instant,
    /// From when it was due to the last byte.
    pub(crate) took: Duration,
    /// It was sent again, because its kept connection had been closed.
    pub(crate) asked_again: bool,
    /// 0 if there was no answer.
    pub(crate) status: u16,
    pub(crate) served_by: String,
    pub(crate) retry_after: String,
    /// Empty unless the flow keeps this request's body.
    pub(crate) body: Vec<u8>,
    /// Why there is no answer.
    pub(crate) error: String,
}

impl Sample {
    pub(super) fn new(
        request: &Request,
        answer: &Result<Response<'_>, String>,
        keeps: bool,
    ) -> Self {
        let answered = answer.as_ref().ok();
        let header = |name| answered.map_or(String::new(), |it| it.header(name).to_owned());
        Sample {
            number: request.number,
            due: request.due,
            took: request.due.elapsed(),
            asked_again: request.asked_again,
            status: answered.map_or(0, |response| response.status),
            served_by: header("x-served-by"),
            retry_after: header("retry-after"),
            body: answered.filter(|_| keeps).map_or(Vec::new(), |it| it.body.to_vec()),
            error: answer.as_ref().err().cloned().unwrap_or_default(),
        }
    }
}

/// Samples, and the time before which every request that was due is among them.
type Done = Mutex<(Vec<Sample>, Instant)>;

/// A flow that is being sent. Dropping it ends the flow.
pub(crate) struct Running {
    over: Arc<AtomicBool>,
    done: Arc<Done>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

/// Sends a flow in a thread. Fails if no thread can be started.
pub(crate) fn start(flow: Flow) -> anyhow::Result<Running> {
    let over = Arc::new(AtomicBool::new(false));
    let done = Arc::new(Mutex::new((Vec::new(), Instant::now())));
    let (told, adds) = (Arc::clone(&over), Arc::clone(&done));
    let clients = Clients::new(flow)?;
    let hand_over = move |samples: &mut Vec<Sample>, settled| {
        let mut done = adds.lock().unwrap_or_else(PoisonError::into_inner);
        done.0.append(samples);
        done.1 = settled;
    };
    let run = move || clients.run(|| told.load(Ordering::Relaxed), hand_over);
    let thread = std::thread::Builder::new().name("clients".to_owned());
    Ok(Running { over, done, thread: Some(thread.spawn(run).context("the clients' thread")?) })
}

impl Running {
    /// Waits for the flow's last answer. Returns the requests that were not taken yet, in the order in which they
    /// ended. Fails if the clients could not run.
    pub(crate) fn finish(mut self) -> anyhow::Result<Vec<Sample>> {
        let thread = self.thread.take().context("the clients have ended")?;
        thread.join().map_err(|_| anyhow!("the clients panicked"))??;
        Ok(self.take())
    }

    /// Takes the requests that have ended.
    pub(crate) fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Waits until every request that was due before `end` has ended, and takes those. Fails if the clients have ended
    /// before.
    pub(crate) fn take_until(&self, end: Instant) -> anyhow::Result<Vec<Sample>> {
        loop {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            if done.1 >= end {
                return Ok(done.0.extract_if(.., |sample| sample.due < end).collect());
            }
            drop(done);
            ensure!(!self.is_over(), "the clients have ended");
            // This ends, because the clients give up on every answer after a while.
            std::thread::sleep(TICK);
        }
    }

    fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sums over the requests of a flow.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// Requests answered.
    pub requests: usize,
    /// Median latency in seconds, 99th and 99.9th percentile, from the time a request was due.
    pub percentiles: [f64; 3],
    /// Answers other than 200 and requests without an answer, by their status or reason.
    pub errors: BTreeMap<String, u64>,
    /// Answers by their `X-Served-By`; those without one are not in it.
    pub served_by: BTreeMap<String, u64>,
}

/// Sends a flow to its end and sums up the outcome. Fails if the clients could not run.
pub fn measure(flow: Flow) -> anyhow::Result<Load> {
    /// Time between two sums: often enough to bound memory, too seldom to disturb a short measurement.
    const PERIOD: Duration = Duration::from_secs(30);
    let lasts = flow.lasts;
    let running = start(flow)?;
    let (mut load, mut times, mut summed) = (Load::default(), Vec::new(), Instant::now());
    while !running.is_over() {
        std::thread::sleep(TICK);
        if summed.elapsed() > PERIOD {
            summed = Instant::now();
            load.add(running.take(), &mut times);
        }
    }
    load.add(running.finish()?, &mut times);
    times.sort_unstable();
    load.requests = times.len();
    load.requests_per_second = times.len() as f64 / lasts.as_secs_f64();
    load.percentiles = [0.5, 0.99, 0.999].map(|part| of_sorted(&times, part).as_secs_f64());
    Ok(load)
}

impl Load {
    fn add(&mut self, samples: Vec<Sample>, times: &mut Vec<Duration>) {
        for sample in samples {
            match sample.status {
                200 => times.push(sample.took),
                0 => *self.errors.entry(sample.error).or_default() += 1,
                status => *self.errors.entry(status.to_string()).or_default() += 1,
            }
            if !sample.served_by.is_empty() {
                *self.served_by.entry(sample.served_by).or_default() += 1;
            }
        }
    }
}

/// The latency that this part of the samples (0.5: half of them) does not exceed.
pub(crate) fn quantile<'a>(samples: impl IntoIterator<Item = &'a Sample>, part: f64) -> Duration {
    let mut times: Vec<Duration> = samples.into_iter().map(|sample| sample.took).collect();
    times.sort_unstable();
    of_sorted(&times, part)
}

fn of_sorted(times: &[Duration], part: f64) -> Duration {
    let index = (times.len() as f64 * part).ceil() as usize;
    times.get(index.saturating_sub(1)).copied().unwrap_or_default()
}
