//! The clients: requests at a fixed rate, however long answers take.
//!
//! One thread waits for all connections by epoll, so the clients need little of one processor. Latency counts from the
//! time a request was due, so a stall shows in every request that it delays (coordinated omission). A request
//! whose kept connection ends before the first byte of an answer is sent once more on a new one, as clients do (RFC
//! 9112, section 9.3.1); nginx before 1.27.4 closes such connections at every reload.

mod connection;
mod response;
mod tally;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

use connection::{Connection, Event, Request};
pub use response::Response;
pub use tally::{Load, Recording, Sample, measure, quantile, record};

/// A fixed rate of requests to one server.
pub struct Flow {
    /// Where they go.
    pub server: SocketAddr,
    /// Requests per second.
    pub rate: f64,
    /// After so long no request is sent any more.
    pub lasts: Duration,
    /// On which connections.
    pub connections: Connections,
    /// When a client gives up, from the time at which its request was sent.
    pub patience: Duration,
    /// The path and query of the request with this number.
    pub target: Box<dyn Fn(u64) -> String + Send>,
}

/// The connections of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// So many at most, kept open. A request that finds none free waits, and its latency counts.
    Kept(usize),
    /// One for each request, so that one that hangs delays no other.
    OneEach,
}

/// A request that is over.
pub struct Answer<'a> {
    /// Its number in its flow.
    pub number: u64,
    /// When it was due.
    pub due: Instant,
    /// From then to the last byte.
    pub took: Duration,
    /// Whether it was sent again, because its kept connection had been closed.
    pub asked_again: bool,
    /// The answer, or why there is none.
    pub got: Result<Response<'a>, String>,
}

/// A flow that is being sent. It ends with this value.
pub struct Running {
    over: Arc<AtomicBool>,
    settled: Arc<Mutex<Instant>>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Running {
    /// Waits for the flow's last answer.
    ///
    /// # Errors
    /// If the clients could not run.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let thread = self.thread.take().context("the clients have ended")?;
        thread.join().map_err(|_| anyhow!("the clients panicked"))?
    }

    /// Waits until every request that was due before `end` is over.
    ///
    /// # Errors
    /// If the clients have ended before.
    pub fn wait_until_settled(&self, end: Instant) -> anyhow::Result<()> {
        let settled = || *self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        // Ends, since every request has a bound.
        while settled() < end {
            let is_over = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            ensure!(!is_over, "the clients have ended");
            std::thread::sleep(TICK);
        }
        Ok(())
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

/// Sends a flow beside the caller; `on_answer` gets each request when it is over.
///
/// # Errors
/// If no thread can be started.
pub fn start(
    flow: Flow,
    on_answer: impl FnMut(&Answer<'_>) + Send + 'static,
) -> anyhow::Result<Running> {
    ensure!(flow.connections != Connections::Kept(0), "a flow needs a connection");
    let (over, began) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let settled = Arc::new(Mutex::new(began));
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?;
    let (told, says) = (Arc::clone(&over), Arc::clone(&settled));
    let clients = Clients {
        flow,
        began,
        next: 0,
        epoll,
        connections: Vec::new(),
        free: VecDeque::new(),
        on_answer,
    };
    let thread = std::thread::Builder::new().name("clients".to_owned());
    let thread = thread.spawn(move || clients.run(&told, &says)).context("the clients' thread")?;
    Ok(Running { over, settled, thread: Some(thread) })
}

/// How often the clients look for what takes too long.
const TICK: Duration = Duration::from_millis(20);
/// The kernel may wake a thread so much too late, so it does not sleep for less.
const SLACK: Duration = Duration::from_micros(80);

struct Clients<F> {
    flow: Flow,
    began: Instant,
    /// The number of the next request.
    next: u64,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Connections without a request, the one that has waited longest first.
    free: VecDeque<usize>,
    on_answer: F,
}

impl<F: FnMut(&Answer<'_>)> Clients<F> {
    fn run(mut self, over: &AtomicBool, settled: &Mutex<Instant>) -> anyhow::Result<()> {
        let mut events = Vec::with_capacity(256);
        let mut ticked = self.began;
        loop {
            let now = Instant::now();
            let ends = over.load(Ordering::Relaxed) || now >= self.began + self.flow.lasts;
            let waits = if ends { false } else { self.send_due(now)? };
            if now >= ticked + TICK {
                ticked = now;
                self.give_up(now)?;
                *settled.lock().unwrap_or_else(PoisonError::into_inner) = self.settled(now);
            }
            if ends && self.connections.iter().all(|connection| connection.request.is_none()) {
                return Ok(());
            }
            // With no connection free, only an answer allows the next request.
            let next = if waits && !ends { self.due(self.next) } else { now + TICK };
            self.wait(next.min(now + TICK), &mut events)?;
            for event in events.drain(..) {
                self.on_event(event)?;
            }
        }
    }

    fn due(&self, number: u64) -> Instant {
        self.began + Duration::from_secs_f64(number as f64 / self.flow.rate)
    }

    /// Sends what is due; whether there is a connection for the next request.
    fn send_due(&mut self, now: Instant) -> anyhow::Result<bool> {
        loop {
            let is_due = self.due(self.next) <= now;
            let may_open = match self.flow.connections {
                Connections::Kept(most) => self.connections.len() < most,
                Connections::OneEach => true,
            };
            if !is_due || (self.free.is_empty() && !may_open) {
                return Ok(!is_due);
            }
            let at = self.free.pop_front().unwrap_or_else(|| {
                self.connections.push(Connection::default());
                self.connections.len() - 1
            });
            let target = (self.flow.target)(self.next);
            let due = self.due(self.next);
            let closes = self.flow.connections == Connections::OneEach;
            let request = Request::new(self.next, due, &target, self.flow.server, closes);
            self.next += 1;
            self.send(at, request)?;
        }
    }

    /// Sends a request on a connection, which is opened if it is not open.
    fn send(&mut self, at: usize, request: Request) -> anyhow::Result<()> {
        match self.connections[at].send(request, self.flow.server, &self.epoll, at) {
            Ok(()) => Ok(()),
            Err(error) => self.end(at, Err(error.to_string())),
        }
    }

    /// Sleeps until `until` or an event.
    fn wait(&self, until: Instant, events: &mut Vec<epoll::Event>) -> anyhow::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left > SLACK {
            // Unlike epoll's, the bound of poll is not rounded to milliseconds.
            let bound = Timespec::try_from(left - SLACK).context("the time to wait")?;
            let polled = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&bound));
            if !matches!(polled, Ok(_) | Err(rustix::io::Errno::INTR)) {
                polled.context("poll")?;
            }
        }
        let at_once = Timespec::default();
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&at_once))
            .context("epoll")?;
        Ok(())
    }

    fn on_event(&mut self, event: epoll::Event) -> anyhow::Result<()> {
        let at = usize::try_from(event.data.u64())?;
        match self.connections[at].on_event(&self.epoll, at) {
            Event::Nothing => Ok(()),
            Event::Answered => self.end(at, Ok(())),
            Event::Failed(why) => self.end(at, Err(why)),
            Event::Closed if self.connections[at].request.is_none() => {
                self.connections[at].close();
                Ok(())
            }
            Event::Closed if self.connections[at].may_ask_again() => {
                self.connections[at].close();
                let request = self.connections[at].request.take().context("no request")?;
                self.send(at, Request { asked_again: true, ..request })
            }
            Event::Closed => self.end(at, Err("the connection was closed".to_owned())),
        }
    }

    /// Reports a request, and frees its connection.
    fn end(&mut self, at: usize, ended: Result<(), String>) -> anyhow::Result<()> {
        let connection = &mut self.connections[at];
        let request = connection.request.take().context("an answer without a request")?;
        let got = ended.and_then(|()| connection.response());
        let keeps = got.as_ref().is_ok_and(|response| response.keeps_alive);
        let (number, due, asked_again) = (request.number, request.due, request.asked_again);
        (self.on_answer)(&Answer { number, due, took: due.elapsed(), asked_again, got });
        connection.received.clear();
        if !keeps || self.flow.connections == Connections::OneEach {
            connection.close();
        }
        self.free.push_back(at);
        Ok(())
    }

    /// Ends the requests that have waited for too long.
    fn give_up(&mut self, now: Instant) -> anyhow::Result<()> {
        for at in 0..self.connections.len() {
            let request = self.connections[at].request.as_ref();
            if request.is_some_and(|request| now > request.sent + self.flow.patience) {
                self.end(at, Err(format!("no answer within {:?}", self.flow.patience)))?;
            }
        }
        Ok(())
    }

    /// Every request that was due before this time is over.
    fn settled(&self, now: Instant) -> Instant {
        let requests = self.connections.iter().filter_map(|it| it.request.as_ref());
        requests.map(|request| request.due).fold(self.due(self.next).min(now), Instant::min)
    }
}
