//! Clients that send requests at a fixed rate and check every answer.
//!
//! Load generators neither decode answers nor send a request again when its kept connection was closed
//! while idle, as clients do (RFC 9112, section 9.3.1); nginx before 1.27.4 closes such connections at
//! every reload. Here both matter, and the amount of load does not.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use stack::http;
use ureq::Agent;

use crate::check::is_picture_of;

/// Number of clients: more than the requests that hang while a part is stopped.
const CLIENTS: usize = 64;
/// Timeout of each attempt.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The outcome of a request.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The right picture, from this program.
    Served(String),
    /// A status other than 200.
    Status(u16),
    /// No picture, or one of another text.
    WrongPicture(String),
    /// No answer, and the reason.
    Failed(String),
}

/// A request that is over.
#[derive(Clone, Debug)]
pub struct Request {
    /// When it was due.
    pub due: Instant,
    /// From then to the last byte.
    pub took: Duration,
    /// Whether it was sent again because its connection had been closed.
    pub asked_again: bool,
    /// Its outcome.
    pub outcome: Outcome,
}

/// Requests pictures from `url`, `rate` times per second, while `meanwhile` runs.
///
/// # Errors
/// Those of `meanwhile`.
pub fn with_load<T>(
    url: &str,
    rate: f64,
    meanwhile: impl FnOnce(&Requests) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let requests = Requests { start: Instant::now(), rate, state: Mutex::default() };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Ends the load also if `meanwhile` panics.
        let _ends = EndsLoad(&over);
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = http::client(TIMEOUT);
                while !over.load(Ordering::Relaxed) {
                    let number = requests.begin();
                    let due = requests.due(number);
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    requests.end(number, ask(&mut client, url, number, due));
                }
            });
        }
        meanwhile(&requests)
    })
}

struct EndsLoad<'a>(&'a AtomicBool);

impl Drop for EndsLoad<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The requests of [`with_load`].
#[derive(Debug)]
pub struct Requests {
    start: Instant,
    rate: f64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    pending: BTreeSet<u64>,
    over: Vec<Request>,
}

impl Requests {
    fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_secs_f64(number as f64 / self.rate)
    }

    fn begin(&self) -> u64 {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.pending.insert(number);
        number
    }

    fn end(&self, number: u64, request: Request) {
        let mut state = self.state();
        state.pending.remove(&number);
        state.over.push(request);
    }

    /// Waits until the requests that were due before `end` are over, and takes them.
    pub fn take_until(&self, end: Instant) -> Vec<Request> {
        let all = |state: &State| {
            self.due(state.next) >= end
                && state.pending.first().is_none_or(|&number| self.due(number) >= end)
        };
        loop {
            let mut state = self.state();
            if all(&state) {
                return state.over.extract_if(.., |request| request.due < end).collect();
            }
            drop(state);
            // Ends, since every request has a timeout.
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ask(client: &mut Agent, url: &str, number: u64, due: Instant) -> Request {
    let text = format!("https://example.com/chaos/{number}");
    let url = format!("{url}/qrcode?text={text}");
    let mut asked_again = false;
    let mut answer = http::get(client, &url, &[]);
    // Once is enough, since the second attempt has a new connection.
    if answer.as_ref().is_err_and(http::is_closed) {
        *client = http::client(TIMEOUT);
        asked_again = true;
        answer = http::get(client, &url, &[]);
    }
    let took = due.elapsed();
    let outcome = answer
        .map_or_else(|error| Outcome::Failed(error.to_string()), |answer| judge(&answer, &text));
    Request { due, took, asked_again, outcome }
}

fn judge(answer: &http::Answer, text: &str) -> Outcome {
    if answer.status != 200 {
        return Outcome::Status(answer.status);
    }
    match is_picture_of(&answer.body, text) {
        Ok(()) => Outcome::Served(answer.served_by().to_owned()),
        Err(error) => Outcome::WrongPicture(error.to_string()),
    }
}
