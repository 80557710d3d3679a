//! Clients at a fixed rate that look at every answer.
//!
//! Load generators of others count, but they neither decode what they get nor ask again as clients do
//! whose kept connection was closed while it was idle (RFC 9112, section 9.3.1): nginx before 1.27.4
//! closes these at every reload. Both matter here, and how much load there is does not.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use contract::decode;
use ureq::Agent;

/// Clients; enough for as many requests as hang while a part is stopped.
const CLIENTS: usize = 64;
/// Of a request, asking again included.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How a request went.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The picture of what was asked for, by this part.
    Served(String),
    /// Another status than 200.
    Status(u16),
    /// No picture, or one of another text.
    WrongPicture(String),
    /// No answer, and why.
    Failed(String),
}

/// A request that is over.
#[derive(Clone, Debug)]
pub struct Request {
    /// When it was meant to be sent.
    pub meant: Instant,
    /// From then to the last byte.
    pub took: Duration,
    /// Whether it was asked a second time, its connection having been closed.
    pub asked_again: bool,
    /// How it went.
    pub outcome: Outcome,
}

/// Asks `url` for pictures, `rate` times a second, while `meanwhile` runs.
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
        // The load has to end even where the rest panics.
        let _ends = EndsLoad(&over);
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = new_client();
                while !over.load(Ordering::Relaxed) {
                    let number = requests.begin();
                    let meant = requests.meant(number);
                    thread::sleep(meant.saturating_duration_since(Instant::now()));
                    requests.end(number, ask(&mut client, url, number, meant));
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
    fn meant(&self, number: u64) -> Instant {
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

    /// Takes those that were meant for before `end`; waits until they are over.
    pub fn take_until(&self, end: Instant) -> Vec<Request> {
        let all = |state: &State| {
            self.meant(state.next) >= end
                && state.pending.first().is_none_or(|&number| self.meant(number) >= end)
        };
        loop {
            let mut state = self.state();
            if all(&state) {
                return state.over.extract_if(.., |request| request.meant < end).collect();
            }
            drop(state);
            // Each ends within its time limit.
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn new_client() -> Agent {
    Agent::config_builder().http_status_as_error(false).timeout_global(Some(TIMEOUT)).build().into()
}

fn ask(client: &mut Agent, url: &str, number: u64, meant: Instant) -> Request {
    let text = format!("https://example.com/chaos/{number}");
    let url = format!("{url}/qrcode?text={text}");
    let mut asked_again = false;
    let mut answer = fetch(client, &url);
    // On a connection of its own, so once is enough.
    if answer.as_ref().is_err_and(is_closed) {
        *client = new_client();
        asked_again = true;
        answer = fetch(client, &url);
    }
    let took = meant.elapsed();
    let outcome = answer.map_or_else(
        |error| Outcome::Failed(error.to_string()),
        |(status, by, body)| judge(status, by, &body, &text),
    );
    Request { meant, took, asked_again, outcome }
}

fn fetch(client: &Agent, url: &str) -> Result<(u16, String, Vec<u8>), ureq::Error> {
    let mut response = client.get(url).call()?;
    let by = response.headers().get("x-served-by").and_then(|by| by.to_str().ok());
    let by = by.unwrap_or("nobody").to_owned();
    let body = response.body_mut().read_to_vec()?;
    Ok((response.status().as_u16(), by, body))
}

fn judge(status: u16, by: String, body: &[u8], text: &str) -> Outcome {
    if status != 200 {
        return Outcome::Status(status);
    }
    match decode::decode_png(body) {
        Ok(decoded) if decoded.bytes == text.as_bytes() => Outcome::Served(by),
        Ok(_) => Outcome::WrongPicture("a picture of another text".to_owned()),
        Err(error) => Outcome::WrongPicture(error.to_string()),
    }
}

/// Whether a kept connection ended before the first byte of an answer.
fn is_closed(error: &ureq::Error) -> bool {
    let ureq::Error::Io(error) = error else { return false };
    let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof];
    kinds.contains(&error.kind())
}
