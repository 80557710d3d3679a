//! What the clients saw: each request, or sums.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Answer, Flow, Running, start};

/// The clients' figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Load {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// Requests answered.
    pub requests: f64,
    /// Median latency in seconds; at a fixed rate from the time a request was due.
    pub p50_seconds: f64,
    /// 99th percentile.
    pub p99_seconds: f64,
    /// 99.9th percentile.
    pub p999_seconds: f64,
    /// Answers other than 200, and requests without an answer.
    pub errors: u64,
    /// The same by their status or reason.
    pub by_reason: BTreeMap<String, u64>,
    /// Answers by their `X-Served-By`; those without one are not in it.
    pub served_by: BTreeMap<String, u64>,
}

/// Sends a flow to its end and sums up what came of it.
///
/// # Errors
/// If the clients could not run.
pub fn measure(flow: Flow) -> anyhow::Result<Load> {
    let lasts = flow.lasts;
    let sums = Arc::new(Mutex::new((Vec::new(), Load::default())));
    let adds = Arc::clone(&sums);
    start(flow, move |answer| {
        let mut sums = adds.lock().unwrap_or_else(PoisonError::into_inner);
        let (times, load) = &mut *sums;
        load.add(answer);
        if answer.got.is_ok() {
            times.push(answer.took);
        }
    })?
    .finish()?;
    let (mut times, mut load) =
        std::mem::take(&mut *sums.lock().unwrap_or_else(PoisonError::into_inner));
    times.sort_unstable();
    load.requests = times.len() as f64;
    load.requests_per_second = load.requests / lasts.as_secs_f64();
    let at = |part| of_sorted(&times, part).as_secs_f64();
    (load.p50_seconds, load.p99_seconds, load.p999_seconds) = (at(0.5), at(0.99), at(0.999));
    Ok(load)
}

impl Load {
    fn add(&mut self, answer: &Answer<'_>) {
        let reason = match &answer.got {
            Ok(response) => {
                count(&mut self.served_by, response.header("x-served-by"));
                if response.status == 200 { String::new() } else { response.status.to_string() }
            }
            Err(why) => why.clone(),
        };
        self.errors += u64::from(!reason.is_empty());
        count(&mut self.by_reason, &reason);
    }
}

/// Counts a name; the empty one is none.
fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
    } else if !name.is_empty() {
        counts.insert(name.to_owned(), 1);
    }
}

/// A request that is over, kept.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its number in its flow.
    pub number: u64,
    /// When it was due.
    pub due: Instant,
    /// From then to the last byte.
    pub took: Duration,
    /// Whether it was sent again, because its kept connection had been closed.
    pub asked_again: bool,
    /// The status; 0 if there was no answer.
    pub status: u16,
    /// `X-Served-By`.
    pub served_by: String,
    /// `Retry-After`.
    pub retry_after: String,
    /// The body, or why there is no answer.
    pub body: Vec<u8>,
}

impl Sample {
    fn new(answer: &Answer<'_>) -> Self {
        let header = |name| match &answer.got {
            Ok(response) => response.header(name).to_owned(),
            Err(_) => String::new(),
        };
        let got = answer.got.as_ref();
        Sample {
            number: answer.number,
            due: answer.due,
            took: answer.took,
            asked_again: answer.asked_again,
            status: got.map_or(0, |response| response.status),
            served_by: header("x-served-by"),
            retry_after: header("retry-after"),
            body: got.map_or_else(|why| why.clone().into_bytes(), |it| it.body.to_vec()),
        }
    }
}

/// A flow whose requests are all kept.
pub struct Recording {
    running: Running,
    samples: Arc<Mutex<Vec<Sample>>>,
}

/// Sends a flow beside the caller and keeps its requests.
///
/// # Errors
/// If no thread can be started.
pub fn record(flow: Flow) -> anyhow::Result<Recording> {
    let samples = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&samples);
    let keep = move |answer: &Answer<'_>| {
        keeps.lock().unwrap_or_else(PoisonError::into_inner).push(Sample::new(answer));
    };
    Ok(Recording { running: start(flow, keep)?, samples })
}

impl Recording {
    /// Waits for the last answer; the requests in the order in which they ended.
    ///
    /// # Errors
    /// If the clients could not run.
    pub fn finish(self) -> anyhow::Result<Vec<Sample>> {
        self.running.finish()?;
        Ok(std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Waits until the requests that were due before `end` are over, and takes them.
    ///
    /// # Errors
    /// If the clients have ended before.
    pub fn take_until(&self, end: Instant) -> anyhow::Result<Vec<Sample>> {
        self.running.wait_until_settled(end)?;
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(samples.extract_if(.., |sample| sample.due < end).collect())
    }
}

/// The latency that this part of the samples (0.5: half of them) does not exceed.
pub fn quantile<'a>(samples: impl IntoIterator<Item = &'a Sample>, part: f64) -> Duration {
    let mut times: Vec<Duration> = samples.into_iter().map(|sample| sample.took).collect();
    times.sort_unstable();
    of_sorted(&times, part)
}

fn of_sorted(times: &[Duration], part: f64) -> Duration {
    let index = (times.len() as f64 * part).ceil() as usize;
    times.get(index.saturating_sub(1)).copied().unwrap_or_default()
}
